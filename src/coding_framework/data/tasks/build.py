"""Shared parts of a task's record, so that each task file states only what is its own.

Guarantees: the prompt ends with the signature in the default argument order of the `kernel`
contract, and `bytes_moved` counts every input once and every output once. Everything is float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from coding_framework.records import (
    Dimensions,
    Distribution,
    Oracle,
    Task,
    TensorSpec,
    Tolerance,
    parse_expression,
)

FLOAT32_BYTES = 4
NAIVE = "naive"
"""Name of the variant that every task has: the baseline."""

VECTOR_VISIBLE = ({"n": 1000}, {"n": 4096})
VECTOR_HIDDEN = ({"n": 1}, {"n": 33}, {"n": 257}, {"n": 1007}, {"n": 10007})
"""One element, just past a warp, just past a block, and two that no vector width divides."""
ROWS_VISIBLE = ({"rows": 64, "cols": 128}, {"rows": 37, "cols": 100})
ROWS_HIDDEN = (
    {"rows": 1, "cols": 1},
    {"rows": 1, "cols": 257},
    {"rows": 129, "cols": 7},
    {"rows": 33, "cols": 65},
    {"rows": 5, "cols": 515},
)
"""One element, one long row, many short rows, rows that start unaligned, more columns than threads."""

Arrays = Mapping[str, tuple[str, ...]]
"""Array names with their row-major extents, in argument order."""


def make_task(
    *,
    name: str,
    title: str,
    tier: int,
    family: str,
    description: str,
    dimensions: Sequence[str],
    inputs: Arrays,
    outputs: Arrays,
    visible_shapes: Sequence[Dimensions],
    hidden_shapes: Sequence[Dimensions],
    timing_shape: Dimensions,
    tolerance: Tolerance,
    operations: str,
    baseline: str,
    oracle: Oracle,
    distributions: tuple[Distribution, ...] = ("normal", "uniform", "large"),
    scalars: Mapping[str, float] | None = None,
    kernel_name: str | None = None,
) -> Task:
    """A float32 task; long because a task has many parts, each of them plain."""
    return Task(
        name=name,
        title=title,
        tier=tier,
        family=family,
        prompt=f"{description}\nSignature: {signature(kernel_name or name, inputs, outputs, dimensions)}",
        dimensions=tuple(dimensions),
        inputs=_specs(inputs),
        outputs=_specs(outputs),
        scalars=dict(scalars or {}),
        visible_shapes=tuple(dict(shape) for shape in visible_shapes),
        hidden_shapes=tuple(dict(shape) for shape in hidden_shapes),
        timing_shape=dict(timing_shape),
        distributions=distributions,
        tolerance=tolerance,
        bytes_moved=parse_expression(compulsory_bytes(inputs, outputs)),
        operations=parse_expression(operations),
        baseline=baseline,
        oracle=oracle,
    )


def signature(name: str, inputs: Arrays, outputs: Arrays, dimensions: Sequence[str]) -> str:
    """The one kernel that the default launch arguments fit."""
    parameters = [f"const float* {array}" for array in inputs]
    parameters += [f"float* {array}" for array in outputs]
    parameters += [f"int {dimension}" for dimension in dimensions]
    return f'extern "C" __global__ void {name}({", ".join(parameters)})'


def compulsory_bytes(inputs: Arrays, outputs: Arrays) -> str:
    """Bytes of all arrays, as an expression over the dimensions."""
    extents = (*inputs.values(), *outputs.values())
    return " + ".join("*".join((str(FLOAT32_BYTES), *shape)) for shape in extents)


def kernel_source(package: str, task: str, variant: str = NAIVE) -> str:
    """The `.cu` file `<task>.<variant>.cu` that lies beside the task's module."""
    return files(package).joinpath(f"{task}.{variant}.cu").read_text(encoding="utf-8")


def variant_names(package: str, task: str) -> tuple[str, ...]:
    """The optimised variants that lie beside the task's module, in alphabetical order."""
    found = (_variant_of(entry, task) for entry in files(package).iterdir())
    return tuple(sorted(name for name in found if name is not None and name != NAIVE))


def _variant_of(entry: Traversable, task: str) -> str | None:
    parts = entry.name.split(".")
    return parts[1] if len(parts) == 3 and parts[0] == task and parts[2] == "cu" else None


def _specs(arrays: Arrays) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec.model_validate({"name": name, "shape": shape}) for name, shape in arrays.items())
