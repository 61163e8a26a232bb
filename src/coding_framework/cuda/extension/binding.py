"""Calling what a light extension exports, from Python, without torch's headers or pybind11.

`LoadedExtension` loads the shared object with ctypes and passes arguments as flat tagged values; the
tensors themselves belong to a `TensorBackend` (torch's in `torch_backend.py`), which also carries out
the library operations that the extension asks for. No data is copied. What the extension's C++ throws
comes back as `ExtensionCallError` with its words; nothing else is promised: native code that writes
out of bounds or loops takes the process with it, so this belongs in a child that may be lost.

Imports the standard library alone, so that such a child starts quickly.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from coding_framework.cuda.extension import abi
from coding_framework.cuda.extension.marshal import Arguments, make_host, read_value
from coding_framework.cuda.extension.tensor_backend import (
    Device,
    DType,
    ExtensionCallError,
    MemoryFormat,
    NativeFunctions,
    TensorBackend,
    TensorHandle,
)

__all__ = [
    "DType",
    "Device",
    "ExtensionCallError",
    "LoadedExtension",
    "MemoryFormat",
    "NativeFunctions",
    "TensorBackend",
    "TensorHandle",
]

_loaded: set[Path] = set()
"""Files that this process has loaded; they stay loaded until it ends."""


class LoadedExtension:
    """A light shared object, bound to a backend. One call at a time."""

    def __init__(self, shared_object: str, backend: TensorBackend) -> None:
        self._backend = backend
        self._library = _open(shared_object)
        self._callbacks = make_host(backend)  # C keeps bare pointers into it
        error = ctypes.create_string_buffer(abi.ERROR_BYTES)
        if self._library.cf_extension_load(ctypes.byref(self._callbacks), error) != 0:
            raise ExtensionCallError(error.value.decode(errors="replace"))

    @property
    def functions(self) -> tuple[str, ...]:
        """What `m.def` named, in order; an overloaded name comes more than once."""
        names = (self._library.cf_extension_function(index) for index in count())
        return tuple(name.decode() for name in takewhile(lambda name: name is not None, names))

    def call(self, name: str, args: Sequence[object]) -> object:
        """Tensors, numbers, strings, None and lists in; tensors, numbers, lists, tuples or None out."""
        packed = Arguments(self._backend, args)
        call = abi.CallStruct(function=name.encode(), arguments=packed.values, count=len(args))
        failed = self._library.cf_extension_call(ctypes.byref(call))
        if failed:
            raise ExtensionCallError(call.error.decode(errors="replace"))
        try:
            return read_value(self._backend, call.result)
        finally:
            self._library.cf_extension_finish(ctypes.byref(call))

    def function(self, name: str) -> Callable[..., object]:
        """The same as a Python callable."""
        if name not in self.functions:
            raise ExtensionCallError(f"the extension defines no function `{name}`")
        return lambda *args: self.call(name, args)


def _open(shared_object: str) -> Any:
    """The library with its signatures."""
    try:
        library = _load(Path(shared_object).resolve())
        library.cf_extension_function.restype = ctypes.c_char_p
        library.cf_extension_load.argtypes = [ctypes.POINTER(abi.HostStruct), ctypes.c_char_p]
        library.cf_extension_call.argtypes = [ctypes.POINTER(abi.CallStruct)]
        library.cf_extension_finish.argtypes = [ctypes.POINTER(abi.CallStruct)]
    except (OSError, AttributeError) as error:
        raise ExtensionCallError(
            f"the shared object cannot be loaded as a light extension: {error}"
        ) from error
    library.cf_extension_finish.restype = None
    return library


def _load(path: Path) -> ctypes.CDLL:
    """A second load of one file gets a copy of it: the linker would give the first one's state again."""
    if path not in _loaded:
        _loaded.add(path)
        return ctypes.CDLL(str(path))
    with tempfile.NamedTemporaryFile(suffix=".so") as copy:
        shutil.copyfile(path, copy.name)
        return ctypes.CDLL(copy.name)
