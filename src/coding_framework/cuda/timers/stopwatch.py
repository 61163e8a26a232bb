"""Times one compiled kernel on the GPU under the judge's protocol, without proving it right."""

from __future__ import annotations

from coding_framework.config import JudgeConfig
from coding_framework.cuda.backend import compile_harness
from coding_framework.cuda.check_runner import Subject
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.executors.gpu.executor import GpuExecutor
from coding_framework.cuda.executors.gpu.messages import MeasureRequest
from coding_framework.cuda.timers.measured import (
    WARM_UPS,
    array_of,
    input_sets,
    program_of,
    secret_turns,
    typical_us,
    with_slots,
)
from coding_framework.errors import UserError


class Stopwatch:
    """Holds the worker process and our own kernels."""

    def __init__(self, config: JudgeConfig) -> None:
        self._config = config
        with CUDACompiler(CompilerSettings(architecture="auto", workers=1)) as compiler:
            self._harness_cubin = compile_harness(compiler)
        self._executor = GpuExecutor(device_index=config.gpu_index, harness_cubin=self._harness_cubin)

    @property
    def device_name(self) -> str:
        return self._executor.facts.name

    def time(self, subject: Subject, shape: dict[str, int]) -> tuple[float, tuple[float, float]]:
        """The median and its interval, in microseconds; the kernel is its own reference."""
        task = subject.task
        program = program_of(subject, shape)
        turns = secret_turns(WARM_UPS + self._config.timed_launches)
        request = MeasureRequest(
            device_index=self._config.gpu_index,
            harness_cubin=self._harness_cubin,
            candidate=program,
            reference=program,
            inputs=tuple(array_of(spec, shape) for spec in task.inputs),
            outputs=tuple(array_of(spec, shape) for spec in task.outputs),
            sets=input_sets(task, turns),
        )
        self._executor.prepare()
        request = with_slots(request, self._executor.facts.arena_bytes)
        outcome = self._executor.measure(request, timeout_s=self._config.run_timeout_s)
        if outcome.fault is not None:
            raise UserError(f"the kernel failed on {shape}: {outcome.fault.message}")
        return typical_us(task, turns, outcome.candidate_us)

    def close(self) -> None:
        self._executor.close()
