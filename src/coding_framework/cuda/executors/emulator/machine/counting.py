"""Exact counts of memory traffic: sectors of a warp's access, passes over shared-memory banks."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.geometry import WARP
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.machine.warp_sums import Amount

SECTOR_BITS = 5
BANKS = 32


def sectors_of_warps(lanes: Lanes, address: Value) -> Amount:
    """32-byte sectors that each warp touches; an access is aligned, so each lane touches one."""
    if address.ndim == 0 or (address.shape[1] == 1 and not lanes.base.is_list):
        return 1
    sectors = lanes.warp_rows(address >> SECTOR_BITS)
    flat = sectors.reshape(-1)
    falls = flat[1:] < flat[:-1]
    falls[WARP - 1 :: WARP] = False
    if falls.any():
        flat = np.sort(sectors, axis=-1).reshape(-1)
    counts = np.bitwise_count(np.packbits(_is_new(flat)).view(np.uint32))
    return _of_active(lanes, counts.reshape(sectors.shape[:2]))


def requested_sectors(lanes: Lanes, offset: Value) -> tuple[Array, int]:
    """The different sectors of every active warp, one warp after the other, and how often that comes."""
    rows = lanes.warp_rows(offset >> SECTOR_BITS)
    flat = np.sort(rows, axis=-1).reshape(-1)
    is_new = _is_new(flat)
    if lanes.active_warps is not None:
        is_new &= np.repeat(np.broadcast_to(lanes.active_warps, rows.shape[:2]), WARP)
    return flat[is_new], lanes.base.shape[0] // int(rows.shape[0])


def _is_new(flat: Array) -> Array:
    """Whether each place differs from the one before in its warp."""
    is_new = np.empty(flat.size, dtype=np.bool_)
    np.not_equal(flat[1:], flat[:-1], out=is_new[1:])
    is_new[::WARP] = True
    return is_new


def _of_active(lanes: Lanes, counts: Array) -> Amount:
    """Zero for warps without an active lane; one number if all warps have the same."""
    if lanes.active_warps is not None:
        return counts * lanes.active_warps
    first = counts[0, 0]
    return int(first) if (counts == first).all() else counts


def total_of_warps(lanes: Lanes, amount: Amount) -> int:
    """The sum over all active warps; rows that stand for many count as often."""
    if not isinstance(amount, np.ndarray):
        return int(amount) * lanes.num_warps
    return int(amount.sum(dtype=np.int64)) * (lanes.base.shape[0] // int(amount.shape[0]))


def count_passes(lanes: Lanes, address: Value, num_bytes: int, num_lanes: int) -> tuple[int, Amount]:
    """Accesses of all warps together, and each warp's passes over the 32 four-byte banks.

    A pass serves one word of every bank. Wide accesses are served in halves or quarters of a warp;
    each of these counts as one access, so passes over accesses is 1 without conflicts. Only the first
    lanes of a warp have addresses, and what would serve the others is left out.
    """
    together = WARP // max(1, num_bytes // 4)
    phases = -(-num_lanes // together)
    if address.ndim == 0 or address.shape[1] == 1:
        return lanes.num_warps, 1
    rows = lanes.warp_rows(address)[..., :num_lanes]
    words = (rows >> 2).reshape(-1, together)
    if num_bytes > 4:
        words = (words[..., None] + np.arange(num_bytes // 4)).reshape(words.shape[0], -1)
    spread = words.max(axis=1) - words.min(axis=1)
    if (spread < BANKS).all():
        return lanes.num_warps * phases, phases
    passes = _bank_passes(words).reshape(*rows.shape[:2], phases).sum(axis=2)
    return lanes.num_warps * phases, _of_active(lanes, passes)


def _bank_passes(words: Array) -> Array:
    """Largest number of different words that any one bank must serve, for each row."""
    ordered = np.sort(words, axis=1)
    fresh = np.ones(ordered.shape, dtype=np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    row = np.broadcast_to(np.arange(words.shape[0])[:, None], ordered.shape)
    slots = (row * BANKS + (ordered & (BANKS - 1)))[fresh]
    counts = np.bincount(slots, minlength=words.shape[0] * BANKS)
    return np.asarray(counts.reshape(-1, BANKS).max(axis=1))
