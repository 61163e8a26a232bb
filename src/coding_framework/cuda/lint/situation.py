"""What an adversary is given: one check of the plan with its inputs, and other draws of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import array_api_compat.numpy as xp
import numpy as np

from coding_framework.cuda.checking import PlannedCheck
from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.lint.formats import Floats
from coding_framework.records import Task

OTHER_SEEDS = 1_000_000
"""Other draws count from here, so that none of them is the draw that is checked."""


@dataclass(frozen=True)
class Situation:
    """One check, seen from the lint's side: everything is known."""

    task: Task
    check: PlannedCheck
    inputs: Mapping[str, Floats]
    """Decoded, in the task's shapes."""

    @classmethod
    def draw(cls, task: Task, check: PlannedCheck, seed: int) -> Situation:
        drawn = draw_inputs(task, check.dimensions, check.distribution, seed)
        return cls(task, check, {s.name: decode_elements(drawn[s.name], s.dtype) for s in task.inputs})

    def solve(self, inputs: Mapping[str, Floats]) -> dict[str, Floats]:
        """The oracle on inputs of this shape, in the outputs' shapes."""
        outputs = self.task.oracle(xp, inputs, self.check.dimensions)
        return {spec.name: np.asarray(outputs[spec.name]) for spec in self.task.outputs}

    def others(self, count: int) -> Iterator[dict[str, Floats]]:
        """Right answers to other draws of this shape and distribution."""
        for seed in range(OTHER_SEEDS, OTHER_SEEDS + count):
            yield self.solve(Situation.draw(self.task, self.check, seed).inputs)

    def extents(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs."""
        return {spec.name: spec.extents(self.check.dimensions) for spec in self.task.outputs}
