"""Drafts for the optimizer: a kernel with the judge's words on it, and a better kernel.

Guarantees: drafts follow from their seed alone; no formula of a held-out task is drafted; every kernel
shown in a prompt was really judged. Whether the answer is right and faster is for `judge_pairs`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

from coding_framework.data.pair_records import BuildOptimizerPrompt, DraftPair, JudgeFunction
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.tasks import variants
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.data.templates.mistakes import MISTAKES
from coding_framework.data.templates.signature import PLAIN
from coding_framework.data.templates.synthetic import SyntheticTask, draw_synthetic_task
from coding_framework.errors import JudgeFault, UserError
from coding_framework.records import Candidate, Task

MAX_OPTIMIZER_ANSWER_CHARS = 1000
"""Fast kernels are longer than naive ones: room for a tiled transpose and a tiled matrix product."""
_MAX_REPEATS = 200


def generate_optimizer_pairs(
    tasks: Sequence[Task],
    count: int,
    seed: int,
    exclude: Collection[str] | HeldOut,
    judge: JudgeFunction,
    build_prompt: BuildOptimizerPrompt,
) -> Iterator[DraftPair]:
    """`count` drafts for the optimizer: a kernel with the judge's words, and a better kernel.

    First the short variants of `tasks` against their baselines; then synthetic ones, half of them
    making a naive kernel faster and half repairing a usual mistake. The kernels shown in the prompt
    are judged here, because it quotes what the judge said of them.
    """
    rng = random.Random(seed)
    held_out = HeldOut.of(exclude)
    known = [
        (task, variant.source)
        for task in tasks
        for variant in variants(task.name)
        if held_out.allows_kernel(task, formula_key(task.name), variant.source)
        and len(variant.source) <= MAX_OPTIMIZER_ANSWER_CHARS
    ]
    rng.shuffle(known)
    for task, source in known[:count]:
        key = formula_key(task.name)
        yield _improvement(task, task.baseline, source, key, judge, build_prompt)
    for place in range(count - len(known)):
        if place % 2:
            yield _synthetic_repair(rng, held_out, judge, build_prompt)
        else:
            yield _synthetic_speedup(rng, held_out, judge, build_prompt)


def _synthetic_speedup(
    rng: random.Random, held_out: HeldOut, judge: JudgeFunction, build_prompt: BuildOptimizerPrompt
) -> DraftPair:
    """A naive kernel and its vectorised or warp-wide form."""
    for _ in range(_MAX_REPEATS):
        drawn = _allowed_task(rng, held_out)
        better = drawn.optimised_kernel(PLAIN)
        if better is not None and len(better) <= MAX_OPTIMIZER_ANSWER_CHARS:
            return _improvement(
                drawn.task, drawn.task.baseline, better, drawn.formula_key, judge, build_prompt
            )
    raise UserError("the held-out tasks leave no template with an optimised kernel")


def _synthetic_repair(
    rng: random.Random, held_out: HeldOut, judge: JudgeFunction, build_prompt: BuildOptimizerPrompt
) -> DraftPair:
    """A kernel with a usual mistake and the same kernel without it."""
    drawn = _allowed_task(rng, held_out)
    broken = rng.choice(MISTAKES)(drawn.task.baseline)
    evaluation = judge(drawn.task, Candidate(source=broken))
    if evaluation.passed:
        raise JudgeFault(f"a kernel of {drawn.task.name} with a mistake in it passed:\n{broken}")
    return DraftPair(
        task=drawn.task,
        agent="optimizer",
        repairs=True,
        messages=build_prompt(drawn.task, broken, evaluation),
        source=drawn.task.baseline,
        formula=drawn.formula_key,
    )


def _allowed_task(rng: random.Random, held_out: HeldOut) -> SyntheticTask:
    for _ in range(_MAX_REPEATS):
        drawn = draw_synthetic_task(rng, held_out.keys)
        if held_out.allows_kernel(drawn.task, drawn.formula_key, drawn.task.baseline):
            return drawn
    raise UserError("the held-out tasks leave no template to draw from")


def _improvement(
    task: Task,
    shown: str,
    better: str,
    formula: str,
    judge: JudgeFunction,
    build_prompt: BuildOptimizerPrompt,
) -> DraftPair:
    evaluation = judge(task, Candidate(source=shown))
    if not evaluation.passed:
        raise JudgeFault(f"the baseline of {task.name} did not pass: {evaluation.message}")
    messages = build_prompt(task, shown, evaluation)
    return DraftPair(task=task, agent="optimizer", messages=messages, source=better, formula=formula)
