"""Is it right? Outputs against a float64 oracle, inputs unchanged, the same answer twice.

Guarantees: an output element that was never written is NaN and fails; a non-finite value passes
only where the oracle has the same one; every element of every output is compared, integers exactly
and floats of every type within the task's budget. Bytes outside the buffers need no check here: the
emulator faults on any access to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import array_api_compat.numpy as xp
import numpy as np
import numpy.typing as npt

from coding_framework.cuda.contract import numpy_dtype, resolve_scratch
from coding_framework.cuda.elements import decode_elements, poison
from coding_framework.cuda.executors.base import Buffer, ExecutionOutcome
from coding_framework.cuda.secrecy import Secrets
from coding_framework.records import (
    Dimensions,
    Distribution,
    LaunchPlan,
    ShapeCheck,
    Task,
    TensorSpec,
    Tolerance,
    WrongElement,
)

_Floats = npt.NDArray[np.float64]
MAX_WRONG_SHOWN = 3


@dataclass(frozen=True)
class PlannedCheck:
    """One run of the check plan."""

    dimensions: dict[str, int]
    distribution: Distribution
    hidden: bool


def plan_checks(task: Task, secrets: Secrets) -> tuple[PlannedCheck, ...]:
    """What every candidate runs: the fixed checks, and one on a shape that nobody knows before."""
    return (*fixed_checks(task), PlannedCheck(secret_shape(task, secrets), "mixed", True))


def fixed_checks(task: Task) -> tuple[PlannedCheck, ...]:
    """Every shape once, distributions in turn; then the largest hidden shape on the others too."""
    kinds = task.distributions
    shapes = [(s, False) for s in task.visible_shapes] + [(s, True) for s in task.hidden_shapes]
    plan = [PlannedCheck(shape, kinds[i % len(kinds)], hidden) for i, (shape, hidden) in enumerate(shapes)]
    largest = max(task.hidden_shapes, key=lambda shape: task.outputs[0].num_elements(shape))
    used = {check.distribution for check in plan if check.dimensions == largest}
    plan += [PlannedCheck(largest, kind, True) for kind in (*kinds, "mixed") if kind not in used]
    return tuple(plan)


def secret_shape(task: Task, secrets: Secrets) -> dict[str, int]:
    """Extents that nobody knows before: hidden shapes are fixed, and in time a policy could learn them."""
    limits = {name: max(shape[name] for shape in task.hidden_shapes) for name in task.dimensions}
    return {name: 1 + secrets.below(limit) for name, limit in limits.items()}


def poisoned_buffers(
    task: Task,
    plan: LaunchPlan,
    dimensions: Dimensions,
    inputs: Mapping[str, Buffer],
    secret: int,
    left: ExecutionOutcome | None = None,
) -> dict[str, Buffer]:
    """Inputs as drawn, outputs and scratch full of words that are NaN, each another one.

    Scratch that an older run left behind is as it left it, and zero where that had none.
    """
    buffers = {name: array.reshape(-1) for name, array in inputs.items()}
    for spec in task.outputs:
        buffers[spec.name] = poison(spec.dtype, spec.num_elements(dimensions), secret, spec.name)
    for name, (dtype, count) in resolve_scratch(plan, task, dimensions).items():
        if left is None:
            buffers[name] = poison(dtype, count, secret, name)
        else:
            buffers[name] = left.buffers.get(name, np.zeros(count, numpy_dtype(dtype)))
    return buffers


def expected_outputs(task: Task, inputs: Mapping[str, Buffer], dimensions: Dimensions) -> dict[str, _Floats]:
    """The float64 truth, flattened."""
    wide = {spec.name: xp.asarray(decode_elements(inputs[spec.name], spec.dtype)) for spec in task.inputs}
    outputs = task.oracle(xp, wide, dimensions)
    return {spec.name: np.asarray(outputs[spec.name], dtype=np.float64).reshape(-1) for spec in task.outputs}


def compare_outputs(
    task: Task,
    check: PlannedCheck,
    actual: Mapping[str, Buffer],
    expected: Mapping[str, _Floats],
    *,
    poison: int | None = None,
) -> ShapeCheck:
    """Every element against its budget; `poison` tells what was never written."""
    wrong: list[WrongElement] = []
    num_wrong, num_unwritten, worst = 0, 0, 0.0
    for spec in task.outputs:
        got = _numbers(spec, actual[spec.name], expected[spec.name], poison)
        ratio = _error_ratio(task.tolerance, spec, got, expected[spec.name])
        bad = np.flatnonzero(~(ratio <= 1.0))
        worst = max(worst, float(ratio.max(initial=0.0)))
        num_wrong += bad.size
        num_unwritten += _num_unwritten(spec, actual[spec.name], bad, poison)
        extents = spec.extents(check.dimensions)
        wrong += [
            WrongElement(
                output=spec.name,
                index=tuple(int(i) for i in np.unravel_index(at, extents)),
                expected=float(expected[spec.name][at]),
                actual=float(got[at]),
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
        num_unwritten=num_unwritten if num_wrong and poison is not None else None,
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


def _numbers(spec: TensorSpec, actual: Buffer, expected: _Floats, secret: int | None) -> _Floats:
    """What was written, as numbers; an int32 element that still holds its poison counts as NaN."""
    got = decode_elements(actual, spec.dtype)
    if spec.dtype == "int32" and secret is not None:
        before = poison(spec.dtype, actual.size, secret, spec.name)
        got[(actual == before) & (got != expected)] = np.nan
    return got


def _num_unwritten(spec: TensorSpec, actual: Buffer, bad: npt.NDArray[np.intp], secret: int | None) -> int:
    """How many of the wrong elements are as they were before the run, bit for bit."""
    if secret is None or not bad.size:
        return 0
    before = poison(spec.dtype, actual.size, secret, spec.name)
    kind = f"u{actual.dtype.itemsize}"
    return int((actual.view(kind)[bad] == before.view(kind)[bad]).sum())


def _error_ratio(tolerance: Tolerance, spec: TensorSpec, got: _Floats, expected: _Floats) -> _Floats:
    exact = spec.dtype == "int32"
    budget = 0.0 if exact else tolerance.absolute + tolerance.relative * np.abs(expected)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        ratio = np.abs(got - expected) / budget
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    plain = np.isfinite(got) & np.isfinite(expected) & ~same
    ratio[~plain] = np.where(same[~plain], 0.0, np.inf)
    return np.asarray(ratio, dtype=np.float64)
