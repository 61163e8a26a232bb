"""Device memory: named buffers far apart, each with its bytes, typed views and a map of touched sectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from coding_framework.cuda.executors.base import Buffer
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array
from coding_framework.cuda.executors.emulator.program.layout import (
    WINDOW_BITS,
    buffer_base,
    device_variables,
    module_variable_base,
)
from coding_framework.cuda.executors.emulator.ptx import Module, Variable
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES

PADDING = 64
COMMUTATIVE = frozenset({"add", "min", "max", "and", "or", "xor"})
"""Atomic operations that leave the same behind in any order, but for the rounding of sums."""


class DeviceBuffer:
    """One allocation; `data` is padded so that every typed view exists."""

    def __init__(self, name: str, base: int, content: bytes | Buffer, element: np.dtype[Any]) -> None:
        raw = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content.view(np.uint8)
        self.name = name
        self.base = base
        self.size = raw.size
        self.element = element
        self.data = np.zeros(-(-max(self.size, 1) // PADDING) * PADDING, dtype=np.uint8)
        self.data[: self.size] = raw
        self.is_constant = False
        self.touched = np.zeros(self.data.size // 32, dtype=np.bool_)
        self.uses: set[str] = set()
        """Ways in which this launch has accessed it: `load`, `store`, strong ones, atomic operations."""
        self._views: dict[str, Array] = {}
        self._atomics: Array | None = None

    def add_atomics(self, sectors: Array, times: int) -> None:
        """One request for each of these sectors, so many times."""
        if self._atomics is None:
            self._atomics = np.zeros(self.touched.size, dtype=np.int64)
        np.add.at(self._atomics, sectors, times)

    @property
    def hottest_atomics(self) -> int:
        """Atomic requests for the sector that had most of them."""
        return 0 if self._atomics is None else int(self._atomics.max())

    def begin_launch(self) -> None:
        """Forget the traffic of the launch before."""
        self.touched[:] = False
        self.uses.clear()
        self._atomics = None

    def view(self, dtype: str) -> Array:
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.data.view(NUMPY[dtype])
        return found

    def content(self) -> Buffer:
        """A copy of the bytes in the element type."""
        return self.data[: self.size].copy().view(self.element)


class DeviceMemory:
    """All buffers of a request and all variables of its module."""

    def __init__(self, buffers: dict[str, Buffer], module: Module, left: dict[str, Buffer]) -> None:
        self._initial: list[tuple[DeviceBuffer, bytes]] = []
        """Variables of the module that a kernel may change, and what the source says they begin with."""
        self.by_window: dict[int, DeviceBuffer] = {}
        self.by_name: dict[str, DeviceBuffer] = {}
        for index, (name, content) in enumerate(buffers.items()):
            flat = np.ascontiguousarray(content).reshape(-1)
            self._add(DeviceBuffer(name, buffer_base(index), flat, flat.dtype))
            self.by_name[name] = self.by_window[buffer_base(index) >> WINDOW_BITS]
        self._add_variables(module, left)

    def _add(self, buffer: DeviceBuffer) -> None:
        self.by_window[buffer.base >> WINDOW_BITS] = buffer

    def _add_variables(self, module: Module, left: dict[str, Buffer]) -> None:
        variables = device_variables(module)
        addresses = {v.name: module_variable_base(i) for i, v in enumerate(variables)}
        for variable in variables:
            content = initial_bytes(variable, addresses)
            begins = left.get(variable.name, content)
            buffer = DeviceBuffer(variable.name, addresses[variable.name], begins, np.dtype(np.uint8))
            buffer.is_constant = variable.space == "const"
            self._add(buffer)
            if not buffer.is_constant:
                self._initial.append((buffer, content))

    def changed_variables(self) -> dict[str, Buffer]:
        """What is not as the source says any more."""
        return {b.name: b.content() for b, initial in self._initial if b.data[: b.size].tobytes() != initial}

    def begin_launch(self) -> None:
        """Forget the traffic of the launch before."""
        for buffer in self.by_window.values():
            buffer.begin_launch()

    def hottest_atomics(self) -> int:
        return max((buffer.hottest_atomics for buffer in self.by_window.values()), default=0)

    def may_depend_on_order(self, *, uses_fences: bool) -> bool:
        """Whether contents could depend on the order of blocks in a way that is not found as a race."""
        return any(_may_depend_on_order(b.uses, uses_fences) for b in self.by_window.values())

    def num_touched_sectors(self) -> int:
        return sum(int(np.count_nonzero(b.touched)) for b in self.by_window.values())


def _may_depend_on_order(uses: set[str], uses_fences: bool) -> bool:
    """Reading alone is harmless, so is one commutative update; plain accesses are, as races are found."""
    if uses <= {"load", "strong load"} or (len(uses) == 1 and uses <= COMMUTATIVE):
        return False
    return uses_fences or not uses <= {"load", "store"}


def initial_bytes(variable: Variable, addresses: dict[str, int]) -> bytes:
    """The bytes of a module variable; what the initialiser leaves out is zero."""
    width = TYPE_BYTES[variable.type]
    pieces = [_element(value, variable.type, width, addresses) for value in variable.initializer]
    return b"".join(pieces).ljust(variable.num_bytes, b"\0")


def _element(value: int | float | str, kind: str, width: int, addresses: dict[str, int]) -> bytes:
    if isinstance(value, str):
        name = value.removeprefix("generic(").removesuffix(")").strip()
        return addresses.get(name, 0).to_bytes(8, "little")[:width]
    if isinstance(value, float):
        return np.array([value], dtype=NUMPY[kind]).tobytes()
    return (value & ((1 << (8 * width)) - 1)).to_bytes(width, "little")
