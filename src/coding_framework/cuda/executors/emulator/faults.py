"""A kernel's fault on its way from the lane that met it to the caller."""

from __future__ import annotations

from coding_framework.cuda.executors.base import ExecutionFault, FaultKind


class KernelFault(Exception):
    """Raised inside the machine, turned into an `ExecutionFault` value at the door."""

    def __init__(
        self, kind: FaultKind, message: str, line: int | None = None, other_line: int | None = None
    ) -> None:
        super().__init__(message)
        self.fault = ExecutionFault(kind, message, line, other_line)
