"""What a cluster of drafts is made of: a task with its kernels, from the catalogue or from a template."""

from __future__ import annotations

import random
from dataclasses import dataclass

from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.restyle import NAIVE
from coding_framework.data.tasks import variants
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.data.templates.drawing import draw_style
from coding_framework.data.templates.operations import (
    BROADCAST_OPERATIONS,
    ROW_OPERATIONS,
    VECTOR_OPERATIONS,
    MapOperation,
    RowOperation,
)
from coding_framework.data.templates.synthetic import make_synthetic_task
from coding_framework.records import Task

Operation = MapOperation | RowOperation
OPERATIONS: tuple[Operation, ...] = (*VECTOR_OPERATIONS, *BROADCAST_OPERATIONS, *ROW_OPERATIONS)
_MAX_DRAWS = 40


@dataclass(frozen=True)
class Material:
    """A task with its kernels, the naive one first."""

    task: Task
    formula: str
    kernels: tuple[tuple[str, str], ...]
    """Name and source."""


def catalogue_material(task: Task) -> Material:
    """A task as the catalogue has it."""
    kernels = ((NAIVE, task.baseline), *((v.name, v.source) for v in variants(task.name)))
    return Material(task, formula_key(task.name), kernels)


def synthetic_material(rng: random.Random, operation: Operation, held_out: HeldOut) -> Material | None:
    """A task of this operation; None where all that can be drawn is held out."""
    for _ in range(_MAX_DRAWS):
        drawn = make_synthetic_task(rng, operation)
        if held_out.allows(drawn.task, drawn.formula_key):
            plain, better = drawn.kernel(draw_style(rng)), drawn.optimised_kernel(draw_style(rng))
            way = "warp_shuffle" if isinstance(operation, RowOperation) else "vectorized"
            kernels = ((NAIVE, plain), *(((way, better),) if better else ()))
            return Material(drawn.task, drawn.formula_key, kernels)
    return None
