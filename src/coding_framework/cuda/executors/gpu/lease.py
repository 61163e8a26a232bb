"""A lease on a GPU, across threads and processes of one machine.

Work of two processes on one GPU is served in turns, which spoils every timing: whoever times holds the
lease alone. Checks and verification are not timed and may share it with each other. The lock is on a
file and ends with its holder, however that ends.
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
    descriptor = os.open(_path(device_index), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _path(device_index: int) -> Path:
    """Devices are told apart as this process sees them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    name = "".join(char if char.isalnum() else "-" for char in f"{visible}-{device_index}")
    return Path(tempfile.gettempdir()) / f"coding-framework-gpu-{name}.lock"
