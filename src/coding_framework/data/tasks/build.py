"""Shared parts of a task's record, so that each task file states only what is its own.

Guarantees: the prompt ends with the signature in the default argument order of the `kernel`
contract, and `bytes_moved` counts every input once and every output once. Arrays are float32 unless
`dtypes` says otherwise, and prompt, signature, bytes and error budget then follow the element type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from coding_framework.cuda.elements import ELEMENT_BYTES
from coding_framework.records import (
    Dimensions,
    Distribution,
    DType,
    Oracle,
    Task,
    TensorSpec,
    Tolerance,
    parse_expression,
)

CUDA_TYPES: dict[DType, str] = {
    "float32": "float",
    "float16": "half",
    "bfloat16": "__nv_bfloat16",
    "int32": "int",
}
HEADERS: dict[DType, str] = {"float16": "<cuda_fp16.h>", "bfloat16": "<cuda_bf16.h>"}
"""What a source includes to have the type; the prompt says so."""
ONE_ROUNDING: dict[DType, Tolerance] = {
    "float32": Tolerance(relative=1e-6, absolute=1e-7),
    "float16": Tolerance(relative=1e-3, absolute=1e-6),
    "bfloat16": Tolerance(relative=8e-3, absolute=1e-6),
    "int32": Tolerance(relative=0.0, absolute=0.0),
}
"""Budgets for a result that is computed in float32 and rounded once to the type of the output: twice
the half unit in the last place of 11 bits (2**-11) and of 8 bits (2**-8); 16 of them for float32."""
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

SHORT_ROWS_HIDDEN = (
    {"rows": 1, "cols": 1},
    {"rows": 1, "cols": 261},
    {"rows": 129, "cols": 7},
    {"rows": 67, "cols": 101},
    {"rows": 3, "cols": 130},
)
"""The same aims for kernels whose threads walk along a row. The hidden shape with most elements is run on
every distribution, and an emulated walk costs as much as its row is long: here that shape has short rows."""

LARGE_QUERIES: dict[Distribution, dict[str, Distribution]] = {
    "normal": {"v": "large"},
    "uniform": {"v": "large"},
    "large": {"k": "normal", "v": "normal"},
    "mixed": {"v": "normal"},
}
"""For attention: only queries are scaled, and values are larger where scores are small and exact."""

Arrays = Mapping[str, tuple[str, ...]]
"""Array names with their row-major extents, in argument order."""
DTypes = Mapping[str, DType]
"""Element types of the arrays that are not float32."""


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
    operations: str,
    baseline: str,
    oracle: Oracle,
    tolerance: Tolerance | None = None,
    gpu_timing_shape: Dimensions | None = None,
    dtypes: DTypes | None = None,
    distributions: tuple[Distribution, ...] = ("normal", "uniform", "large", "outliers"),
    drawn_as: Mapping[Distribution, Mapping[str, Distribution]] | None = None,
    scalars: Mapping[str, float] | None = None,
    kernel_name: str | None = None,
) -> Task:
    """A task; long because it has many parts, each of them plain. No tolerance: one rounding."""
    types: DTypes = dtypes or {}
    _refuse_unknown(types, inputs, outputs)
    head = signature(kernel_name or name, inputs, outputs, dimensions, types)
    headers = "".join(f" Include {HEADERS[t]}." for t in dict.fromkeys(types.values()) if t in HEADERS)
    return Task(
        name=name,
        title=title,
        tier=tier,
        family=family,
        prompt=f"{description}{headers}\nSignature: {head}",
        dimensions=tuple(dimensions),
        inputs=_specs(inputs, types),
        outputs=_specs(outputs, types),
        scalars=dict(scalars or {}),
        visible_shapes=tuple(dict(shape) for shape in visible_shapes),
        hidden_shapes=tuple(dict(shape) for shape in hidden_shapes),
        timing_shape=dict(timing_shape),
        gpu_timing_shape=dict(gpu_timing_shape) if gpu_timing_shape else None,
        distributions=distributions,
        drawn_as={kind: dict(named) for kind, named in (drawn_as or {}).items()},
        tolerance=tolerance or _loosest([types.get(array, "float32") for array in outputs]),
        bytes_moved=parse_expression(compulsory_bytes(inputs, outputs, types)),
        operations=parse_expression(operations),
        baseline=baseline,
        oracle=oracle,
    )


def signature(
    name: str, inputs: Arrays, outputs: Arrays, dimensions: Sequence[str], dtypes: DTypes | None = None
) -> str:
    """The one kernel that the default launch arguments fit."""
    types = {array: CUDA_TYPES[(dtypes or {}).get(array, "float32")] for array in (*inputs, *outputs)}
    parameters = [f"const {types[array]}* {array}" for array in inputs]
    parameters += [f"{types[array]}* {array}" for array in outputs]
    parameters += [f"int {dimension}" for dimension in dimensions]
    return f'extern "C" __global__ void {name}({", ".join(parameters)})'


def compulsory_bytes(inputs: Arrays, outputs: Arrays, dtypes: DTypes | None = None) -> str:
    """Bytes of all arrays, as an expression over the dimensions."""
    arrays = {**inputs, **outputs}
    sizes = {array: str(ELEMENT_BYTES[(dtypes or {}).get(array, "float32")]) for array in arrays}
    return " + ".join("*".join((sizes[array], *shape)) for array, shape in arrays.items())


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


def _specs(arrays: Arrays, dtypes: DTypes) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec.model_validate({"name": name, "shape": shape, "dtype": dtypes.get(name, "float32")})
        for name, shape in arrays.items()
    )


def _refuse_unknown(dtypes: DTypes, inputs: Arrays, outputs: Arrays) -> None:
    unknown = sorted(set(dtypes) - {*inputs, *outputs})
    if unknown:
        raise ValueError(f"`dtypes` names {', '.join(unknown)}, which is neither an input nor an output")


def _loosest(dtypes: Sequence[DType]) -> Tolerance:
    """One budget serves all outputs of a task (integers are compared exactly whatever it says)."""
    return max((ONE_ROUNDING[dtype] for dtype in dtypes), key=lambda budget: budget.relative)
