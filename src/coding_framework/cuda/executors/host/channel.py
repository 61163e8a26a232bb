"""The judge's end of the pipes to a child: every read and write has a deadline and a bound.

Whatever arrives is data of unknown origin. A frame that is too long, not JSON, or without the token
of the request counts as nonsense from the candidate.
"""

from __future__ import annotations

import os
import select
import time
from typing import Any

from coding_framework.cuda.executors.host.exchange.protocol import (
    LENGTH,
    MAX_REPLY_BYTES,
    Request,
    pack_request,
    unpack_reply,
)
from coding_framework.cuda.sandbox.base import SandboxedProcess


class ChildFault(Exception):
    """The child did not answer as it should."""


class ChildEnded(ChildFault):
    """It ended, or closed its pipe."""


class ChildSilent(ChildFault):
    """It did not answer in time."""


class ChildNonsense(ChildFault):
    """It answered with something that is no answer."""


class Channel:
    """Requests out, replies in."""

    def __init__(self, process: SandboxedProcess) -> None:
        self._requests = process.stdin.fileno()
        self._replies = process.stdout.fileno()
        os.set_blocking(self._requests, False)

    def exchange(self, request: Request, deadline: float) -> dict[str, Any]:
        """Send it and wait for its answer; `deadline` is of `time.monotonic`."""
        self.send(request, deadline)
        reply = self.receive(deadline)
        if reply.get("token") != request.token:
            raise ChildNonsense("an answer that does not belong to the request")
        return reply

    def send(self, request: Request, deadline: float) -> None:
        view = memoryview(pack_request(request))
        while view:
            if not select.select([], [self._requests], [], _left(deadline))[1]:
                raise ChildSilent("it does not read what it is sent")
            try:
                view = view[os.write(self._requests, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise ChildEnded("it ended") from error

    def receive(self, deadline: float) -> dict[str, Any]:
        (length,) = LENGTH.unpack(self._read(LENGTH.size, deadline))
        if length > MAX_REPLY_BYTES:
            raise ChildNonsense("an answer that is far too long")
        try:
            return unpack_reply(self._read(length, deadline))
        except ValueError as error:
            raise ChildNonsense(f"an answer that cannot be read: {error}") from error

    def _read(self, length: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            if not select.select([self._replies], [], [], _left(deadline))[0]:
                raise ChildSilent("no answer in time")
            part = os.read(self._replies, length - len(parts))
            if not part:
                raise ChildEnded("it ended")
            parts += part
        return bytes(parts)


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
