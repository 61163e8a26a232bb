"""The C structures that cross between a light extension and the process that loaded it.

They mirror `include/cf_abi.h` field by field; `ABI_VERSION` is raised when either side changes, and a
shared object of another version is refused when it is loaded. Nothing here knows of torch.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

ABI_VERSION = 1
MAX_DIMS = 16
ERROR_BYTES = 4096

I32, I64 = ctypes.c_int32, ctypes.c_int64


class Tag(IntEnum):
    """What a `ValueStruct` holds."""

    NONE = 0
    TENSOR = 1
    INT = 2
    DOUBLE = 3
    BOOL = 4
    STRING = 5
    INT_LIST = 6
    DOUBLE_LIST = 7
    TENSOR_LIST = 8
    DTYPE = 9
    DEVICE = 10
    MEMORY_FORMAT = 11
    VALUE_LIST = 12
    """A tuple of values of any kind."""


class TensorStruct(ctypes.Structure):
    """One tensor as C++ sees it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("owner", I64),
        ("sizes", I64 * MAX_DIMS),
        ("strides", I64 * MAX_DIMS),
        ("dims", I32),
        ("dtype", I32),
        ("device_type", I32),
        ("device_index", I32),
    ]


class ValueStruct(ctypes.Structure):
    """A tagged value; `integer` also carries owners of tensors, dtype codes and devices."""

    _fields_ = [
        ("tag", I32),
        ("count", I32),
        ("keyword", ctypes.c_char_p),
        ("integer", I64),
        ("real", ctypes.c_double),
        ("pointer", ctypes.c_void_p),
    ]


class AnswerStruct(ctypes.Structure):
    """Where the host puts the outcome of an operation: tensors, or one number."""

    _fields_ = [
        ("tensors", ctypes.POINTER(TensorStruct)),
        ("capacity", I32),
        ("count", I32),
        ("scalar", ValueStruct),
        ("error", ctypes.c_char * ERROR_BYTES),
    ]


CALL_OP = ctypes.CFUNCTYPE(
    I32, ctypes.c_char_p, ctypes.POINTER(ValueStruct), I32, ctypes.POINTER(AnswerStruct)
)
CURRENT_STREAM = ctypes.CFUNCTYPE(ctypes.c_void_p, I32)
RELEASE = ctypes.CFUNCTYPE(None, I64)


class HostStruct(ctypes.Structure):
    """What the host gives an extension when it is loaded."""

    _fields_ = [
        ("abi_version", I32),
        ("call_op", CALL_OP),
        ("current_stream", CURRENT_STREAM),
        ("release", RELEASE),
        ("native_empty", ctypes.c_void_p),
        ("native_release", ctypes.c_void_p),
        ("native_data_pointer", ctypes.c_void_p),
        ("native_zero", ctypes.c_void_p),
    ]


class CallStruct(ctypes.Structure):
    """One call of an exported function."""

    _fields_ = [
        ("function", ctypes.c_char_p),
        ("arguments", ctypes.POINTER(ValueStruct)),
        ("count", I32),
        ("result", ValueStruct),
        ("keep_alive", ctypes.c_void_p),
        ("error", ctypes.c_char * ERROR_BYTES),
    ]


def write_error(target: Any, message: str) -> None:
    """Cut to what fits, always ended by a zero."""
    target.error = message.encode(errors="replace")[: ERROR_BYTES - 1]
