"""Python values to C structures and back, and the callbacks behind an extension's library calls.

References are counted: a tensor that goes to C++ carries one reference, which C++ gives back through
`release`. An exception cannot cross C, so callbacks turn it into a text that C++ throws again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

from coding_framework.cuda.extension import abi
from coding_framework.cuda.extension.abi import Tag, TensorStruct, ValueStruct
from coding_framework.cuda.extension.tensor_backend import (
    Device,
    DType,
    ExtensionCallError,
    MemoryFormat,
    TensorBackend,
    TensorHandle,
)


def fill_record(record: Any, handle: TensorHandle) -> None:
    """Write a handle into a `TensorStruct`."""
    dims = len(handle.sizes)
    if dims > abi.MAX_DIMS:
        raise ExtensionCallError(f"a tensor of {dims} dimensions; extensions take {abi.MAX_DIMS} at most")
    record.data, record.owner, record.dims = handle.data, handle.owner, dims
    record.sizes[:dims], record.strides[:dims] = handle.sizes, handle.strides
    record.dtype = handle.dtype
    record.device_type, record.device_index = handle.device_type, handle.device_index


def write_scalar(value: Any, number: object) -> bool:
    """Write a number or a type into a `ValueStruct`; False for anything else."""
    if isinstance(number, bool):
        value.tag, value.integer = Tag.BOOL, number
    elif isinstance(number, int):
        value.tag, value.integer = Tag.INT, number
    elif isinstance(number, float):
        value.tag, value.real = Tag.DOUBLE, number
    elif isinstance(number, DType):
        value.tag, value.integer = Tag.DTYPE, number.code
    else:
        return False
    return True


class Arguments:
    """The arguments of one call; keeps alive what the C values point into."""

    def __init__(self, backend: TensorBackend, args: Sequence[object]) -> None:
        self._backend = backend
        self._kept: list[object] = []
        self._acquired: list[int] = []
        self.values = (ValueStruct * max(1, len(args)))()
        try:
            for value, argument in zip(self.values, args, strict=False):
                self._write(value, argument)
        except BaseException:
            for owner in self._acquired:
                backend.release(owner)
            raise

    def _write(self, value: Any, argument: object) -> None:
        if self._backend.is_tensor(argument):  # the usual case first: this runs before every launch
            self._write_tensors(value, Tag.TENSOR, [argument])
        elif argument is None:
            value.tag = Tag.NONE
        elif isinstance(argument, str):
            self._point(value, Tag.STRING, ctypes.create_string_buffer(argument.encode()), 0)
        elif _is_sequence(argument):
            self._write_list(value, list(cast(Any, argument)))
        elif not write_scalar(value, argument):
            raise ExtensionCallError(f"an extension takes no argument of type {type(argument).__name__}")

    def _write_list(self, value: Any, items: Sequence[object]) -> None:
        if items and all(self._backend.is_tensor(item) for item in items):
            self._write_tensors(value, Tag.TENSOR_LIST, items)
        elif all(isinstance(item, int) for item in items):
            self._point(value, Tag.INT_LIST, (ctypes.c_int64 * len(items))(*cast(Any, items)), len(items))
        elif all(isinstance(item, (int, float)) for item in items):
            self._point(value, Tag.DOUBLE_LIST, (ctypes.c_double * len(items))(*cast(Any, items)), len(items))
        else:
            raise ExtensionCallError("a list argument holds tensors alone, or numbers alone")

    def _write_tensors(self, value: Any, tag: Tag, tensors: Sequence[object]) -> None:
        records = (TensorStruct * len(tensors))()
        for record, tensor in zip(records, tensors, strict=True):
            handle = self._backend.acquire(tensor)
            self._acquired.append(handle.owner)
            fill_record(record, handle)
        self._point(value, tag, records, len(tensors))

    def _point(self, value: Any, tag: Tag, target: Any, count: int) -> None:
        self._kept.append(target)
        value.tag, value.count, value.pointer = tag, count, ctypes.addressof(target)


def _is_sequence(argument: object) -> bool:
    """Lists and what behaves like one: a module's list of parameters is no `Sequence` by its type."""
    return hasattr(argument, "__getitem__") and hasattr(argument, "__len__") and not hasattr(argument, "keys")


def read_value(backend: TensorBackend, value: Any) -> object:
    """What C++ gave, as Python; tensors come from the backend."""
    tag = Tag(value.tag)
    if tag is Tag.NONE:
        return None
    if tag is Tag.TENSOR:
        return backend.lookup(value.integer)
    if tag in (Tag.INT, Tag.BOOL):
        return bool(value.integer) if tag is Tag.BOOL else int(value.integer)
    if tag is Tag.DOUBLE:
        return float(value.real)
    if tag is Tag.DTYPE:
        return DType(value.integer)
    if tag is Tag.DEVICE:
        return Device(value.integer, value.count)
    if tag is Tag.MEMORY_FORMAT:
        return MemoryFormat(value.integer)
    if tag is Tag.STRING:
        return ctypes.string_at(value.pointer).decode(errors="replace")
    return _read_list(backend, tag, value)


def _read_list(backend: TensorBackend, tag: Tag, value: Any) -> object:
    if tag is Tag.INT_LIST:
        return [int(item) for item in _array(value, ctypes.c_int64)]
    if tag is Tag.DOUBLE_LIST:
        return [float(item) for item in _array(value, ctypes.c_double)]
    if tag is Tag.TENSOR_LIST:
        pointers = _array(value, ctypes.POINTER(TensorStruct))
        return [backend.lookup(item[0].owner) if item else None for item in pointers]
    return tuple(read_value(backend, item) for item in _array(value, ValueStruct))


def _array(value: Any, kind: Any) -> Any:
    return ctypes.cast(value.pointer, ctypes.POINTER(kind))[: value.count] if value.count else ()


def make_host(backend: TensorBackend) -> Any:
    """The table of callbacks for one extension; ctypes keeps what it points to as long as the table."""
    native = backend.native_functions()
    return abi.HostStruct(
        abi_version=abi.ABI_VERSION,
        call_op=abi.CALL_OP(lambda *given: _call_op(backend, *given)),
        current_stream=abi.CURRENT_STREAM(backend.current_stream),
        release=abi.RELEASE(backend.release),
        native_empty=native.empty if native else None,
        native_release=native.release if native else None,
        native_data_pointer=native.data_pointer if native else None,
        native_zero=native.zero if native else None,
    )


def _call_op(backend: TensorBackend, name: bytes, values: Any, count: int, answer: Any) -> int:
    try:
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for value in values[:count]:
            if value.keyword is None:
                args.append(read_value(backend, value))
            else:
                kwargs[value.keyword.decode()] = read_value(backend, value)
        _write_answer(backend, backend.call_op(name.decode(), args, kwargs), answer[0])
    except Exception as error:
        abi.write_error(answer[0], f"{error}" or type(error).__name__)
        return 1
    return 0


def _write_answer(backend: TensorBackend, outcome: object, answer: Any) -> None:
    if write_scalar(answer.scalar, outcome):
        return
    tensors = [] if outcome is None else list(outcome) if isinstance(outcome, (list, tuple)) else [outcome]
    if len(tensors) > answer.capacity:
        raise ExtensionCallError(f"{len(tensors)} results where {answer.capacity} fit")
    for index, tensor in enumerate(tensors):
        fill_record(answer.tensors[index], backend.acquire(tensor))
        answer.count = index + 1
