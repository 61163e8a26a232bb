"""Synthetic tasks: full `Task` records drawn from the table of operations.

Guarantees: a seed gives the same tasks everywhere; the prompt, the baseline and the oracle of a task
come from one formula; no drawn task has a key among the held-out ones or is of a held-out family. A
task's name ends with a digest of its prompt, so two different tasks never share a name; its kernel has
the plain name.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coding_framework.data.tasks.build import make_task
from coding_framework.data.tasks.families import HELD_OUT_FAMILIES
from coding_framework.data.templates.catalogue_keys import map_key, reduction_key
from coding_framework.data.templates.drawing import draw_constants, draw_signature
from coding_framework.data.templates.formula import Formula, argument
from coding_framework.data.templates.map_kernels import broadcast_kernel, vector_kernel, vectorized_kernel
from coding_framework.data.templates.operations import (
    BROADCAST_OPERATIONS,
    ROW_OPERATIONS,
    VECTOR_OPERATIONS,
    Layout,
    MapOperation,
    RowOperation,
)
from coding_framework.data.templates.oracles import MapOracle, RowOracle
from coding_framework.data.templates.row_kernels import row_kernel, warp_row_kernel
from coding_framework.data.templates.signature import PLAIN, Signature, Style, element_names
from coding_framework.errors import UserError
from coding_framework.records import Oracle, Task, Tolerance

_TABLES: tuple[tuple[Sequence[MapOperation | RowOperation], int], ...] = (
    (VECTOR_OPERATIONS, 6),
    (BROADCAST_OPERATIONS, 2),
    (ROW_OPERATIONS, 2),
)
"""Operations with their weights: most are element-wise, as these are what a small model can learn."""
_MAX_DRAWS = 1000
_VECTOR_SIZES = (((1000,), (4096,)), ((1,), (33,), (257,), (5003,)), (2**20,))
_MATRIX_SIZES = (((64, 128), (37, 100)), ((1, 1), (1, 257), (33, 65), (129, 3)), (1024, 256))
"""Visible sizes, hidden sizes, and the size that is timed."""
_MAP_TOLERANCE = Tolerance(relative=1e-5, absolute=1e-5)
"""A handful of roundings on values below about 100."""
_ROW_TOLERANCE = Tolerance(relative=1e-4, absolute=2e-4)
"""Sums of at most 257 terms, as in the catalogue's row sum."""


@dataclass(frozen=True)
class SyntheticTask:
    """A drawn task with what is needed to write its kernel in other styles."""

    task: Task
    formula_key: str
    signature: Signature
    formula: Formula
    operation: MapOperation | RowOperation

    def kernel(self, style: Style) -> str:
        """The naive kernel in this style."""
        return _naive(self.signature, self.formula, self.operation, style)

    def optimised_kernel(self, style: Style) -> str | None:
        """A faster kernel; None for broadcasts, whose naive kernel is near the best."""
        if isinstance(self.operation, RowOperation):
            reducer, root = self.operation.reducer, self.operation.root
            return warp_row_kernel(self.signature, self.formula, reducer, root, style)
        if len(self.signature.dimensions) > 1:
            return None
        return vectorized_kernel(self.signature, self.formula, style)


def draw_synthetic_task(rng: random.Random, held_out: Collection[str]) -> SyntheticTask:
    """One task whose formula key is not among `held_out`."""
    for _ in range(_MAX_DRAWS):
        table = rng.choices([table for table, _ in _TABLES], [weight for _, weight in _TABLES])[0]
        operation = rng.choice([operation for operation in table if may_be_drawn(operation)])
        drawn = (
            _draw_row(rng, operation) if isinstance(operation, RowOperation) else _draw_map(rng, operation)
        )
        if drawn.formula_key not in held_out:
            return drawn
    raise UserError("the held-out tasks leave no template to draw from")


def may_be_drawn(operation: MapOperation | RowOperation) -> bool:
    """Whether its family may be trained on."""
    return operation.family not in HELD_OUT_FAMILIES


def make_synthetic_task(rng: random.Random, operation: MapOperation | RowOperation) -> SyntheticTask:
    """A task of this operation with drawn names and constants."""
    return _draw_row(rng, operation) if isinstance(operation, RowOperation) else _draw_map(rng, operation)


def _draw_map(rng: random.Random, operation: MapOperation) -> SyntheticTask:
    signature = draw_signature(rng, operation.name, operation.layouts)
    formula = operation.build([argument(i) for i in range(len(operation.layouts))], draw_constants(rng))
    place = f"r * {signature.dimensions[-1]} + c" if len(signature.dimensions) > 1 else "i"
    value = formula.render("prompt", element_names(signature, place))
    words = operation.words.format(vectors=_vectors(signature), matrix=_matrices(signature))
    description = f"{words}: {signature.output}[{place}] = {value}."
    oracle = MapOracle(formula, tuple(signature.inputs.items()), signature.output)
    task = _build(signature, operation, formula, description, oracle)
    return SyntheticTask(task, map_key(formula), signature, formula, operation)


def _draw_row(rng: random.Random, operation: RowOperation) -> SyntheticTask:
    layouts: list[Layout] = ["matrix"] * operation.num_matrices
    signature = draw_signature(rng, operation.name, layouts)
    formula = operation.build([argument(i) for i in range(operation.num_matrices)], ())
    element = formula.render("prompt", element_names(signature, f"r * {signature.dimensions[1]} + c"))
    value = f"{operation.reducer} over c of {element}"
    value = f"sqrt({value})" if operation.root else value
    description = f"{operation.words} of each row of {_matrices(signature)}: {signature.output}[r] = {value}."
    oracle = RowOracle(formula, tuple(signature.inputs), signature.output, operation.reducer, operation.root)
    task = _build(signature, operation, formula, description, oracle)
    return SyntheticTask(task, reduction_key(operation.reducer, formula), signature, formula, operation)


def _build(
    signature: Signature,
    operation: MapOperation | RowOperation,
    formula: Formula,
    description: str,
    oracle: Oracle,
) -> Task:
    dimensions = signature.dimensions
    reduces = isinstance(operation, RowOperation)
    visible, hidden, timed = _VECTOR_SIZES if len(dimensions) == 1 else _MATRIX_SIZES
    extents = {
        "vector": dimensions,
        "matrix": dimensions,
        "per_row": dimensions[:1],
        "per_column": dimensions[1:],
    }
    nodes = sum(bool(node.operands) for node in formula.walk()) + reduces
    return make_task(
        name=f"{operation.name}_{hashlib.sha256(repr((description, signature)).encode()).hexdigest()[:8]}",
        kernel_name=operation.name,
        title=operation.name.replace("_", " ").capitalize(),
        tier=1 if reduces else 0,
        family=operation.family,
        description=description,
        dimensions=dimensions,
        inputs={name: extents[layout] for name, layout in signature.inputs.items()},
        outputs={signature.output: dimensions[:1] if reduces else dimensions},
        visible_shapes=[dict(zip(dimensions, sizes, strict=True)) for sizes in visible],
        hidden_shapes=[dict(zip(dimensions, sizes, strict=True)) for sizes in hidden],
        timing_shape=dict(zip(dimensions, timed, strict=True)),
        distributions=("normal", "uniform"),
        tolerance=_ROW_TOLERANCE if reduces else _MAP_TOLERANCE,
        operations=f"{max(1, nodes)}*{'*'.join(dimensions)}",
        baseline=_naive(signature, formula, operation, PLAIN),
        oracle=oracle,
    )


def _naive(
    signature: Signature,
    formula: Formula,
    operation: MapOperation | RowOperation,
    style: Style,
) -> str:
    if isinstance(operation, RowOperation):
        return row_kernel(signature, formula, operation.reducer, operation.root, style)
    write = broadcast_kernel if len(signature.dimensions) > 1 else vector_kernel
    return write(signature, formula, style)


def _vectors(signature: Signature) -> str:
    count = {1: "a vector", 2: "two vectors", 3: "three vectors"}[len(signature.inputs)]
    return f"{count} of {signature.dimensions[0]} elements"


def _matrices(signature: Signature) -> str:
    names = [name for name, layout in signature.inputs.items() if layout == "matrix"]
    noun = (
        f"a row-major matrix {names[0]}" if len(names) == 1 else f"row-major matrices {' and '.join(names)}"
    )
    return f"{noun} with {' x '.join(signature.dimensions)} elements"
