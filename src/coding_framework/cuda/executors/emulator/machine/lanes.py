"""Which lanes a value belongs to, and how values of different shapes meet.

A register of a chunk of R blocks with C threads is a NumPy value that broadcasts to (R, C): a scalar
when all lanes agree, (1, C) when it depends on the thread only, (R, 1) when on the block only. Most
address arithmetic therefore touches far fewer numbers than there are lanes. A `Base` is such a
layout; a `Lanes` is a base with the lanes that are active in it. A list base holds scattered lanes
in one row (1, K).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP, Geometry


class Base:
    """A layout of lanes: `block` and `thread` numbers that broadcast to `shape`."""

    def __init__(self, geometry: Geometry, block: Array, thread: Array, is_list: bool) -> None:
        self.geometry = geometry
        self.block = block
        self.thread = thread
        self.is_list = is_list
        self.shape: tuple[int, int] = (1 if is_list else int(block.shape[0]), int(thread.shape[1]))
        self.size = self.shape[0] * self.shape[1]
        self.covers_chunk = not is_list and self.shape == (geometry.num_blocks, geometry.num_threads)
        self._special: dict[tuple[str, str], Value] = {}

    @classmethod
    def whole(cls, geometry: Geometry) -> Base:
        return cls(
            geometry,
            np.arange(geometry.num_blocks, dtype=np.int64)[:, None],
            np.arange(geometry.num_threads, dtype=np.int64)[None, :],
            False,
        )

    def special(self, name: str, axis: str) -> Value:
        """%tid, %ntid, %ctaid, %nctaid."""
        key = (name, axis)
        if key not in self._special:
            self._special[key] = self._make_special(name, "xyz".index(axis))
        return self._special[key]

    def _make_special(self, name: str, axis: int) -> Value:
        if name == "ntid":
            return np.int32(self.geometry.block[axis])
        if name == "nctaid":
            return np.int32(self.geometry.grid[axis])
        if name == "tid":
            if self.geometry.block[axis] == 1:
                return np.int32(0)
            return self.geometry.thread_coordinates(self.thread)[axis].astype(np.int32)
        if self.geometry.grid[axis] == 1:
            return np.int32(0)
        if self.block.size == 1:
            return self.geometry.block_coordinates(self.block)[axis].astype(np.int32)[0, 0]
        return self.geometry.block_coordinates(self.block)[axis].astype(np.int32)

    @cached_property
    def lane_ids(self) -> Array:
        """Chunk-wide number of every lane."""
        return self.block * self.geometry.num_threads + self.thread

    @cached_property
    def aligned(self) -> bool:
        """Whether 32 neighbouring columns are one whole warp."""
        return not self.is_list and self.shape[1] == self.geometry.num_threads and self.shape[1] % WARP == 0

    @cached_property
    def warp_keys(self) -> Array:
        """The warp of each column: within the block, or within the chunk for a list."""
        warps = self.thread[0] // WARP
        keys: Array = warps + self.block[0] * self.geometry.warps_per_block if self.is_list else warps
        return keys

    @cached_property
    def _warp_table(self) -> tuple[Array, Array, Array]:
        """Distinct warps, the warp index of each column, and the column of each (warp, lane) or -1."""
        keys, warp_of = np.unique(self.warp_keys, return_inverse=True)
        columns = np.full((len(keys), WARP), -1, dtype=np.int64)
        columns[warp_of, self.thread[0] % WARP] = np.arange(self.shape[1])
        return keys, warp_of, columns

    @cached_property
    def num_warp_columns(self) -> int:
        return self.shape[1] // WARP if self.aligned else len(self._warp_table[0])

    @property
    def warps(self) -> Array:
        """The distinct warps, as in `warp_keys`."""
        return np.arange(self.num_warp_columns) if self.aligned else self._warp_table[0]

    @cached_property
    def present(self) -> Array | None:
        """(1, W, 32): which places of the warps hold a lane; None if all do."""
        if self.aligned:
            return None
        held = self._warp_table[2] >= 0
        return None if held.all() else held[None]

    def to_warps(self, value: Value) -> Array:
        """(r, c) into (r, W, 32); places without a lane repeat some lane of the base."""
        array = np.broadcast_to(value, (np.shape(value)[0] if np.ndim(value) else 1, self.shape[1]))
        if self.aligned:
            return array.reshape(array.shape[0], -1, WARP)
        return array[:, self._warp_table[2]]

    def from_warps(self, value: Array) -> Array:
        """(r, W, 32) back into (r, C)."""
        if self.aligned:
            return value.reshape(value.shape[0], -1)
        return value[:, self._warp_table[1], self.thread[0] % WARP]

    def spread(self, value: Array) -> Array:
        """(r, W): one value a warp, to its lanes."""
        if self.aligned:
            return np.repeat(value, WARP, axis=1)
        return value[:, self._warp_table[1]]


class Lanes:
    """The active lanes of a base; `mask` broadcasts to its shape, None means all."""

    def __init__(self, base: Base, mask: Array | None = None) -> None:
        self.base = base
        self.mask = mask
        self.special = base.special

    @cached_property
    def count(self) -> int:
        if self.mask is None:
            return self.base.size
        return int(np.count_nonzero(self.mask)) * (self.base.size // int(self.mask.size))

    @cached_property
    def full_mask(self) -> Array:
        """The mask at full shape."""
        return np.broadcast_to(True if self.mask is None else self.mask, self.base.shape)

    @cached_property
    def active_in_warps(self) -> Array | None:
        """(r, W, 32), or None if every place is an active lane."""
        present = self.base.present
        if self.mask is None:
            return present
        active = self.base.to_warps(self.mask)
        return active if present is None else active & present

    @cached_property
    def active_warps(self) -> Array | None:
        """(r, W): warps with an active lane; None if all have one."""
        if self.mask is None or self.active_in_warps is None:
            return None
        return np.asarray(self.active_in_warps.any(axis=-1))

    @cached_property
    def num_warps(self) -> int:
        rows = self.base.shape[0]
        if self.active_warps is None:
            return rows * self.base.num_warp_columns
        return int(np.count_nonzero(self.active_warps)) * (rows // int(self.active_warps.shape[0]))

    @cached_property
    def _first_position(self) -> tuple[int, int]:
        row, column = np.unravel_index(int(np.argmax(self.full_mask)), self.base.shape)
        return int(row), int(column)

    @cached_property
    def _first_in_warp(self) -> Array:
        assert self.active_in_warps is not None
        return np.asarray(self.active_in_warps.argmax(axis=-1))[..., None]

    def narrowed(self, condition: Value) -> Lanes:
        """The active lanes for which a condition holds."""
        if condition.ndim == 0:
            return self if condition else Lanes(self.base, np.zeros((1, 1), dtype=np.bool_))
        return Lanes(self.base, condition if self.mask is None else condition & self.mask)

    def safe(self, address: Value) -> Value:
        """Addresses in which inactive lanes repeat an active one, so that all may be touched."""
        if self.mask is None or address.ndim == 0:
            return address
        row, column = self._first_position
        first = address[row if address.shape[0] > 1 else 0, column if address.shape[1] > 1 else 0]
        return np.where(self.mask, address, first)

    def warp_rows(self, value: Value) -> Array:
        """(r, W, 32) in which inactive places repeat an active lane of their warp."""
        rows = self.base.to_warps(value)
        active = self.active_in_warps
        if active is None:
            return rows
        rows, _ = np.broadcast_arrays(rows, active)
        first = np.broadcast_to(self._first_in_warp, (*rows.shape[:2], 1))
        return np.where(active, rows, np.take_along_axis(rows, first, axis=-1))

    def compress(self, value: Value) -> Array:
        """The values of active lanes in a row."""
        if self.mask is None:
            return np.broadcast_to(value, self.base.shape).reshape(-1)
        return np.broadcast_to(value, self.base.shape)[self.full_mask]

    def expand(self, values: Array) -> Array:
        """The inverse of `compress`; inactive lanes get zero."""
        if self.mask is None:
            return values.reshape(self.base.shape)
        result = np.zeros(self.base.shape, dtype=values.dtype)
        result[self.full_mask] = values
        return result

    @property
    def lane_ids(self) -> Array:
        return self.compress(self.base.lane_ids)

    def first_where(self, condition: Value) -> tuple[int, int]:
        """Block and thread of the first active lane for which a condition holds."""
        position = int(np.argmax(np.broadcast_to(condition, self.base.shape) & self.full_mask))
        row, column = np.unravel_index(position, self.base.shape)
        block = np.broadcast_to(self.base.block, self.base.shape)[row, column]
        thread = np.broadcast_to(self.base.thread, self.base.shape)[row, column]
        return int(block), int(thread)

    def describe(self, condition: Value) -> str:
        return self.base.geometry.describe(*self.first_where(condition))
