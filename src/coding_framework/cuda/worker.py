"""A process of ours that runs named functions under a time and a memory limit.

Guarantees: a call ends by its deadline (the whole process group is killed), a crash costs one call,
stray prints cannot corrupt an answer, and the process ends with its parent, however that ends. It
works in a Ray actor, in a notebook and in a thread pool, because the child is started by name and
not forked. It is a *limit*, not a sandbox: the child has its user's rights.

The memory limit is on address space, so that it also holds for what is reserved: NVRTC needs about
a sixth of a gigabyte of it for itself. None sets no limit: a CUDA context reserves far more address
space than it uses.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from coding_framework.cuda.worker_channel import AnswerKind, ChannelClosed, receive_message, send_message
from coding_framework.cuda.worker_process import Child, describe, end, looks_like_memory, start
from coding_framework.errors import (
    WorkerDied,
    WorkerNotStarted,
    WorkerOutOfMemory,
    WorkerRaised,
    WorkerTimeout,
)

Answer = TypeVar("Answer")

_START_TIMEOUT_S = 60.0
_GRACE_S = 2.0


def once_more(ask: Callable[[], Answer]) -> Answer:
    """A first death may have come from outside: a fresh process is asked once more.

    A second one is what was asked, and is raised; so are at once the limits, and a process that does not
    start.
    """
    try:
        return ask()
    except (WorkerNotStarted, WorkerOutOfMemory):
        raise
    except WorkerDied:
        return ask()


class Worker:
    """A subprocess of ours that runs named functions with a time and memory limit; replaced when it dies."""

    def __init__(self, *, memory_limit_bytes: int | None, name: str = "worker") -> None:
        self._memory_limit_bytes = memory_limit_bytes
        self._name = name
        self._lock = threading.Lock()
        self._child: Child | None = None

    def call(self, function: str, *args: object, timeout_s: float) -> Any:
        """Run `package.module:function` in the worker; starts it if need be. One call at a time."""
        with self._lock:
            child = self._running_child()
            try:
                kind, value = self._exchange(child, (function, args), timeout_s)
            except TimeoutError:
                self._discard()
                raise WorkerTimeout(f"{self._name}: {function} took over {timeout_s:g} s") from None
            except ChannelClosed:
                raise self._explain_death(function) from None
            except BaseException:  # Ctrl-C, or arguments that do not pickle: the channel is in doubt
                self._discard()
                raise
            return self._open_answer(kind, value, function)

    def insist(self, function: str, *args: object, timeout_s: float) -> Any:
        """Like `call`, but not ended by a first death (`once_more`)."""
        return once_more(lambda: self.call(function, *args, timeout_s=timeout_s))

    def close(self) -> None:
        """End the process; a later call would start a new one."""
        with self._lock:
            self._discard(graceful=True)

    def kill(self) -> None:
        """End the process at once, whatever it is at."""
        with self._lock:
            self._discard()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # interpreter shutdown takes modules away
            self._discard()

    def _exchange(self, child: Child, request: object, timeout_s: float) -> tuple[AnswerKind, Any]:
        deadline = time.monotonic() + timeout_s
        os.ftruncate(child.stderr.fileno(), 0)
        send_message(child.connection, request, deadline)
        answer: tuple[AnswerKind, Any] = receive_message(child.connection, deadline)
        return answer

    def _open_answer(self, kind: AnswerKind, value: Any, function: str) -> Any:
        if kind is AnswerKind.OUT_OF_MEMORY:
            self._discard()
            raise WorkerOutOfMemory(self._memory_message(function))
        if kind is AnswerKind.NOT_CALLED:
            raise WorkerNotStarted(f"{self._name}: {function} cannot be called\n{value}")
        if kind is AnswerKind.RAISED:
            raise WorkerRaised(f"{self._name}: {function} raised\n{value}")
        return value

    def _memory_message(self, function: str) -> str:
        if self._memory_limit_bytes is None:
            return f"{self._name}: {function} ran out of memory"
        limit_gib = self._memory_limit_bytes / 2**30
        return f"{self._name}: {function} ran into the memory limit of {limit_gib:.1f} GiB"

    def _running_child(self) -> Child:
        if self._child is not None and self._child.owner_pid != os.getpid():
            self._child = None  # we are a fork; the process belongs to our parent
        if self._child is not None and self._child.process.poll() is not None:
            self._discard()
        if self._child is None:
            try:
                self._child = start(self._memory_limit_bytes)
                self._await_ready(self._child)
            except WorkerDied as error:
                raise WorkerNotStarted(str(error)) from error
        return self._child

    def _await_ready(self, child: Child) -> None:
        try:
            receive_message(child.connection, time.monotonic() + _START_TIMEOUT_S)
        except ChannelClosed:
            raise self._explain_death("start") from None
        except BaseException as error:
            self._discard()
            if isinstance(error, TimeoutError):
                raise WorkerDied(f"{self._name}: not ready within {_START_TIMEOUT_S:g} s") from None
            raise

    def _explain_death(self, function: str) -> WorkerDied:
        child, self._child = self._child, None
        assert child is not None
        death = end(child, grace_s=_GRACE_S)
        if looks_like_memory(death, self._memory_limit_bytes):
            return WorkerOutOfMemory(self._memory_message(function))
        return WorkerDied(f"{self._name}: {function}: {describe(death)}")

    def _discard(self, graceful: bool = False) -> None:
        child, self._child = self._child, None
        if child is not None and child.owner_pid == os.getpid():
            end(child, grace_s=_GRACE_S if graceful else 0.0)
