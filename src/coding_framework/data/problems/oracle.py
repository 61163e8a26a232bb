"""A user's naive kernel as the truth: run where the arrays are, in float64 where it can be.

NumPy arrays go through the emulator; torch tensors on a GPU stay there.

Guarantees: deterministic; a pure function of its inputs; it pickles, because judges live in other
processes. Not promised: that the kernel computes what its author meant. It is trusted as a task of
the catalogue is, and bounded only in the number of its instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from coding_framework.cuda.contract import resolve_launches, resolve_scratch
from coding_framework.cuda.elements import decode_elements, encode_elements, poison
from coding_framework.cuda.executors.base import (
    Buffer,
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    ResolvedLaunch,
)
from coding_framework.cuda.executors.emulator.execute import execute
from coding_framework.errors import UserError
from coding_framework.records import Dimensions, LaunchPlan, Task, TensorSpec

ORACLE_INSTRUCTION_LIMIT = 4_000_000_000
_POISON = 0x7FD5A1B7


class OracleFault(UserError):
    """The naive kernel cannot be run on a shape."""

    def __init__(self, fault: ExecutionFault, dimensions: Dimensions) -> None:
        shape = ", ".join(f"{name}={size}" for name, size in dimensions.items())
        super().__init__(f"the naive kernel fails for {shape}: {fault.message}")
        self.fault = fault


@dataclass(frozen=True)
class NaiveKernelOracle:
    """`oracle(xp, inputs, dimensions)` that runs a compiled kernel."""

    ptx: str
    """Of the kernel, or of the kernel made double."""
    task: Task
    """Names, types and shapes of the arrays; its own oracle is never asked."""
    plan: LaunchPlan
    """How the kernel is launched."""
    wide: bool
    """Whether `float` was made `double`: float32 arrays are then passed as float64."""

    def __call__(self, xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> dict[str, Any]:
        """The outputs in float64."""
        if "torch" in xp.__name__:
            return self._run_on_gpu(inputs, dimensions)
        outcome = self.run(inputs, dimensions)
        if outcome.fault is not None:
            raise OracleFault(outcome.fault, dimensions)
        return {spec.name: self._decoded(spec, outcome, dimensions) for spec in self.task.outputs}

    def run(self, inputs: Mapping[str, Any], dimensions: Dimensions) -> ExecutionOutcome:
        """One run with its counters; a fault is a value here."""
        request = ExecutionRequest(
            ptx=self.ptx,
            launches=self._launches(dimensions),
            buffers=self._buffers(inputs, dimensions),
            instruction_limit=ORACLE_INSTRUCTION_LIMIT,
            detect_races=False,
        )
        return execute(request)

    def _run_on_gpu(self, inputs: Mapping[str, Any], dimensions: Dimensions) -> dict[str, Any]:
        import torch

        from coding_framework.data.problems.on_gpu import launch_on_gpu

        def torch_type(dtype: str) -> torch.dtype:
            found: torch.dtype = torch.float64 if self._is_wide(dtype) else getattr(torch, dtype)
            return found

        sizes: dict[str, tuple[str, int]] = {}
        sizes |= {spec.name: (spec.dtype, spec.num_elements(dimensions)) for spec in self.task.outputs}
        sizes |= resolve_scratch(self.plan, self.task, dimensions)
        tensors = {
            spec.name: inputs[spec.name].to(torch_type(spec.dtype)).contiguous() for spec in self.task.inputs
        }
        device = next(iter(tensors.values())).device
        for name, (dtype, count) in sizes.items():
            tensors[name] = torch.zeros(count, dtype=torch_type(dtype), device=device)
        launch_on_gpu(self.ptx, self._launches(dimensions), tensors)
        outputs = {spec.name: tensors[spec.name].to(torch.float64) for spec in self.task.outputs}
        return {spec.name: outputs[spec.name].reshape(spec.extents(dimensions)) for spec in self.task.outputs}

    def _launches(self, dimensions: Dimensions) -> tuple[ResolvedLaunch, ...]:
        launches = resolve_launches(self.plan, self.task, dimensions)
        if not self.wide:
            return launches
        return tuple(
            ResolvedLaunch(one.kernel, one.grid, one.block, 2 * one.shared_bytes, one.arguments)
            for one in launches
        )

    def _buffers(self, inputs: Mapping[str, Any], dimensions: Dimensions) -> dict[str, Buffer]:
        buffers = {spec.name: self._encoded(spec, inputs[spec.name]) for spec in self.task.inputs}
        for spec in self.task.outputs:
            buffers[spec.name] = self._empty(spec.dtype, spec.num_elements(dimensions))
        for name, (dtype, count) in resolve_scratch(self.plan, self.task, dimensions).items():
            buffers[name] = self._empty(dtype, count)
        return buffers

    def _encoded(self, spec: TensorSpec, values: Any) -> Buffer:
        numbers = np.ascontiguousarray(np.asarray(values, dtype=np.float64)).reshape(-1)
        return numbers if self._is_wide(spec.dtype) else encode_elements(numbers, spec.dtype)

    def _empty(self, dtype: str, count: int) -> Buffer:
        return np.full(count, np.nan) if self._is_wide(dtype) else poison(dtype, count, _POISON)

    def _decoded(self, spec: TensorSpec, outcome: ExecutionOutcome, dimensions: Dimensions) -> Any:
        elements = outcome.buffers[spec.name]
        numbers = elements if self._is_wide(spec.dtype) else decode_elements(elements, spec.dtype)
        return np.asarray(numbers, dtype=np.float64).reshape(spec.extents(dimensions))

    def _is_wide(self, dtype: str) -> bool:
        return self.wide and dtype == "float32"
