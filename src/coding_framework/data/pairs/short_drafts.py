"""Short drafts for small models: the shortest kernels of the catalogue, then templates in plain dress.

Two sources, one for each agent: first kernels, and improvements (a naive kernel made faster, a broken one
repaired). Guarantees: drafts follow from the seed, the tasks and their order; each short kernel of the tasks
comes once, before the templates; no formula, code or family of a held-out task is drafted. Texts are as
the catalogue and the templates have them: tasks keep their names.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from coding_framework.data.pair_records import PairKind
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.making import Wanted
from coding_framework.data.pairs.mistakes import draw_mistake
from coding_framework.data.pairs.restyle import NAIVE, DressedKernel
from coding_framework.data.tasks import kernels
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.data.templates.drawing import draw_style
from coding_framework.data.templates.signature import PLAIN
from coding_framework.data.templates.synthetic import SyntheticTask, draw_synthetic_task
from coding_framework.errors import UserError
from coding_framework.records import AgentRole, Task

MAX_ANSWER_CHARS = 800
"""About 270 tokens of CUDA: longer answers cost a small model more than they teach it."""
MAX_OPTIMIZER_ANSWER_CHARS = 1000
"""Fast kernels are longer than naive ones: room for a tiled transpose and a tiled matrix product."""
OPTIMIZER_SHARE = 0.25
"""Share of the pairs that repair or speed up a kernel instead of writing the first one."""
_TEMPLATE = "template"
_MAX_DRAWS = 200


def short_sources(
    tasks: Sequence[Task], held_out: HeldOut, total: int, agents: Collection[AgentRole]
) -> list[Wanted]:
    """What makes `total` pairs for these agents."""
    optimizer = int(total * OPTIMIZER_SHARE) if "optimizer" in agents else 0
    generator = total - optimizer if "generator" in agents else 0
    wanted: list[Wanted] = [
        (FirstKernels(tasks, held_out), generator),
        (Improvements(tasks, held_out), optimizer),
    ]
    return [(source, count) for source, count in wanted if count]


@dataclass(frozen=True)
class FirstKernels:
    """A kernel from a request."""

    tasks: Sequence[Task]
    held_out: HeldOut
    name: str = "first kernels"

    def cluster(self, seed: int, number: int) -> Iterator[CatalogueDraft]:
        """Those of one task; after the tasks one of a template."""
        if number < len(self.tasks):
            task = self.tasks[number]
            key = formula_key(task.name)
            for kernel in kernels(task.name):
                if self._fits(kernel.source) and self.held_out.allows_kernel(task, key, kernel.source):
                    yield _draft("write", task, key, kernel.name, kernel.source)
            return
        rng = random.Random(f"{seed}/{self.name}/{number}")
        for _ in range(_MAX_DRAWS):
            drawn = _allowed_task(rng, self.held_out)
            source = drawn.kernel(draw_style(rng))
            if self._fits(source) and self.held_out.why_not_code(source) is None:
                yield _draft("write", drawn.task, drawn.formula_key, _TEMPLATE, source)
                return
        raise UserError("the held-out tasks leave no template to draw from")

    def is_exhausted(self, number: int) -> bool:
        """Never: after the tasks come the templates."""
        return False

    @staticmethod
    def _fits(source: str) -> bool:
        return len(source) <= MAX_ANSWER_CHARS


@dataclass(frozen=True)
class Improvements:
    """A faster kernel from a naive one, a right one from a broken one."""

    tasks: Sequence[Task]
    held_out: HeldOut
    name: str = "improvements"

    def cluster(self, seed: int, number: int) -> Iterator[CatalogueDraft]:
        """Those of one task; after the tasks a template made faster and repaired in turn."""
        if number < len(self.tasks):
            task = self.tasks[number]
            key = formula_key(task.name)
            for kernel in kernels(task.name):
                fits = kernel.name != NAIVE and len(kernel.source) <= MAX_OPTIMIZER_ANSWER_CHARS
                if fits and self.held_out.allows_kernel(task, key, kernel.source):
                    yield _draft("optimise", task, key, kernel.name, kernel.source, task.baseline)
            return
        rng = random.Random(f"{seed}/{self.name}/{number}")
        yield (self._repair if (number - len(self.tasks)) % 2 else self._speedup)(rng)

    def is_exhausted(self, number: int) -> bool:
        """Never: after the tasks come the templates."""
        return False

    def _speedup(self, rng: random.Random) -> CatalogueDraft:
        """The vectorised or warp-wide form of a naive kernel."""
        for _ in range(_MAX_DRAWS):
            drawn = _allowed_task(rng, self.held_out)
            better = drawn.optimised_kernel(PLAIN)
            if better is not None and len(better) <= MAX_OPTIMIZER_ANSWER_CHARS:
                return _draft(
                    "optimise", drawn.task, drawn.formula_key, _TEMPLATE, better, drawn.task.baseline
                )
        raise UserError("the held-out tasks leave no template with an optimised kernel")

    def _repair(self, rng: random.Random) -> CatalogueDraft:
        """A naive kernel without the mistake that the prompt shows."""
        drawn = _allowed_task(rng, self.held_out)
        task = drawn.task
        mistake, broken = draw_mistake(rng, task.baseline)
        return _draft("repair", task, drawn.formula_key, NAIVE, task.baseline, broken, mistake)


def _allowed_task(rng: random.Random, held_out: HeldOut) -> SyntheticTask:
    for _ in range(_MAX_DRAWS):
        drawn = draw_synthetic_task(rng, held_out.keys)
        if held_out.allows_kernel(drawn.task, drawn.formula_key, drawn.task.baseline):
            return drawn
    raise UserError("the held-out tasks leave no template to draw from")


def _draft(
    kind: PairKind, task: Task, formula: str, variant: str, answer: str, shown: str = "", mistake: str = ""
) -> CatalogueDraft:
    words = "\0".join((task.name, kind, answer, shown))
    return CatalogueDraft(
        kind=kind,
        task=task,
        original=task,
        answer=_as_it_is(answer),
        shown=_as_it_is(shown) if shown else None,
        structure=hashlib.sha256(words.encode()).hexdigest(),
        variant=variant,
        formula=formula,
        mistake=mistake,
    )


def _as_it_is(source: str) -> DressedKernel:
    return DressedKernel(kept=source, judged=source, kernels={})
