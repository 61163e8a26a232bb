"""Who owns the tensors of a light extension: the seam between the binding and a tensor library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class ExtensionCallError(RuntimeError):
    """The extension's own code raised, or could not take the arguments: what pybind11 would raise."""


class TensorHandle(NamedTuple):
    """One tensor as native code needs it; a tuple, because one is made for every argument of every call."""

    data: int
    """Address of the first element; 0 for an empty tensor."""
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: int
    """torch's ScalarType number, e.g. 6 for float32."""
    device_type: int
    """0 for the CPU, 1 for CUDA."""
    device_index: int
    owner: int
    """One reference to the tensor, held by the backend until `release(owner)`; never 0."""


@dataclass(frozen=True)
class DType:
    """A ScalarType number as an argument of an operation."""

    code: int


@dataclass(frozen=True)
class Device:
    """A device as an argument of an operation."""

    type: int
    index: int


@dataclass(frozen=True)
class MemoryFormat:
    """A memory format number as an argument of an operation."""

    code: int


@dataclass(frozen=True)
class NativeFunctions:
    """Addresses of C functions that allocate and release without entering Python."""

    empty: int
    release: int
    data_pointer: int
    zero: int


class TensorBackend(Protocol):
    """Who owns the tensors and does the library operations."""

    def is_tensor(self, value: object) -> bool: ...

    def acquire(self, tensor: object) -> TensorHandle:
        """Describe a tensor; its `owner` is one new reference."""

    def lookup(self, owner: int) -> object:
        """The tensor behind a reference, which stays valid."""

    def release(self, owner: int) -> None:
        """Give one reference back."""

    def current_stream(self, device_index: int) -> int:
        """The CUDA stream that kernels are to be launched on; 0 is the default one."""

    def call_op(self, name: str, args: Sequence[object], kwargs: dict[str, object]) -> object:
        """Do a library operation: tensor(s) or a number; whatever it raises reaches the extension."""

    def native_functions(self) -> NativeFunctions | None:
        """A quicker way to allocate, where there is one."""
