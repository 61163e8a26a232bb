"""Local memory: every thread's own bytes, kept as planes of one word of all lanes."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.unwritten import Unwritten


class LocalSpace:
    """What `ld.local` and `st.local` do."""

    def __init__(self, num_lanes: int, num_bytes: int, unwritten: Unwritten) -> None:
        self._num_bytes = num_bytes
        self._num_lanes = num_lanes
        self.garbage = unwritten.secret
        """From which follows what registers begin with."""
        self._planes: Array = unwritten.words_of_chunk(num_bytes // 4 * num_lanes).reshape(-1, num_lanes)

    def load(self, lanes: Lanes, address: Value, access: Access) -> tuple[Value, ...]:
        address = lanes.safe(address)
        self._check(lanes, address, access)
        width = access.element_bytes
        return tuple(self._read(lanes, address + width * p, access.dtype) for p in range(access.count))

    def _read(self, lanes: Lanes, address: Value, dtype: str) -> Value:
        kind = NUMPY[dtype]
        if kind.itemsize == 8:
            low, high = self._word(lanes, address >> 2), self._word(lanes, (address >> 2) + 1)
            return (low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))).view(kind)
        word = self._word(lanes, address >> 2)
        if kind.itemsize == 4:
            return word.view(kind)
        shifted = word >> ((address & 3) * 8).astype(np.uint32)
        return shifted.astype(f"u{kind.itemsize}").view(kind)

    def _word(self, lanes: Lanes, index: Value) -> Value:
        base = lanes.base
        if index.ndim == 0 and base.covers_chunk:
            return self._planes[int(index)].reshape(base.shape).copy()
        return self._planes.reshape(-1).take(index * self._num_lanes + base.lane_ids)

    def store(self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access) -> None:
        self._check(lanes, lanes.safe(address), access)
        for position, value in enumerate(values):
            self._write(lanes, address + access.element_bytes * position, value, access.element_bytes)

    def _write(self, lanes: Lanes, address: Value, value: Value, width: int) -> None:
        if width == 8:
            bits = value.view(np.uint64)
            self._put(lanes, address >> 2, bits.astype(np.uint32))
            self._put(lanes, (address >> 2) + 1, (bits >> np.uint64(32)).astype(np.uint32))
        elif width == 4:
            self._put(lanes, address >> 2, value.view(np.uint32))
        else:
            shift = ((address & 3) * 8).astype(np.uint32)
            mask = np.uint32((1 << (8 * width)) - 1) << shift
            old = self._word(lanes, lanes.safe(address) >> 2)
            new = value.view(f"u{width}").astype(np.uint32) << shift
            self._put(lanes, address >> 2, (old & ~mask) | new)

    def _put(self, lanes: Lanes, index: Value, word: Value) -> None:
        if index.ndim == 0 and lanes.base.covers_chunk and lanes.mask is None:
            self._planes[int(index)] = np.broadcast_to(word, lanes.base.shape).reshape(-1)
            return
        flat = lanes.compress(index * self._num_lanes + lanes.base.lane_ids)
        self._planes.reshape(-1)[flat] = lanes.compress(word)

    def _check(self, lanes: Lanes, address: Value, access: Access) -> None:
        wrong = (address < 0) | (address + access.num_bytes > self._num_bytes)
        if np.any(wrong):
            raise KernelFault(
                FaultKind.OUT_OF_BOUNDS,
                f"out-of-bounds access to a thread's local array: byte offset outside the {self._num_bytes} "
                f"bytes of local memory ({lanes.describe(wrong)})",
                access.line,
            )
        odd = (address & (access.num_bytes - 1)) != 0
        if np.any(odd):
            raise KernelFault(
                FaultKind.MISALIGNED,
                f"misaligned access to local memory: `{access.text}` ({lanes.describe(odd)})",
                access.line,
            )
