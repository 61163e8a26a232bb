"""Is it right? Outputs against a float64 oracle, inputs unchanged, the same answer twice.

Guarantees: an output element that was never written is NaN and fails; a non-finite value passes
only where the oracle has the same one; every element of every output is compared. Bytes outside the
buffers need no check here: the emulator faults on any access to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import array_api_compat.numpy as xp
import numpy as np
import numpy.typing as npt

from coding_framework.cuda.contract import numpy_dtype, resolve_scratch
from coding_framework.cuda.executors.base import Buffer
from coding_framework.records import (
    Dimensions,
    Distribution,
    LaunchPlan,
    ShapeCheck,
    Task,
    WrongElement,
)

MAX_WRONG_SHOWN = 3
_POISONS = (0x7FC0DEAD, 0x7FE5A552)
"""Two quiet-NaN bit patterns: buffers are filled with the first, and with the second in the repeat."""


@dataclass(frozen=True)
class PlannedCheck:
    """One run of the check plan."""

    dimensions: dict[str, int]
    distribution: Distribution
    hidden: bool


def plan_checks(task: Task) -> tuple[PlannedCheck, ...]:
    """Every shape once, distributions in turn; then the largest hidden shape on the others too."""
    kinds = task.distributions
    shapes = [(s, False) for s in task.visible_shapes] + [(s, True) for s in task.hidden_shapes]
    plan = [PlannedCheck(shape, kinds[i % len(kinds)], hidden) for i, (shape, hidden) in enumerate(shapes)]
    largest = max(task.hidden_shapes, key=lambda shape: task.outputs[0].num_elements(shape))
    used = {check.distribution for check in plan if check.dimensions == largest}
    plan += [PlannedCheck(largest, kind, True) for kind in kinds if kind not in used]
    return tuple(plan)


def poisoned_buffers(
    task: Task, plan: LaunchPlan, dimensions: Dimensions, inputs: Mapping[str, Buffer], repeat: int
) -> dict[str, Buffer]:
    """Inputs as drawn, outputs and scratch full of a NaN pattern that differs between repeats."""
    buffers = {name: array.reshape(-1) for name, array in inputs.items()}
    for spec in task.outputs:
        buffers[spec.name] = _poison(spec.dtype, spec.num_elements(dimensions), repeat)
    for name, (dtype, count) in resolve_scratch(plan, dimensions).items():
        buffers[name] = _poison(dtype, count, repeat)
    return buffers


def expected_outputs(
    task: Task, inputs: Mapping[str, Buffer], dimensions: Dimensions
) -> dict[str, npt.NDArray[np.float64]]:
    """The float64 truth, flattened."""
    wide = {name: xp.asarray(array, dtype=xp.float64) for name, array in inputs.items()}
    outputs = task.oracle(xp, wide, dimensions)
    return {spec.name: np.asarray(outputs[spec.name], dtype=np.float64).reshape(-1) for spec in task.outputs}


def compare_outputs(
    task: Task,
    check: PlannedCheck,
    actual: Mapping[str, Buffer],
    expected: Mapping[str, npt.NDArray[np.float64]],
) -> ShapeCheck:
    """Every element against its budget."""
    wrong: list[WrongElement] = []
    num_wrong, worst = 0, 0.0
    for spec in task.outputs:
        ratio = _error_ratio(task, actual[spec.name], expected[spec.name])
        bad = np.flatnonzero(~(ratio <= 1.0))
        worst = max(worst, float(ratio.max(initial=0.0)))
        num_wrong += bad.size
        extents = spec.extents(check.dimensions)
        wrong += [
            WrongElement(
                output=spec.name,
                index=tuple(int(i) for i in np.unravel_index(at, extents)),
                expected=float(expected[spec.name][at]),
                actual=float(actual[spec.name][at]),
            )
            for at in bad[:MAX_WRONG_SHOWN]
        ]
    return ShapeCheck(
        dimensions=check.dimensions,
        distribution=check.distribution,
        hidden=check.hidden,
        passed=num_wrong == 0,
        max_error_ratio=worst,
        wrong_elements=tuple(wrong[:MAX_WRONG_SHOWN]),
        num_wrong=num_wrong,
    )


def changed_input(task: Task, before: Mapping[str, Buffer], after: Mapping[str, Buffer]) -> str | None:
    """The first input that the candidate wrote to, bit for bit."""
    for spec in task.inputs:
        if before[spec.name].tobytes() != after[spec.name].tobytes():
            return spec.name
    return None


def differing_output(task: Task, first: Mapping[str, Buffer], second: Mapping[str, Buffer]) -> str | None:
    """The first output that is not the same twice, bit for bit."""
    for spec in task.outputs:
        if first[spec.name].tobytes() != second[spec.name].tobytes():
            return spec.name
    return None


def _poison(dtype: str, count: int, repeat: int) -> Buffer:
    kind = numpy_dtype(dtype)
    pattern = np.uint32(_POISONS[repeat % len(_POISONS)])
    if kind.itemsize == 2:
        return np.full(count, pattern >> np.uint32(16), dtype=np.uint16).view(kind)
    return np.full(count, pattern, dtype=np.uint32).view(kind)


def _error_ratio(task: Task, actual: Buffer, expected: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    got = actual.astype(np.float64)
    budget = task.tolerance.absolute + task.tolerance.relative * np.abs(expected)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        ratio = np.abs(got - expected) / budget
    same_non_finite = (got == expected) | (np.isnan(got) & np.isnan(expected))
    finite = np.isfinite(got) & np.isfinite(expected)
    ratio[~finite] = np.where(same_non_finite[~finite], 0.0, np.inf)
    return np.asarray(ratio, dtype=np.float64)
