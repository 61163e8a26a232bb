"""The emulator in a process of its own, with limits: what the judge uses."""

from __future__ import annotations

from types import TracebackType

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.worker import Worker
from coding_framework.errors import WorkerTimeout

_EXECUTE = "coding_framework.cuda.executors.emulator:execute"


class EmulatorExecutor:
    """Runs PTX on the CPU. Only inputs cross into the worker; it never sees an expected output."""

    def __init__(self, *, memory_limit_bytes: int) -> None:
        self._worker = Worker(memory_limit_bytes=memory_limit_bytes, name="emulator")

    def run(self, request: ExecutionRequest, *, timeout_s: float) -> ExecutionOutcome:
        """One run; a kernel that does not end in time is a fault of the kernel."""
        try:
            outcome: ExecutionOutcome = self._worker.call(_EXECUTE, request, timeout_s=timeout_s)
        except WorkerTimeout:
            fault = ExecutionFault(
                kind=FaultKind.TIMEOUT,
                message=f"the kernel did not finish within {timeout_s:g} s; look for a loop that never ends "
                "or far too much work for each thread",
            )
            return ExecutionOutcome(fault=fault, buffers={}, counters=())
        return outcome

    def close(self) -> None:
        self._worker.close()

    def __enter__(self) -> EmulatorExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
