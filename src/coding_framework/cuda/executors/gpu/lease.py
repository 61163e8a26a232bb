"""A lease on a GPU, across threads and processes of one machine.

Work of two processes on one GPU is served in turns, which spoils every timing: whoever times holds the
lease alone. Checks and verification are not timed and may share it with each other. The locks are on
files and end with their holder, however that ends.

Timings go first, one after the other: whoever waits to time holds the door, and those who would share
pass it only when nobody does. Otherwise the device would have to fall idle before every single timing.
Nobody starves, because everyone who times has to share the device before the next timing. For the same
reason a lease must not be asked for by someone who holds one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def gpu_lease(device_index: int, *, shared: bool = False) -> Iterator[None]:
    """Wait for the device and hold it: alone, or together with others that do not time."""
    with _opened(_path(device_index, "door")) as door, _opened(_path(device_index, "device")) as device:
        if shared:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(device, fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
        else:
            fcntl.flock(door, fcntl.LOCK_SH)
            fcntl.flock(device, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file's descriptor; closing it ends its locks."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _path(device_index: int, what: str) -> Path:
    """Devices are told apart as this process sees them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    name = "".join(char if char.isalnum() else "-" for char in f"{visible}-{device_index}-{what}")
    return Path(tempfile.gettempdir()) / f"coding-framework-gpu-{name}.lock"
