"""How the lanes of a group are laid out after they part: masked, listed, or by whole blocks."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import Geometry
from coding_framework.cuda.executors.emulator.machine.group import Group
from coding_framework.cuda.executors.emulator.machine.lanes import Base, Lanes

COMPACT_ABOVE = 4096
"""Lanes of a base below which inactive lanes are simply carried along."""
COMPACT_SHARE = 8
"""Lanes are listed when fewer than one in this many is active."""


def compact_if_sparse(group: Group, live: frozenset[int]) -> Group:
    """Few lanes out of many are gathered into a list."""
    size = group.lanes.base.size
    if size > COMPACT_ABOVE and group.lanes.count * COMPACT_SHARE < size:
        return group.compacted(live)
    return group


def partition_rows(group: Group, live: frozenset[int]) -> tuple[Group, Group | None]:
    """Blocks whose threads are all alive, without a mask, and the blocks of which only some are."""
    lanes, base = group.lanes, group.lanes.base
    mask = lanes.mask
    if base.is_list or base.size <= COMPACT_ABOVE or mask is None or mask.shape[0] == 1:
        return group, None
    whole = np.asarray(mask.all(axis=1))
    if np.count_nonzero(whole) * 2 < base.shape[0]:
        return group, None
    partial = np.asarray(mask.any(axis=1)) & ~whole
    rest = _rows_of(group, np.flatnonzero(partial), live, keep_mask=True) if partial.any() else None
    return _rows_of(group, np.flatnonzero(whole), live, keep_mask=False), rest


def _rows_of(group: Group, rows: Array, live: frozenset[int], *, keep_mask: bool) -> Group:
    """The lanes of some blocks, on a base of their own."""
    old = group.lanes.base
    base = Base(old.geometry, old.block[rows], old.thread, False)
    registers = group.registers.copy()
    for index in live:
        value = registers[index]
        if value.ndim and value.shape[0] > 1:
            registers[index] = value[rows]
    mask = group.lanes.mask[rows] if keep_mask and group.lanes.mask is not None else None
    return Group(group.pc, Lanes(base, mask), registers)


def missing_members(group: Group, elsewhere: list[Group], members: Value, geometry: Geometry) -> Array:
    """For each lane, whether a lane that its warp names is alive somewhere else."""
    width = geometry.warps_per_block * 32
    absent = np.zeros(geometry.num_blocks * width, dtype=np.bool_)
    for other in elsewhere:
        lanes = other.lanes
        absent[lanes.compress(lanes.base.block * width + lanes.base.thread)] = True
    weights = np.uint32(1) << np.arange(32, dtype=np.uint32)
    bits = np.where(absent.reshape(-1, 32), weights, np.uint32(0)).sum(axis=1, dtype=np.uint32)
    base = group.lanes.base
    own = bits[base.block * geometry.warps_per_block + base.thread // 32]
    return np.broadcast_to((own & members) != 0, base.shape)
