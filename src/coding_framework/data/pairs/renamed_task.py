"""A task of the catalogue under other names: the same problem, asked for in other words.

Guarantees: shapes, tolerance, distributions and truth are the original's, argument for argument; only
names and words differ. The oracle is a small class of this package, so the task travels by pickle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from coding_framework.data.pairs.source_edit import rename_code, rename_plan, replace_words
from coding_framework.data.tasks.build import CUDA_TYPES
from coding_framework.records import Dimensions, Expression, Oracle, Task, TensorSpec, parse_expression

Names = Mapping[str, str]


@dataclass(frozen=True)
class RenamedOracle:
    """The original's truth between renamed inputs and renamed outputs."""

    original: Oracle
    names: tuple[tuple[str, str], ...]
    """Old and new name of every argument that has another one."""

    def __call__(
        self, xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions
    ) -> Mapping[str, Any]:
        new = dict(self.names)
        old = {renamed: name for name, renamed in self.names}
        given = {old.get(name, name): array for name, array in inputs.items()}
        sizes = {old.get(name, name): size for name, size in dimensions.items()}
        return {new.get(name, name): array for name, array in self.original(xp, given, sizes).items()}


def renamed_task(task: Task, kernels: Names, names: Names, prompt: str) -> Task:
    """The task with other arguments, another kernel and this prompt; its name ends with a digest."""
    words = repr((task.name, sorted(kernels.items()), sorted(names.items()), prompt))
    return task.model_copy(
        update={
            "name": f"{task.name}_{hashlib.sha256(words.encode()).hexdigest()[:10]}",
            "prompt": prompt,
            "dimensions": tuple(names.get(name, name) for name in task.dimensions),
            "inputs": tuple(_spec(spec, names) for spec in task.inputs),
            "outputs": tuple(_spec(spec, names) for spec in task.outputs),
            "visible_shapes": tuple(_shape(shape, names) for shape in task.visible_shapes),
            "hidden_shapes": tuple(_shape(shape, names) for shape in task.hidden_shapes),
            "timing_shape": _shape(task.timing_shape, names),
            "gpu_timing_shape": _shape(task.gpu_timing_shape, names) if task.gpu_timing_shape else None,
            "bytes_moved": _expression(task.bytes_moved, names),
            "operations": _expression(task.operations, names),
            "baseline": _baseline(task.baseline, kernels, names),
            "oracle": RenamedOracle(task.oracle, tuple(sorted(names.items()))),
        }
    )


def signature_of(task: Task, kernel: str, names: Names) -> str:
    """The kernel that the default arguments fit, under other names."""
    parameters = [f"const {CUDA_TYPES[s.dtype]}* {names.get(s.name, s.name)}" for s in task.inputs]
    parameters += [f"{CUDA_TYPES[s.dtype]}* {names.get(s.name, s.name)}" for s in task.outputs]
    parameters += [f"int {names.get(name, name)}" for name in task.dimensions]
    return f'extern "C" __global__ void {kernel}({", ".join(parameters)})'


def _baseline(source: str, kernels: Names, names: Names) -> str:
    """Only what the plan must call by its new name; parameters are the kernel's own affair."""
    return rename_plan(rename_code(source, kernels), {**names, **kernels})


def _spec(spec: TensorSpec, names: Names) -> TensorSpec:
    shape = tuple(_expression(extent, names) for extent in spec.shape)
    return spec.model_copy(update={"name": names.get(spec.name, spec.name), "shape": shape})


def _shape(shape: Dimensions, names: Names) -> dict[str, int]:
    return {names.get(name, name): size for name, size in shape.items()}


def _expression(expression: Expression, names: Names) -> Expression:
    return parse_expression(replace_words(expression.text, names))
