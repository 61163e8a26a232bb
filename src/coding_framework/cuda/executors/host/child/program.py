"""The program in the sandbox: takes a candidate in, calls it on sets of the exchange memory, says so.

It shares its process with code that nobody trusts, so it decides nothing. Whatever the candidate does
to this program (patched timers, forged answers, rewritten memory) can only make the child claim
something, and claims are checked from outside: outputs are read by the verifier, time is taken by the
judge. The original functions that it needs are bound before the candidate is loaded, which costs an
honest mistake its effect (a module that replaces `torch.cuda.synchronize`) and an attacker some work;
nothing relies on it.

Standard output is moved away first: what the candidate prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coding_framework.cuda.executors.host.child.clock import Clock, make_clock
from coding_framework.cuda.executors.host.child.instance import Instance, OpenArena, TensorFunctions
from coding_framework.cuda.executors.host.child.load import (
    CANDIDATE_FILE,
    Loaded,
    LoadProblem,
    load_candidate,
)
from coding_framework.cuda.executors.host.child.profile import ProfilingClock
from coding_framework.cuda.executors.host.child.single_thread import forbid_threads
from coding_framework.cuda.executors.host.exchange.arena import open_arena
from coding_framework.cuda.executors.host.exchange.layout import allowed_bytes
from coding_framework.cuda.executors.host.exchange.protocol import (
    LENGTH,
    Configure,
    Load,
    Open,
    Profile,
    Rehearse,
    Request,
    Run,
    Settle,
    cut,
    pack_reply,
)

Reply = dict[str, Any]
_FOLDERS = {"HOME", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}
"""Variables that name folders below the working folder, which only this process knows."""


def main() -> None:
    """Serve until the judge closes the pipe."""
    requests, replies = take_streams()
    settle()
    Child().serve(lambda: read_request(requests), lambda frame: write_all(replies, frame))


def take_streams() -> tuple[int, int]:
    """Descriptors of the judge's pipes, out of the way of whatever prints or reads."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return requests, replies


def settle() -> None:
    """Folders below the working one; full float32 (who wants less says so, and is caught by its errors)."""
    import torch

    for name in _FOLDERS & os.environ.keys():
        os.environ[name] = str(Path(os.environ[name]).resolve())
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)


def read_request(descriptor: int) -> Request | None:
    """The next request; None when the judge has closed the pipe."""
    header = _read_exactly(descriptor, LENGTH.size)
    if header is None:
        return None
    body = _read_exactly(descriptor, LENGTH.unpack(header)[0])
    return None if body is None else pickle.loads(body)


def _read_exactly(descriptor: int, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = os.read(descriptor, length - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, however small the pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Child:
    """One candidate and its instances, one for each shape."""

    def __init__(self) -> None:
        self._loaded: Loaded | None = None
        self._arenas: dict[str, OpenArena] = {}
        self._instances: dict[str, Instance] = {}
        self._device = "cpu"

    def serve(self, receive: Callable[[], Request | None], send: Callable[[bytes], None]) -> None:
        send(pack_reply({"ready": os.getpid()}))
        while (request := receive()) is not None:
            send(pack_reply({"token": request.token, **self.answer(request)}))

    def answer(self, request: Request) -> Reply:
        """What the request asks for, or what went wrong."""
        try:
            match request:
                case Open():
                    self._arenas[request.name] = OpenArena(open_arena(request.arena), request.layout)
                    return {}
                case Load():
                    return self._load(request)
                case Configure():
                    return self._configure(request)
                case Settle():
                    forbid_threads(programs=False)
                    return {}
                case Run():
                    return self._run(request)
                case Rehearse():
                    self._profiler = ProfilingClock(request.device)
                    return {"sees_kernels": self._profiler.rehearse()}
                case Profile():
                    return self._profile(request)
        except LoadProblem as problem:
            return {"problem": problem.kind, "words": cut(str(problem))}
        except Exception as error:
            return {"problem": "raised", "words": describe(error), "device_lost": self._device_lost()}

    def _load(self, request: Load) -> Reply:
        self._device = request.device
        clock, functions = make_clock(request.device), TensorFunctions.bound()
        if request.single_thread:
            limit_memory(request.device, max(memory.layout.set_bytes for memory in self._arenas.values()))
            forbid_threads(programs=request.contract == "module")
        self._loaded = load_candidate(request)
        self._clock: Clock = clock
        self._functions = functions
        return {}

    def _configure(self, request: Configure) -> Reply:
        assert self._loaded is not None
        self._instances[request.name] = Instance(
            self._loaded, self._arenas[request.name], request, self._device, self._functions
        )
        return {}

    def _run(self, request: Run) -> Reply:
        instance, clock = self._instances[request.name], self._clock
        problem = instance.call(request.set_index, request.flush_value, clock)
        if problem is not None:
            return {"problem": problem[0], "words": cut(problem[1])}
        return {"time_us": clock.elapsed_us(), "left_us": clock.left_us()}

    def _profile(self, request: Profile) -> Reply:
        instance, profiler = self._instances[request.name], self._profiler
        problem = instance.call(request.set_index, request.flush_value, profiler)
        if problem is not None:
            return {"problem": problem[0], "words": cut(problem[1])}
        return profiler.report()

    def _device_lost(self) -> bool:
        """Whether the CUDA context is beyond use."""
        if self._device == "cpu":
            return False
        import torch

        try:
            torch.cuda.synchronize()
        except Exception:
            return True
        return False


def limit_memory(device: str, set_bytes: int) -> None:
    """Of the device, through torch: who wants more fails by itself, and not the judge or its neighbours."""
    if device != "cpu":
        import torch

        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(allowed_bytes(set_bytes, total) / total)


def describe(error: Exception) -> str:
    """Type, message, and the candidate's own lines of the traceback."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(CANDIDATE_FILE)
    ]
    where = f" (line {own[-1].lineno} of the source)" if own else ""
    return cut(f"{type(error).__name__}: {error}{where}")


if __name__ == "__main__":
    main()
