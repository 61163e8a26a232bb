"""CUDA IPC handles as bytes, so that they can cross a pipe."""

from __future__ import annotations

import ctypes
from typing import Any

from coding_framework.errors import JudgeFault

HANDLE_BYTES = 64


def handle_bytes(handle: Any) -> bytes:
    """The driver's opaque structure as bytes. By address: only some versions of the binding have a field."""
    return ctypes.string_at(int(handle.getPtr()), HANDLE_BYTES)


def set_handle_bytes(handle: Any, content: bytes) -> None:
    """The other way around."""
    if len(content) != HANDLE_BYTES:
        raise JudgeFault(f"a CUDA IPC handle has {HANDLE_BYTES} bytes, not {len(content)}")
    ctypes.memmove(int(handle.getPtr()), content, HANDLE_BYTES)
