"""One child in its sandbox, from start to end: load, configure, run; its ends as values.

Guarantees: no call outlasts its limit, whatever the child does; `close` ends it with everything it
started (the sandbox sees to that). What a reply says is checked for form and believed for nothing.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, get_args

from coding_framework.cuda.executors.host.arguments import ForwardParameter, plan_arguments
from coding_framework.cuda.executors.host.channel import Channel, ChildFault, ChildNonsense
from coding_framework.cuda.executors.host.exchange.protocol import (
    Configure,
    Load,
    Open,
    Problem,
    Profile,
    Rehearse,
    Request,
    Run,
    Settle,
)
from coding_framework.cuda.executors.host.verifier.records import SetFill, ShapeFacts
from coding_framework.cuda.sandbox.base import Sandbox, SandboxRequest, SandboxResult
from coding_framework.errors import JudgeFault

_MAX_KERNEL_NAMES = 1000
_MAX_NAME = 200
_STDERR_TAIL = 1500
_NO_TIME_US = 1e15
"""More than any call takes; also keeps integers of any length from being taken for times."""


@dataclass(frozen=True)
class Program:
    """What a child is to load."""

    contract: Literal["extension", "module"]
    class_name: str = "ModelNew"
    source: str = ""
    shared_object: bytes = b""
    header: Literal["light", "full"] = "light"
    module_name: str = ""
    parameters: tuple[ForwardParameter, ...] = ()
    """Of an extension's `forward`."""
    is_trusted: bool = False
    """Whether it may start threads: the reference, compiled by torch, does."""


@dataclass(frozen=True)
class Claim:
    """What a child tells of one call, in microseconds."""

    time_us: float
    """Of the device, for the call."""
    left_us: float
    """From the call's end until nothing ran on the device."""


@dataclass(frozen=True)
class SeenKernels:
    """What a child tells of the device in one call."""

    time_us: dict[str, float]
    """By name."""
    early: str
    """One that ran beside the cache flush, if any: it did not wait for the stream it was called on."""


class CandidateProblem(Exception):
    """The child says what is wrong with its candidate."""

    def __init__(self, kind: Problem, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class ChildSession:
    """A child of the sandbox that is talked to."""

    def __init__(self, sandbox: Sandbox, request: SandboxRequest, *, start_timeout_s: float) -> None:
        self._process = sandbox.start(request)
        self._channel = Channel(self._process)
        self._result: SandboxResult | None = None
        self.sees_kernels = False
        """Whether a profiler is ready that sees kernels."""
        try:
            self._channel.receive(time.monotonic() + start_timeout_s)
            self._first_processes = self._count_processes()
        except ChildFault as fault:
            last_words = self.close().stderr.decode(errors="replace")[-_STDERR_TAIL:]
            raise type(fault)(f"{fault} before it was ready\n{last_words}") from None
        except BaseException:
            self.close()
            raise

    def open(self, name: str, facts: ShapeFacts, timeout_s: float) -> None:
        """Before the candidate is there, so that what fails is ours."""
        self._ask(Open(_token(), name, facts.arena, facts.layout), timeout_s)

    def rehearse(self, device: str, timeout_s: float) -> bool:
        """Get the profiler ready, before the candidate is there; False where it sees no kernels."""
        return self._ask(Rehearse(_token(), device), timeout_s).get("sees_kernels") is True

    def load(self, program: Program, device: str, timeout_s: float) -> None:
        self._ask(
            Load(
                token=_token(),
                contract=program.contract,
                class_name=program.class_name,
                source=program.source,
                shared_object=program.shared_object,
                header=program.header,
                module_name=program.module_name,
                device=device,
                single_thread=not program.is_trusted,
            ),
            timeout_s,
        )

    def configure(self, name: str, facts: ShapeFacts, program: Program, timeout_s: float) -> None:
        """Make the instance for a shape; an extension's arguments are planned for it."""
        request = Configure(
            token=_token(),
            name=name,
            init_inputs=facts.init_inputs,
            init_seed=facts.init_seed,
            arguments=plan_arguments(program.parameters, facts.layout.call, facts.init_values),
        )
        self._ask(request, timeout_s)

    def settle(self, timeout_s: float) -> None:
        """After the checks: no program is started any more, and none may be running."""
        self._ask(Settle(_token()), timeout_s)
        if self._count_processes() > self._first_processes:
            raise CandidateProblem("processes", "it leaves processes running beside itself")

    def _count_processes(self) -> int:
        try:
            return len(self._process.processes())
        except OSError as error:
            raise JudgeFault(f"the sandbox does not tell its processes: {error}") from error

    def freeze(self) -> None:
        self._process.freeze()

    def thaw(self) -> None:
        self._process.thaw()

    def run(self, name: str, fill: SetFill, timeout_s: float) -> Claim:
        """Call the candidate on this set; what the child claims of it."""
        reply = self._ask(Run(_token(), name, fill.index, fill.flush_value), timeout_s)
        claimed, left = reply.get("time_us"), reply.get("left_us")
        if not _is_time(claimed) or not _is_time(left):
            raise ChildNonsense("a time that is none")
        return Claim(float(claimed), float(left))

    def profile(self, name: str, fill: SetFill, timeout_s: float) -> SeenKernels:
        """Call the candidate on this set; what ran on the device, as the child tells it."""
        reply = self._ask(Profile(_token(), name, fill.index, fill.flush_value), timeout_s)
        kernels, early = reply.get("kernels"), reply.get("early")
        if reply.get("is_blind") is True and self.sees_kernels:
            raise JudgeFault("the profiler has not seen the cache flush before a call")
        if not isinstance(kernels, dict) or len(kernels) > _MAX_KERNEL_NAMES or not isinstance(early, str):
            raise ChildNonsense("a profile that is none")
        times = {_plain(name): float(value) for name, value in kernels.items() if _is_time(value)}
        return SeenKernels(times, _plain(early)[:_MAX_NAME])

    def close(self) -> SandboxResult:
        if self._result is None:
            self._result = self._process.close()
        return self._result

    def _ask(self, request: Request, timeout_s: float) -> dict[str, Any]:
        reply = self._channel.exchange(request, time.monotonic() + timeout_s)
        admitted = reply.get("problem")
        for problem in get_args(Problem):
            if problem == admitted:
                raise CandidateProblem(problem, _plain(reply.get("words", ""))[:4000])
        if admitted is not None:
            raise ChildNonsense("a problem that has no name")
        return reply


def _token() -> str:
    return secrets.token_hex(16)


def _is_time(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _NO_TIME_US


def _plain(text: object) -> str:
    """Without halves of characters, which no record can hold."""
    return str(text).encode(errors="replace").decode()
