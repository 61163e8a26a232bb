"""What a user's kernel is compared with, and how closely.

The naive kernel rewritten to double is the truth where it compiles, runs and agrees with the kernel that it
was made from; else the float32 kernel is, under a wider budget. Without a stated budget it is a multiple
of the naive kernel's own error: another order of operations rounds differently, and not much worse.
"""

from __future__ import annotations

from collections.abc import Iterator

import array_api_compat.numpy as xp

from coding_framework.cuda.checking import PlannedCheck, compare_outputs, expected_outputs
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.verdicts import compile_error_words
from coding_framework.data.problems.oracle import NaiveKernelOracle, OracleFault
from coding_framework.data.problems.widen import widened
from coding_framework.records import DType, Task, Tolerance

_BASE: dict[DType, Tolerance] = {
    "float32": Tolerance(relative=1e-5, absolute=1e-6),
    "float16": Tolerance(relative=2e-3, absolute=1e-5),
    "bfloat16": Tolerance(relative=1.6e-2, absolute=1e-5),
    "int32": Tolerance(relative=0.0, absolute=0.0),
}
"""The least budget: some tens of roundings of a float32, two of a narrower type."""
_ROOM = 8.0
"""How much more than the naive kernel's own error another order of operations may make."""
_UNLIKE = 2_000.0
"""Times the least budget: beyond it the double form computes something else."""
_NARROW_ROOM = 16.0
"""Times the least budget, where the truth itself has float32's errors."""


def with_truth(
    task: Task, narrow: NaiveKernelOracle, compiler: CUDACompiler, stated: Tolerance | None
) -> tuple[Task, tuple[str, ...]]:
    """The task with its oracle and its budget, and in words how they were found."""
    base = max((_BASE[spec.dtype] for spec in task.outputs), key=lambda budget: budget.relative)
    task = task.model_copy(update={"tolerance": base})
    wide, why_not = _wide_oracle(narrow, compiler, task.baseline)
    ratio = None
    if wide is not None:
        ratio, why_not = _own_error(task, narrow, wide)
    if wide is None or ratio is None:
        truth, room = narrow, _NARROW_ROOM
        told = f"truth: the naive kernel in float32, because {why_not}; the budget is widened for it"
        origin = f"{_NARROW_ROOM:g} times the least"
    else:
        truth, room = wide, max(1.0, _ROOM * ratio)
        told = "truth: the naive kernel computed in float64"
        origin = "from the naive kernel's own rounding"
    budget = stated or Tolerance(relative=base.relative * room, absolute=base.absolute * room)
    why = "as the header says" if stated else origin
    words = f"budget: {budget.relative:.1e} relative, {budget.absolute:.1e} absolute, {why}"
    return task.model_copy(update={"oracle": truth, "tolerance": budget}), (told, words)


def _wide_oracle(
    narrow: NaiveKernelOracle, compiler: CUDACompiler, source: str
) -> tuple[NaiveKernelOracle | None, str]:
    compilation = compiler.compile(widened(source))
    if compilation.ptx is None:
        return None, f"its double form does not compile ({compile_error_words(compilation, source)[:200]})"
    return NaiveKernelOracle(compilation.ptx, narrow.task, narrow.plan, wide=True), ""


def _own_error(task: Task, narrow: NaiveKernelOracle, wide: NaiveKernelOracle) -> tuple[float | None, str]:
    """The naive kernel's largest error as a multiple of the least budget; None where the two disagree."""
    truth, worst = task.model_copy(update={"oracle": wide}), 0.0
    for check in _own_checks(task):
        drawn = draw_inputs(task, check.dimensions, check.distribution, seed=1)
        inputs = {spec.name: decode_elements(drawn[spec.name], spec.dtype) for spec in task.inputs}
        try:
            expected = expected_outputs(truth, drawn, check.dimensions)
            got = narrow(xp, inputs, check.dimensions)
        except OracleFault as fault:
            return None, f"its double form fails ({fault.fault.message[:200]})"
        actual = {spec.name: encode_elements(got[spec.name].reshape(-1), spec.dtype) for spec in task.outputs}
        result = compare_outputs(task, check, actual, expected)
        worst = max(worst, result.max_error_ratio or 0.0)
    if worst > _UNLIKE:
        return None, "its double form computes something else"
    return worst, ""


def _own_checks(task: Task) -> Iterator[PlannedCheck]:
    kinds = task.distributions
    shapes = (*task.visible_shapes, *task.hidden_shapes)
    for number, shape in enumerate(shapes):
        yield PlannedCheck(shape, kinds[number % len(kinds)], hidden=False)
    yield from (PlannedCheck(shapes[-1], kind, hidden=False) for kind in kinds)
    yield from (PlannedCheck(task.timing_shape, kind, hidden=False) for kind in kinds)
