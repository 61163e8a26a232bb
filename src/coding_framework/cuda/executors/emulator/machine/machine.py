"""The machine that generated code talks to: memory spaces, warp unit, parameters, special registers."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind, LaunchCounters
from coding_framework.cuda.executors.emulator.dtypes import NUMPY, Array, Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.async_copies import AsyncCopies
from coding_framework.cuda.executors.emulator.machine.atomics import apply_atomic
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.global_space import GlobalSpace
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.local_space import LocalSpace
from coding_framework.cuda.executors.emulator.machine.shared_space import SharedSpace
from coding_framework.cuda.executors.emulator.machine.tensor import TensorUnit
from coding_framework.cuda.executors.emulator.machine.undefined import Undefined
from coding_framework.cuda.executors.emulator.machine.waiting import Changes
from coding_framework.cuda.executors.emulator.machine.warp import WarpUnit
from coding_framework.cuda.executors.emulator.ops.integer import select
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.layout import LOCAL_BASE, PARAMETER_BASE, SHARED_BASE

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


class Machine:
    """One chunk of blocks with all its memory."""

    def __init__(
        self,
        parameters: bytes,
        global_space: GlobalSpace,
        shared_space: SharedSpace,
        local_space: LocalSpace,
        counters: LaunchCounters,
        changes: Changes,
        undefined: Undefined,
    ) -> None:
        self._parameters = parameters
        self._parameter_cache: dict[tuple[int, str], Value] = {}
        self.global_space = global_space
        self.shared_space = shared_space
        self.local_space = local_space
        self.copies = AsyncCopies(global_space, shared_space, changes)
        self.undefined = undefined
        self.warp = WarpUnit(undefined, local_space.garbage)
        self.tensor = TensorUnit(self)
        self.counters = counters
        self._changes = changes
        self.ticks = 0

    def parameter(self, offset: int, dtype: str) -> Value:
        """A kernel parameter at a byte offset."""
        key = (offset, dtype)
        if key not in self._parameter_cache:
            self._parameter_cache[key] = np.frombuffer(self._parameters, NUMPY[dtype], 1, offset)[0]
        return self._parameter_cache[key]

    # Loads: a guard that is off everywhere touches nothing.

    def load_global(
        self, lanes: Lanes, address: Value, access: Access, guard: Value | None
    ) -> tuple[Value, ...]:
        lanes = _under(lanes, guard)
        return self.global_space.load(lanes, address, access) if lanes.count else _nothing(access)

    load_const = load_global

    def load_shared(
        self, lanes: Lanes, address: Value, access: Access, guard: Value | None
    ) -> tuple[Value, ...]:
        lanes = _under(lanes, guard)
        return self.shared_space.load(lanes, address, access) if lanes.count else _nothing(access)

    def load_local(
        self, lanes: Lanes, address: Value, access: Access, guard: Value | None
    ) -> tuple[Value, ...]:
        lanes = _under(lanes, guard)
        return self.local_space.load(lanes, address, access) if lanes.count else _nothing(access)

    def load_param(
        self, lanes: Lanes, address: Value, access: Access, guard: Value | None
    ) -> tuple[Value, ...]:
        """A kernel parameter at a computed offset."""
        safe = _under(lanes, guard).safe(address)
        if int(np.min(safe)) < 0 or int(np.max(safe)) + access.num_bytes > len(self._parameters):
            raise KernelFault(
                FaultKind.OUT_OF_BOUNDS, "out-of-bounds read of the kernel's parameters", access.line
            )
        size = access.element_bytes
        padded = self._parameters.ljust(-(-len(self._parameters) // size) * size, b"\0")
        table = np.frombuffer(padded, NUMPY[access.dtype])
        return tuple(table.take((safe + p * size) // size) for p in range(access.count))

    def load_generic(
        self, lanes: Lanes, address: Value, access: Access, guard: Value | None
    ) -> tuple[Value, ...]:
        lanes = _under(lanes, guard)
        results: tuple[Value, ...] | None = None
        for space, part, local in self._by_space(lanes, address):
            loaded = getattr(self, f"load_{space}")(part, local, access, None)
            if results is None:
                results = loaded
            else:
                mask = part.full_mask
                results = tuple(select(mask, new, old) for new, old in zip(loaded, results, strict=True))
        return results if results is not None else _nothing(access)

    def store_global(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, guard: Value | None
    ) -> None:
        lanes = _under(lanes, guard)
        if lanes.count:
            self._changes.count += 1
            self.global_space.store(lanes, address, values, access)

    def store_shared(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, guard: Value | None
    ) -> None:
        lanes = _under(lanes, guard)
        if lanes.count:
            self._changes.count += 1
            self.shared_space.store(lanes, address, values, access)

    def store_local(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, guard: Value | None
    ) -> None:
        lanes = _under(lanes, guard)
        if lanes.count:
            self._changes.count += 1
            self.local_space.store(lanes, address, values, access)

    def store_generic(
        self, lanes: Lanes, address: Value, values: tuple[Value, ...], access: Access, guard: Value | None
    ) -> None:
        for space, part, local in self._by_space(_under(lanes, guard), address):
            getattr(self, f"store_{space}")(part, local, values, access, None)

    def _by_space(self, lanes: Lanes, address: Value) -> list[tuple[str, Lanes, Value]]:
        """The lanes of each address space, with addresses as that space counts them."""
        if not lanes.count:
            return []
        safe = lanes.safe(address)
        found = []
        for name, low, high in (
            ("global", -(1 << 63), SHARED_BASE),
            ("shared", SHARED_BASE, LOCAL_BASE),
            ("local", LOCAL_BASE, PARAMETER_BASE),
            ("param", PARAMETER_BASE, 1 << 63),
        ):
            inside = (safe >= low) & (safe <= high - 1)
            if np.all(inside):
                return [(name, lanes, address - low if name != "global" else address)]
            if np.any(inside):
                part = lanes.narrowed(np.asarray(inside))
                found.append((name, part, address - low if name != "global" else address))
        return found

    def atomic(
        self,
        lanes: Lanes,
        address: Value,
        values: tuple[Value, ...],
        what: tuple[Access, str, bool],
        guard: Value | None,
    ) -> tuple[Value, ...]:
        """Returns the old values, one for each element of a vector."""
        access, kind, wants_old = what
        lanes = _under(lanes, guard)
        if not lanes.count:
            return _nothing(access)
        if access.space != "generic":
            return self._atomic_in(access.space, lanes, address, values, access, kind, wants_old)
        results = _nothing(access)
        for space, part, local in self._by_space(lanes, address):
            old = self._atomic_in(space, part, local, values, access, kind, wants_old)
            mask = part.full_mask
            results = tuple(select(mask, new, other) for new, other in zip(old, results, strict=True))
        return results

    def _atomic_in(
        self,
        space: str,
        lanes: Lanes,
        address: Value,
        values: tuple[Value, ...],
        access: Access,
        kind: str,
        wants_old: bool,
    ) -> tuple[Value, ...]:
        """A vector is so many atomics side by side: one access, but each element on its own."""
        if access.count > 1 and space != "global":
            raise KernelFault(
                FaultKind.UNSUPPORTED,
                f"atomics on vectors work in device memory only: `{access.text}`",
                access.line,
            )
        self.counters.atomics += lanes.num_warps
        safe = lanes.safe(address)
        shift = _SHIFT[access.element_bytes]
        if space == "shared":
            self.shared_space.check(lanes, safe, access)
            if self.shared_space.races is not None:
                self.shared_space.races.atomic(lanes, address, access)
            view = self.shared_space.view(access.dtype)
            memory, index = (
                view.reshape(-1),
                lanes.compress(lanes.base.block * view.shape[1] + (address >> shift)),
            )
        else:
            buffer = self.global_space.atomic_buffer(lanes, safe, access, is_read=wants_old)
            memory, index = buffer.view(access.dtype), (lanes.compress(address) - buffer.base) >> shift
        columns = tuple(lanes.compress(value) for value in values)
        if access.count == 1:
            return (self._update(lanes, memory, index, columns, access, kind, wants_old),)
        return tuple(
            self._update(lanes, memory, index + position, (column,), access, kind, wants_old)
            for position, column in enumerate(columns)
        )

    def _update(
        self,
        lanes: Lanes,
        memory: Array,
        index: Array,
        columns: tuple[Array, ...],
        access: Access,
        kind: str,
        wants_old: bool,
    ) -> Value:
        """One element of each lane."""
        before = memory[index]
        old = apply_atomic(memory, index, access.operation, columns, kind, wants_old)
        if before.tobytes() != memory[index].tobytes():
            self._changes.count += 1
        return lanes.expand(old)

    def sync_lanes(self, lanes: Lanes, members: Value) -> None:
        """`__syncwarp`: what the named lanes did before is in order for each of them."""
        if self.shared_space.races is not None and lanes.count:
            self.shared_space.races.sync_lanes(lanes, members)

    def fence(self, lanes: Lanes) -> None:
        """`__threadfence_block` and wider ones."""
        if self.shared_space.races is not None and lanes.count:
            self.shared_space.races.fence(lanes)

    def special(self, lanes: Lanes, name: str) -> Value:
        """Special registers other than the indices."""
        base, geometry = lanes.base, lanes.base.geometry
        lane = (base.thread % WARP).astype(np.int32)
        if name.startswith("lanemask_"):
            return _lane_mask(name[9:], lane)
        if name.startswith(("clock", "globaltimer")):
            self.ticks += 1
            self._changes.count += 1
            return (
                np.int64(self.ticks)
                if name in ("clock64", "globaltimer")
                else np.int32(self.ticks & 0x7FFFFFFF)
            )
        return {
            "laneid": lane,
            "warpid": (base.thread // WARP).astype(np.int32),
            "nwarpid": np.int32(geometry.warps_per_block),
            "smid": (geometry.numbers[base.block] % 132).astype(np.int32),
            "nsmid": np.int32(132),
            "gridid": np.int32(1),
        }.get(name, np.int32(self.shared_space.num_bytes))

    def trap(self, lanes: Lanes, line: int | None, why: str, guard: Value | None) -> None:
        """A failed assertion or a trap ends the launch."""
        lanes = _under(lanes, guard)
        if lanes.count:
            raise KernelFault(
                FaultKind.INVALID_LAUNCH, f"the launch failed: {why} ({lanes.describe(np.bool_(True))})", line
            )


def _under(lanes: Lanes, guard: Value | None) -> Lanes:
    return lanes if guard is None else lanes.narrowed(guard)


def _nothing(access: Access) -> tuple[Value, ...]:
    return (NUMPY[access.dtype].type(0),) * access.count


def _lane_mask(relation: str, lane: Array) -> Array:
    one, at = np.uint32(1), lane.astype(np.uint32)
    equal = one << at
    below = equal - one
    masks = {"eq": equal, "lt": below, "le": below | equal, "ge": ~below, "gt": ~(below | equal)}
    return masks[relation].view(np.int32)
