"""What all sandboxes share: a plan for a request, handed to a supervisor; availability, asked once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

from coding_framework.cuda.sandbox.base import SandboxRequest, SandboxResult
from coding_framework.cuda.sandbox.held import HeldProcess
from coding_framework.cuda.sandbox.supervisor.plan import Plan


class HeldSandbox(ABC):
    """Everything of `Sandbox` but the plan and the reason why it cannot work here."""

    def why_unavailable(self) -> str | None:
        return self._problem

    def run(self, request: SandboxRequest, stdin: bytes = b"") -> SandboxResult:
        return HeldProcess(self._plan(request), request.files, request.limits.output_bytes, stdin).wait()

    def start(self, request: SandboxRequest) -> HeldProcess:
        return HeldProcess(self._plan(request), request.files, request.limits.output_bytes)

    @cached_property
    def _problem(self) -> str | None:
        return self._try()

    @abstractmethod
    def _try(self) -> str | None:
        """Why it cannot work here, in words; None if it can."""

    @abstractmethod
    def _plan(self, request: SandboxRequest) -> Plan:
        """What the supervisor is to do."""
