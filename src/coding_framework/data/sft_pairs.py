"""Pairs for supervised fine-tuning: a prompt and an answer whose kernel passed the judge.

Guarantees: drafts follow from their seed alone; the prompt is built by the same function that
inference uses (it is passed in, as this package lies below the agents); a formula of a held-out task
is never drafted, whatever its constants, names or layout. `judge_pairs` then keeps what passed. It
does not decide which tasks are held out. These are the short pairs, for small models: the templates'
element-wise and row operations with the shortest kernels of the catalogue. Pairs over all tiers, by
family, are made in `data/pairs/`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

from coding_framework.data.optimizer_pairs import MAX_OPTIMIZER_ANSWER_CHARS, generate_optimizer_pairs
from coding_framework.data.pair_files import read_pairs, write_pairs
from coding_framework.data.pair_judging import PairReport, RejectedDraft, judge_pairs
from coding_framework.data.pair_records import (
    BuildOptimizerPrompt,
    BuildPrompt,
    DraftPair,
    JudgeFunction,
    SFTPair,
)
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.known import KnownFamily
from coding_framework.data.pairs.making import MadePairs, OnSettled, Settle, make_pairs
from coding_framework.data.tasks import variants
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.data.templates.drawing import draw_style
from coding_framework.data.templates.synthetic import draw_synthetic_task
from coding_framework.errors import UserError
from coding_framework.records import Candidate, Task

__all__ = [
    "MAX_ANSWER_CHARS",
    "MAX_OPTIMIZER_ANSWER_CHARS",
    "BuildOptimizerPrompt",
    "BuildPrompt",
    "DraftPair",
    "JudgeFunction",
    "PairReport",
    "RejectedDraft",
    "SFTPair",
    "generate_optimizer_pairs",
    "generate_pairs",
    "judge_pairs",
    "known_pairs",
    "read_pairs",
    "write_pairs",
]

MAX_ANSWER_CHARS = 800
"""About 270 tokens of CUDA: longer answers cost a small model more than they teach it."""
_MAX_REPEATS = 200


def generate_pairs(
    tasks: Sequence[Task],
    count: int,
    seed: int,
    exclude: Collection[str] | HeldOut,
    build_prompt: BuildPrompt,
) -> Iterator[DraftPair]:
    """`count` drafts for the generator: each short kernel of `tasks` once, the rest synthetic.

    `exclude` names the held-out tasks of the catalogue. Raises `UserError` where the templates
    cannot give as many different kernels.
    """
    rng = random.Random(seed)
    held_out = HeldOut.of(exclude)
    allowed = [task for task in tasks if held_out.allows(task, formula_key(task.name))]
    known = [_draft(task, source, build_prompt) for task in allowed for source in _short_sources(task)]
    known = [draft for draft in known if held_out.why_not_code(draft.source) is None]
    rng.shuffle(known)
    places = set(rng.sample(range(count), min(len(known), count)))
    seen = {Candidate(source=draft.source).digest for draft in known}
    for place in range(count):
        yield known.pop() if place in places else _new_synthetic(rng, held_out, seen, build_prompt)


def known_pairs(
    families: Sequence[KnownFamily],
    count: int,
    seed: int,
    settle: Settle,
    workers: int,
    on_settled: OnSettled | None = None,
) -> MadePairs:
    """At most `count` judged pairs from kernels that sources bring, of each family as many as of others."""
    each = -(-count // max(1, len(families)))
    made = make_pairs(families, each, seed, settle, workers=workers, on_settled=on_settled)
    return made.model_copy(update={"pairs": made.pairs[:count]})


def _short_sources(task: Task) -> list[str]:
    sources = [task.baseline, *(variant.source for variant in variants(task.name))]
    return [source for source in sources if len(source) <= MAX_ANSWER_CHARS]


def _draft(task: Task, source: str, build_prompt: BuildPrompt) -> DraftPair:
    key = formula_key(task.name)
    return DraftPair(task=task, agent="generator", messages=build_prompt(task), source=source, formula=key)


def _new_synthetic(
    rng: random.Random, held_out: HeldOut, seen: set[str], build_prompt: BuildPrompt
) -> DraftPair:
    """A synthetic draft whose kernel was not drafted before."""
    for _ in range(_MAX_REPEATS):
        drawn = draw_synthetic_task(rng, held_out.keys)
        source = drawn.kernel(draw_style(rng))
        digest = Candidate(source=source).digest
        if digest not in seen and held_out.allows_kernel(drawn.task, drawn.formula_key, source):
            seen.add(digest)
            messages = build_prompt(drawn.task)
            return DraftPair(
                task=drawn.task,
                agent="generator",
                messages=messages,
                source=source,
                formula=drawn.formula_key,
            )
    raise UserError(f"the templates give no more than {len(seen)} different kernels: ask for fewer pairs")
