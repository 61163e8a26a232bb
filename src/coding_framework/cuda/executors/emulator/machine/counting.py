"""Exact counts of memory traffic: sectors of a warp's access, passes over shared-memory banks."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes

SECTOR_BITS = 5
BANKS = 32


def count_sectors(lanes: Lanes, address: Value) -> int:
    """32-byte sectors that the warps touch; an access is aligned, so each lane touches one."""
    if address.ndim == 0 or (address.shape[1] == 1 and not lanes.base.is_list):
        return lanes.num_warps
    sectors = lanes.warp_rows(address >> SECTOR_BITS)
    later, earlier = sectors[..., 1:], sectors[..., :-1]
    changes = later != earlier
    if not (later >= earlier).all():
        sectors = np.sort(sectors, axis=-1)
        changes = sectors[..., 1:] != sectors[..., :-1]
    return _total(changes, lanes)


def _total(changes: Array, lanes: Lanes) -> int:
    """One sector a warp, and one more at every change; rows that stand for many count as often."""
    repeat = lanes.base.shape[0] // int(changes.shape[0])
    if lanes.active_warps is None:
        return lanes.num_warps + int(np.count_nonzero(changes)) * repeat
    each = np.count_nonzero(changes, axis=-1)
    active = np.broadcast_to(lanes.active_warps, each.shape)
    return lanes.num_warps + int(each[active].sum()) * repeat


def count_passes(lanes: Lanes, address: Value, num_bytes: int) -> tuple[int, int]:
    """Accesses and passes over the 32 four-byte banks.

    A pass serves one word of every bank. Wide accesses are served in halves or quarters of a warp;
    each of these counts as one access, so passes over accesses is 1 without conflicts.
    """
    phases = max(1, num_bytes // 4)
    if address.ndim == 0 or address.shape[1] == 1:
        return lanes.num_warps, lanes.num_warps
    rows = lanes.warp_rows(address)
    repeat = lanes.base.shape[0] // int(rows.shape[0])
    keep = None
    if lanes.active_warps is not None:
        keep = np.broadcast_to(lanes.active_warps, rows.shape[:2]).reshape(-1)
    words = (rows.reshape(-1, WARP) if keep is None else rows.reshape(-1, WARP)[keep]) >> 2
    words = words.reshape(-1, WARP // phases)
    passes = _bank_passes(words, num_bytes)
    return words.shape[0] * repeat, passes * repeat


def _bank_passes(words: Array, num_bytes: int) -> int:
    """Largest number of different words that any one bank must serve, summed over the rows."""
    if num_bytes > 4:
        wide = words[..., None] + np.arange(num_bytes // 4)
        words = wide.reshape(words.shape[0], -1)
    spread = words.max(axis=1) - words.min(axis=1)
    if (spread < BANKS).all():
        return int(words.shape[0])
    ordered = np.sort(words, axis=1)
    fresh = np.ones(ordered.shape, dtype=np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    row = np.broadcast_to(np.arange(words.shape[0])[:, None], ordered.shape)
    slots = (row * BANKS + (ordered & (BANKS - 1)))[fresh]
    counts = np.bincount(slots, minlength=words.shape[0] * BANKS)
    return int(counts.reshape(-1, BANKS).max(axis=1).sum())
