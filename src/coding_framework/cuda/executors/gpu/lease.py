"""Leases on a GPU, across threads and processes of one machine: its time, and its memory.

Work of two processes on one GPU is served in turns, which spoils every timing: whoever times holds the
lease alone. Checks and verification are not timed and may share it with each other. The locks are on
files and end with their holder, however that ends.

Timings go first, one after the other: whoever waits to time holds the door, and those who would share
pass it only when nobody does. Otherwise the device would have to fall idle before every single timing.
Nobody starves, because everyone who times has to share the device before the next timing. For the same
reason a lease must not be asked for by someone who holds one.

Its memory is leased likewise, for a whole judgement: everybody shares it, and whoever failed because there
was too little waits until nobody else is there. This lease is taken before the other one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES = 10
_BETWEEN_TRIES_S = 0.02
"""How long a door that others pass may be shut."""


@contextmanager
def gpu_lease(device_index: int, *, shared: bool = False) -> Iterator[None]:
    """Wait for the device and hold it: alone, or together with others that do not time."""
    with _opened(device_index, "door") as door, _opened(device_index, "device") as device:
        if shared:
            fcntl.flock(door, fcntl.LOCK_EX)
            _pass_door(door, device)
        else:
            _hold_alone(door, device)
        yield


@contextmanager
def gpu_room(device_index: int, *, before_waiting: Callable[[], None]) -> Iterator[None]:
    """Share the device's memory; whoever has to wait for that gives back what it has, before."""
    with _opened(device_index, "room-door") as door, _opened(device_index, "room") as room:
        if not _is_open(door):
            before_waiting()
            fcntl.flock(door, fcntl.LOCK_EX)
        _pass_door(door, room)
        yield


@contextmanager
def gpu_room_alone(device_index: int) -> Iterator[None]:
    """Wait until nobody else has a share of the device's memory."""
    with _opened(device_index, "room-door") as door, _opened(device_index, "room") as room:
        _hold_alone(door, room)
        yield


def _pass_door(door: int, thing: int) -> None:
    """With the door held: share the thing, and let go of the door."""
    fcntl.flock(thing, fcntl.LOCK_SH)
    fcntl.flock(door, fcntl.LOCK_UN)


def _hold_alone(door: int, thing: int) -> None:
    """Keep the door until the end, so that nobody new comes in."""
    fcntl.flock(door, fcntl.LOCK_SH)
    fcntl.flock(thing, fcntl.LOCK_EX)


def _is_open(door: int) -> bool:
    """Whether the door could be taken, allowing for those who pass it at this moment."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_BETWEEN_TRIES_S)
    return False


@contextmanager
def _opened(device_index: int, what: str) -> Iterator[int]:
    """The descriptor of a lock's file; closing it ends the lock."""
    path = machine_path(device_index, f"{what}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def machine_path(device_index: int, what: str) -> Path:
    """A file for all processes of this machine; devices are told apart as this process sees them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    device = "".join(char if char.isalnum() else "-" for char in f"{visible}-{device_index}")
    return Path(tempfile.gettempdir()) / f"coding-framework-gpu-{device}-{what}"
