"""What a judge runs on: the emulator with a modelled clock, or a GPU with a real one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from coding_framework.config import JudgeConfig
from coding_framework.cuda.check_runner import CheckRunner
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.executors.base import Executor
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.gpu.harness_source import harness_source
from coding_framework.cuda.executors.isolated import EmulatorExecutor
from coding_framework.cuda.timers.base import Timer
from coding_framework.cuda.timers.modelled import ModelledTimer
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.errors import ConfigError, JudgeFault, NotAvailableError

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Backend:
    """An executor with the timer that fits it."""

    executor: Executor
    runner: CheckRunner
    timer: Timer
    close: Callable[[], None]
    release: Callable[[], None]
    """Give back the memory of a GPU that is kept for the next kernel."""
    total_timeout_s: float
    """Limit of all runs of one candidate by the clock on the wall. A device that others use as well has none:
    its executor limits the runs themselves, and waiting for one's turn is nobody's fault."""


def choose_executor(config: JudgeConfig) -> str:
    """`emulator` or `gpu`; raises where the one that was named is not there."""
    if config.executor == "emulator":
        return "emulator"
    _, gpus, reason = find_gpus()
    if config.gpu_index < len(gpus):
        return "gpu"
    if config.executor == "auto" and config.gpu_indices is None:
        _log.info("no_gpu", reason=reason, taken="emulator: times are modelled")
        return "emulator"
    raise NotAvailableError(
        f"the judge is to use GPU {config.gpu_index}, which is not here "
        f"({reason or f'there are {len(gpus)}'}): use judge.executor=emulator, or `auto` without "
        "judge.gpu_indices to take the GPU only where there is one"
    )


def open_backend(config: JudgeConfig, compiler: CUDACompiler, device: DeviceModel = H200) -> Backend:
    """Everything a judge needs to run and time candidates."""
    if choose_executor(config) == "gpu":
        return _gpu_backend(config, compiler)
    executor = EmulatorExecutor(
        memory_limit_bytes=config.run_memory_bytes, strict_memory_model=config.strict_memory_model
    )
    runner = CheckRunner(config, executor, run_timeout_s=config.run_timeout_s)
    timer = ModelledTimer(config, runner, compiler, device)
    return Backend(executor, runner, timer, executor.close, _nothing, config.total_timeout_s)


def _gpu_backend(config: JudgeConfig, compiler: CUDACompiler) -> Backend:
    from coding_framework.cuda.executors.gpu.executor import GpuExecutor, GpuVerifier
    from coding_framework.cuda.executors.gpu.lease import gpu_lease
    from coding_framework.cuda.timers.measured import MeasuredTimer

    _require_fitting_architecture(config, compiler)
    cubin = compile_harness(compiler)
    executor = GpuExecutor(device_index=config.gpu_index, harness_cubin=cubin)
    verifier = GpuVerifier(config.gpu_index)
    runner = CheckRunner(config, executor, run_timeout_s=config.gpu_run_timeout_s)

    def close() -> None:
        executor.close()
        verifier.close()

    def release() -> None:
        if executor.holds_memory:
            with gpu_lease(config.gpu_index, shared=True):
                verifier.release()  # first: it has the executor's memory open
                executor.release()

    timer = MeasuredTimer(config, executor, verifier, compiler, cubin)
    return Backend(executor, runner, timer, close, release, total_timeout_s=math.inf)


def _nothing() -> None:
    """An emulator holds no memory of a GPU."""


def compile_harness(compiler: CUDACompiler) -> bytes:
    """The judge's own kernels as a binary."""
    harness = compiler.compile(harness_source())
    if not harness.success or harness.binary_path is None:
        raise JudgeFault(f"the judge's own kernels do not compile: {harness.errors}")
    return harness.binary_path.read_bytes()


def _require_fitting_architecture(config: JudgeConfig, compiler: CUDACompiler) -> None:
    gpu = find_gpus()[1][config.gpu_index]
    if compiler.architecture.rstrip("af") != gpu.architecture:
        raise ConfigError(
            f"judge.architecture is {compiler.architecture} but GPU {config.gpu_index} ({gpu.name}) is "
            f"{gpu.architecture}: set it to `auto`"
        )
