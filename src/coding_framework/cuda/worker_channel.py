"""Messages between a worker and its parent: pickles whose arrays travel beside them, uncopied.

A message is a header (number of parts, then the length of each, as unsigned 64-bit integers), one
pickle, and the raw buffers that the pickle refers to. Both ends are our own code: a channel carries
data across a process boundary, it is no defence against a hostile peer.
"""

from __future__ import annotations

import pickle
import socket
import struct
import time
from enum import StrEnum
from typing import Any

_COUNT = struct.Struct("<Q")


class AnswerKind(StrEnum):
    """What the first element of an answer says about the second."""

    READY = "ready"
    VALUE = "value"
    RAISED = "raised"
    NOT_CALLED = "not_called"
    """What was to be called is not there: nothing that it was asked about has been seen."""
    OUT_OF_MEMORY = "out_of_memory"


class ChannelClosed(Exception):
    """The other end went away in the middle of a message or before one."""


def send_message(connection: socket.socket, value: object, deadline: float | None = None) -> None:
    """Write one message; raises TimeoutError at `deadline` (of `time.monotonic`)."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    header = _COUNT.pack(len(parts)) + b"".join(_COUNT.pack(part.nbytes) for part in parts)
    try:
        for part in (memoryview(header), *parts):
            connection.settimeout(_remaining(deadline))
            connection.sendall(part)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise ChannelClosed from error


def receive_message(connection: socket.socket, deadline: float | None = None) -> Any:
    """Read one message; arrays in it are writable."""
    (count,) = _COUNT.unpack(_receive_exactly(connection, _COUNT.size, deadline))
    header = _receive_exactly(connection, _COUNT.size * count, deadline)
    lengths = [_COUNT.unpack_from(header, _COUNT.size * index)[0] for index in range(count)]
    body, *buffers = [_receive_exactly(connection, length, deadline) for length in lengths]
    return pickle.loads(body, buffers=buffers)


def _receive_exactly(connection: socket.socket, length: int, deadline: float | None) -> bytearray:
    buffer = bytearray(length)
    view, filled = memoryview(buffer), 0
    while filled < length:
        connection.settimeout(_remaining(deadline))
        try:
            received = connection.recv_into(view[filled:])
        except ConnectionResetError as error:
            raise ChannelClosed from error
        if received == 0:
            raise ChannelClosed
        filled += received
    return buffer


def _remaining(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
