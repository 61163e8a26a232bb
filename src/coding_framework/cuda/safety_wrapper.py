"""Where host code runs: the strongest sandbox that works on this machine, chosen once and said aloud.

Guaranteed: a sandbox that is named is used or refused, never replaced in silence; `auto` takes Docker
where an engine answers and has the image, else bubblewrap, else the plain process, and logs why the
better ones were passed over. There is no fourth way: where none works, host code is not run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import structlog

from coding_framework.config.tree import JudgeConfig
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.cuda.sandbox.base import Sandbox, SandboxedProcess, SandboxRequest, SandboxResult
from coding_framework.cuda.sandbox.bubblewrap import BubblewrapSandbox
from coding_framework.cuda.sandbox.docker import DockerSandbox
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.errors import NotAvailableError
from coding_framework.records.base import Record

__all__ = [
    "DockerSandbox",
    "SafetyWrapper",
    "SandboxDescription",
    "SecurityValidator",
    "describe_sandboxes",
]

log = structlog.get_logger(__name__)

SANDBOXES: dict[str, Callable[[JudgeConfig], Sandbox]] = {
    "docker": lambda config: DockerSandbox(config.docker_image),
    "bubblewrap": lambda config: BubblewrapSandbox(),
    "process": lambda config: ProcessSandbox(),
}
"""Best first."""

WALLS = {
    "user": "with namespaces of its own",
    "root": "with namespaces of its own, as root",
    "none": "without namespaces: Landlock and seccomp alone",
}


class SandboxDescription(Record):
    """Whether one sandbox works here."""

    name: str
    """As `judge.sandbox` names it."""
    available: bool
    """Whether a first program ran in it."""
    reason: str
    """What it offers here, or what is missing and what to do."""


class SafetyWrapper:
    """Runs programs that nobody trusts, in the sandbox that the configuration asks for."""

    def __init__(self, config: JudgeConfig | None = None) -> None:
        self._config = config or JudgeConfig()
        self._reasons: dict[str, str] = {}

    @cached_property
    def sandbox(self) -> Sandbox:
        """The chosen one; chosen at first use."""
        return self.choose()

    @property
    def reasons(self) -> tuple[SandboxDescription, ...]:
        """Why better ones were passed over."""
        _ = self.sandbox
        return tuple(
            SandboxDescription(name=name, available=False, reason=reason)
            for name, reason in self._reasons.items()
        )

    def choose(self) -> Sandbox:
        """The first that works, of those that the configuration allows, said aloud."""
        chosen = self.require()
        self._announce(chosen)
        return chosen

    def require(self) -> Sandbox:
        """The same in silence; raises `NotAvailableError` where none works."""
        wanted = self._config.sandbox
        groups = {"auto": list(SANDBOXES), "no_docker": [name for name in SANDBOXES if name != "docker"]}
        names = groups.get(wanted, [wanted])
        self._reasons = {}
        for name in names:
            candidate = SANDBOXES[name](self._config)
            problem = candidate.why_unavailable()
            if problem is None:
                return candidate
            self._reasons[name] = problem
        raise NotAvailableError(f"no sandbox for host code: {self._passed_over()}")

    def run(self, request: SandboxRequest, stdin: bytes = b"") -> SandboxResult:
        """Start it, feed it, wait for its end or its limits."""
        return self.sandbox.run(request, stdin)

    def start(self, request: SandboxRequest) -> SandboxedProcess:
        """Start it and keep it."""
        return self.sandbox.start(request)

    def _announce(self, chosen: Sandbox) -> None:
        say = log.warning if self._reasons else log.info
        say("sandbox_chosen", sandbox=chosen.name, passed_over=self._passed_over())

    def _passed_over(self) -> str:
        return "; ".join(f"{name}: {reason}" for name, reason in self._reasons.items())


def describe_sandboxes(config: JudgeConfig | None = None) -> tuple[SandboxDescription, ...]:
    """Each one tried for real, best first."""
    return tuple(_describe(make(config or JudgeConfig())) for make in SANDBOXES.values())


def _describe(sandbox: Sandbox) -> SandboxDescription:
    problem = sandbox.why_unavailable()
    reason = problem or "works"
    if problem is None and isinstance(sandbox, ProcessSandbox):
        reason = f"works, {WALLS[sandbox.isolation]}"
    return SandboxDescription(name=sandbox.name, available=problem is None, reason=reason)
