"""The child's side of `worker.py`: limits itself, then answers calls until its parent closes the channel.

Started as `python -m coding_framework.cuda.worker_main CHANNEL LIFELINE MEMORY_LIMIT`. Imports
nothing heavy before it is asked to, so that a replacement is there in a few hundredths of a second.

The lifeline is a pipe that never carries a byte: the kernel signals this process group as soon as
the last writer is gone, even while native code holds the interpreter. `PR_SET_PDEATHSIG` would not
do: it fires when the *thread* that started the child ends, and callers come from thread pools.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from coding_framework.cuda.worker_channel import AnswerKind, ChannelClosed, receive_message, send_message

PACKAGE = "coding_framework"
_MALLOC = {-8: 1, -3: 32 * 2**20, -2: 64 * 2**20, -1: 2**30}
"""glibc's M_ARENA_MAX, M_MMAP_THRESHOLD, M_TOP_PAD and M_TRIM_THRESHOLD, as `<malloc.h>` numbers them.

Larger thresholds than 32 MiB are refused."""


def main() -> None:
    channel, lifeline, memory_limit_bytes = (int(argument) for argument in sys.argv[1:4])
    end_with_parent(lifeline)
    limit_resources(memory_limit_bytes)
    keep_freed_memory()
    os.set_inheritable(channel, False)
    with socket.socket(fileno=channel) as connection:
        serve(connection)


def end_with_parent(lifeline: int) -> None:
    """Have the kernel kill our process group when the parent's end of the lifeline closes."""
    os.set_inheritable(lifeline, False)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # the parent was gone before we asked
        os._exit(1)


def limit_resources(memory_limit_bytes: int) -> None:
    """No more address space than given (0: as it is), and no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not memory_limit_bytes:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory_limit_bytes if hard == resource.RLIM_INFINITY else min(memory_limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def keep_freed_memory() -> None:
    """A worker does the same thing again and again: what it freed it will need at once.

    By default glibc gives large pieces back to the system, which then hands them out page by page: 1,450
    page faults in every compilation, 4 % of its time, which become 40. Other C libraries are left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in _MALLOC.items():
            mallopt(option, value)


def serve(connection: socket.socket) -> None:
    """Answer calls one after the other until the channel closes.

    Arguments that do not fit in memory end the process: half a message cannot be skipped.
    """
    send_message(connection, (AnswerKind.READY, None))
    while True:
        try:
            function, arguments = receive_message(connection)
        except ChannelClosed:
            return
        send_answer(connection, answer(function, arguments))


def answer(function: str, arguments: tuple[object, ...]) -> tuple[AnswerKind, Any]:
    """Call `function` and say how it ended."""
    try:
        called = resolve(function)
    except MemoryError:
        return AnswerKind.OUT_OF_MEMORY, function
    except Exception:
        return AnswerKind.NOT_CALLED, traceback.format_exc()
    try:
        return AnswerKind.VALUE, called(*arguments)
    except MemoryError:
        return AnswerKind.OUT_OF_MEMORY, function
    except BaseException:
        return AnswerKind.RAISED, traceback.format_exc()


def send_answer(connection: socket.socket, result: tuple[AnswerKind, Any]) -> None:
    """Send it, or say why it cannot be sent."""
    try:
        send_message(connection, result)
    except ChannelClosed:
        raise
    except MemoryError:
        send_message(connection, (AnswerKind.OUT_OF_MEMORY, "the answer does not fit"))
    except Exception:  # pickling failed before the first byte was written
        send_message(connection, (AnswerKind.RAISED, traceback.format_exc()))


def resolve(function: str) -> Callable[..., Any]:
    """`package.module:function`, inside this package only."""
    module_name, _, name = function.partition(":")
    if module_name.partition(".")[0] != PACKAGE or not name.isidentifier():
        raise ValueError(f"'{function}' is not of the form {PACKAGE}.module:function")
    found = getattr(importlib.import_module(module_name), name)
    if not callable(found):
        raise TypeError(f"'{function}' is not a function")
    return found  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
