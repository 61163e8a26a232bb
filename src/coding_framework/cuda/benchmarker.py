"""How long a compiled kernel takes, for people who hold a binary and want a number.

`benchmark_kernel(result.binary_path, result.kernel_name)` works on what `CUDACompiler` left in its
cache: cubin, PTX and source side by side. On a GPU the time is *measured* under the judge's protocol:
cold L2, fresh contents, median with an interval. Without one it is *modelled* from exact counts of a
run of the PTX on the CPU, and labelled so. It times; it does not prove correctness: that is the
judge's business (`cuda/judge.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from coding_framework.config import JudgeConfig
from coding_framework.cuda.analysis.signature import KernelSignature, Parameter, kernel_signatures
from coding_framework.cuda.backend import choose_executor
from coding_framework.cuda.check_runner import Subject
from coding_framework.cuda.contract import (
    ContractViolation,
    numpy_dtype,
    parse_launch_plan,
    resolve_launches,
    resolve_scratch,
)
from coding_framework.cuda.executors.base import Buffer, ExecutionRequest
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.emulator.time_model import profile_from_counters
from coding_framework.cuda.executors.isolated import EmulatorExecutor
from coding_framework.errors import UserError
from coding_framework.records import CompilationResult, ProfileReport, Record, Task, TimeKind

if TYPE_CHECKING:
    from coding_framework.cuda.timers.stopwatch import Stopwatch

__all__ = ["BenchmarkResult", "CUDABenchmarker"]

_DEFAULT_EXTENTS = {1: 65_536, 2: 256, 3: 64}
"""Extent of every dimension by their number, when the caller names none."""
_ELEMENTS = {"float": "float32", "half": "float16", "__half": "float16", "int": "int32", "int32_t": "int32"}


class BenchmarkResult(Record):
    """The time of one kernel on one shape."""

    kernel_name: str
    """Which kernel."""
    kind: TimeKind
    """Measured or modelled."""
    device: str
    """The GPU that was measured, or the one that was modelled."""
    dimensions: dict[str, int]
    """The shape."""
    median_us: float = Field(gt=0)
    """The time of all launches of the plan together."""
    interval_us: tuple[float, float] | None = None
    """95 % interval of the median; None for a model."""
    profile: ProfileReport | None
    """Where it goes; for a measured time only where Nsight Compute was asked for."""


class CUDABenchmarker:
    """Times kernels that `CUDACompiler` compiled."""

    def __init__(self, config: JudgeConfig | None = None, *, device: DeviceModel = H200) -> None:
        self.config = config or JudgeConfig()
        self._device = device
        self._is_measured = choose_executor(self.config) == "gpu"
        self._executor = EmulatorExecutor(memory_limit_bytes=self.config.run_memory_bytes)
        self._stopwatch: Stopwatch | None = None

    async def benchmark_kernel(
        self,
        binary_path: Path,
        kernel_name: str,
        *,
        task: Task | None = None,
        dimensions: Mapping[str, int] | None = None,
    ) -> BenchmarkResult:
        """The time of `kernel_name` on `dimensions` (the task's timing shape, or sensible defaults)."""
        return await asyncio.to_thread(self._benchmark, Path(binary_path), kernel_name, task, dimensions)

    def close(self) -> None:
        """End the worker processes."""
        self._executor.close()
        if self._stopwatch is not None:
            self._stopwatch.close()

    def _benchmark(
        self, binary_path: Path, kernel_name: str, task: Task | None, dimensions: Mapping[str, int] | None
    ) -> BenchmarkResult:
        compilation, source = _read_artifacts(binary_path)
        if kernel_name not in compilation.kernel_names:
            raise UserError(
                f"{binary_path} has no kernel `{kernel_name}`; it has: {', '.join(compilation.kernel_names)}"
            )
        task = task or _task_from_signature(source, kernel_name)
        shape = dict(dimensions or (task.measured_shape if self._is_measured else task.timing_shape))
        if set(shape) != set(task.dimensions):
            raise UserError(f"dimensions {shape} do not fit: name exactly {', '.join(task.dimensions)}")
        try:
            plan = parse_launch_plan(source, task)
            if self._is_measured:
                return self._measure(Subject(task, plan, compilation), kernel_name, shape)
            request = ExecutionRequest(
                ptx=compilation.ptx or "",
                registers=compilation.registers,
                launches=resolve_launches(plan, task, shape),
                buffers=_buffers(task, shape)
                | {
                    name: np.zeros(count, numpy_dtype(dtype))
                    for name, (dtype, count) in resolve_scratch(plan, task, shape).items()
                },
            )
        except ContractViolation as violation:
            raise UserError(str(violation)) from None
        outcome = self._executor.run(request, timeout_s=self.config.run_timeout_s)
        if outcome.fault is not None:
            raise UserError(f"`{kernel_name}` failed on {shape}: {outcome.fault.message}")
        median_us, profile = profile_from_counters(outcome.counters, compilation.resources, self._device)
        return BenchmarkResult(
            kernel_name=kernel_name,
            kind="modelled",
            device=self._device.name,
            dimensions=shape,
            median_us=median_us,
            profile=profile,
        )

    def _measure(self, subject: Subject, kernel_name: str, shape: dict[str, int]) -> BenchmarkResult:
        from coding_framework.cuda.timers.stopwatch import Stopwatch

        self._stopwatch = self._stopwatch or Stopwatch(self.config)
        median_us, interval_us = self._stopwatch.time(subject, shape)
        return BenchmarkResult(
            kernel_name=kernel_name,
            kind="measured",
            device=self._stopwatch.device_name,
            dimensions=shape,
            median_us=median_us,
            interval_us=interval_us,
            profile=None,
        )

    def __enter__(self) -> CUDABenchmarker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _read_artifacts(binary_path: Path) -> tuple[CompilationResult, str]:
    record, source = binary_path.with_suffix(".json"), binary_path.with_suffix(".cu")
    try:
        text = source.read_text()
        return CompilationResult.model_validate_json(record.read_bytes()), text
    except (OSError, ValueError) as error:
        raise UserError(f"{binary_path} is not a binary of CUDACompiler: {error}") from None


def _buffers(task: Task, shape: Mapping[str, int]) -> dict[str, Buffer]:
    """Inputs of ones, which every arithmetic survives, and outputs of zeros."""
    filled: dict[str, Buffer] = {}
    for spec in task.inputs:
        filled[spec.name] = np.ones(spec.num_elements(shape), numpy_dtype(spec.dtype))
    for spec in task.outputs:
        filled.setdefault(spec.name, np.zeros(spec.num_elements(shape), numpy_dtype(spec.dtype)))
    return filled


def _task_from_signature(source: str, kernel_name: str) -> Task:
    """A task made up from the kernel's parameters: integers are dimensions, pointers are buffers."""
    signature = next((s for s in kernel_signatures(source) if s.name == kernel_name), None)
    if signature is None:
        raise UserError(f"the parameters of `{kernel_name}` cannot be read from its source; give a task")
    dimensions = tuple(p.name for p in signature.parameters if not p.is_pointer) or ("n",)
    extent = _DEFAULT_EXTENTS.get(len(dimensions), 32)
    shape = dict.fromkeys(dimensions, extent)
    size = "*".join(dimensions)
    buffers = [p for p in signature.parameters if p.is_pointer]
    inputs = [_tensor(p, size) for p in buffers if p.is_const]
    outputs = [_tensor(p, size) for p in buffers if not p.is_const]
    if not inputs or not outputs:
        raise UserError(
            f"`{kernel_name}` needs const inputs and non-const outputs to be timed without a task"
        )
    return Task.model_validate(
        {
            "name": kernel_name,
            "title": kernel_name,
            "tier": 0,
            "family": "ad hoc",
            "prompt": _declaration(signature),
            "dimensions": dimensions,
            "inputs": inputs,
            "outputs": outputs,
            "visible_shapes": [shape],
            "hidden_shapes": [shape],
            "timing_shape": shape,
            "bytes_moved": size,
            "operations": size,
            "baseline": source,
            "oracle": _no_oracle,
        }
    )


def _tensor(parameter: Parameter, size: str) -> dict[str, Any]:
    if parameter.type not in _ELEMENTS:
        raise UserError(
            f"parameter `{parameter.name}` is a pointer to {parameter.type}; give a task to time it"
        )
    return {"name": parameter.name, "shape": (size,), "dtype": _ELEMENTS[parameter.type]}


def _declaration(signature: KernelSignature) -> str:
    return f"{signature.name}({', '.join(p.name for p in signature.parameters)})"


def _no_oracle(*_: Any) -> Mapping[str, Any]:
    raise UserError("a kernel timed without a task has no oracle")
