"""The emulator in a process of its own, with limits: what the judge uses.

Guarantee: whatever a kernel makes the emulator do, its run comes back as an outcome. A kernel that eats
the process's memory, ends the process or trips over something the emulator cannot read has failed,
because a fault of ours would spare it a verdict. Every such event is logged, so that a gap in the
emulator is seen. Exceptions are left for what no kernel can cause: a process that cannot be started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import TracebackType

import structlog

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.worker import Worker
from coding_framework.errors import (
    JudgeFault,
    WorkerDied,
    WorkerNotStarted,
    WorkerOutOfMemory,
    WorkerRaised,
    WorkerTimeout,
)

_log = structlog.get_logger(__name__)

_MAX_REASON_CHARS = 300
_EXECUTE = "coding_framework.cuda.executors.emulator.execute:execute"


class EmulatorExecutor:
    """Runs PTX on the CPU. Only inputs cross into the worker; it never sees an expected output."""

    def __init__(self, *, memory_limit_bytes: int, strict_memory_model: bool = True) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        self._strict_memory_model = strict_memory_model
        self._worker = Worker(memory_limit_bytes=memory_limit_bytes, name="emulator")

    def run(self, request: ExecutionRequest, *, timeout_s: float) -> ExecutionOutcome:
        """One run; a kernel that does not end in time, or takes the emulator down, is at fault."""
        request = replace(request, strict_memory_model=self._strict_memory_model)
        try:
            outcome: ExecutionOutcome = self._worker.insist(_EXECUTE, request, timeout_s=timeout_s)
        except WorkerTimeout:
            return _failed(
                FaultKind.TIMEOUT,
                f"the kernel did not finish within {timeout_s:g} s; look for a loop that never ends "
                "or far too much work for each thread",
            )
        except WorkerNotStarted:
            raise
        except WorkerOutOfMemory as error:
            _warn(error)
            limit_gib = self._memory_limit_bytes / 2**30
            return _failed(
                FaultKind.CRASHED,
                f"running the kernel needs more memory than the limit of {limit_gib:.1f} GiB",
            )
        except WorkerDied as error:
            _warn(error)
            return _failed(FaultKind.CRASHED, "the kernel ended the process that ran it, twice")
        except WorkerRaised as error:
            _warn(error)
            return _failed(
                FaultKind.UNSUPPORTED,
                "the emulator cannot run this kernel's PTX: it does something that is not supported; "
                "inline assembly is the usual cause",
            )
        return outcome

    def run_many(
        self, requests: Iterable[ExecutionRequest], *, timeout_s: float
    ) -> Iterator[ExecutionOutcome]:
        """Each when it is asked for, so that nothing runs behind a failure."""
        for request in requests:
            yield self.run(request, timeout_s=timeout_s)

    def close(self) -> None:
        self._worker.close()

    def __enter__(self) -> EmulatorExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _failed(kind: FaultKind, message: str) -> ExecutionOutcome:
    return ExecutionOutcome(fault=ExecutionFault(kind=kind, message=message), buffers={}, counters=())


def _warn(error: JudgeFault) -> None:
    """The last line of a traceback that is not indented says what was raised."""
    lines = [line for line in str(error).splitlines() if line and not line[0].isspace()]
    reason = lines[-1][:_MAX_REASON_CHARS] if lines else ""
    _log.warning("emulator_failed", kind=type(error).__name__, reason=reason)
