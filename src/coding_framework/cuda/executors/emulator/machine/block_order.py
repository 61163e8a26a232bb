"""In which order the blocks of a grid run, and which of them in step.

On a device blocks have no order. Here those of a chunk run in step and chunks one after the other, so a
kernel whose blocks hand data on without waiting for each other would be right by the order alone. Where
the code makes that possible (`Kernel.may_hand_over`), a run takes the blocks in an order drawn from a
secret and cuts it into parts; the second run on the same inputs takes the parts backwards. Whoever reads
what a block of another part writes, and does not wait for it, is too early in one of the two.

Not found: a read of what a block of the same part writes, in runs in which both are in one part.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coding_framework.cuda.executors.base import BlockOrder
from coding_framework.cuda.executors.emulator.dtypes import Array

PARTS = 4
"""Two blocks are in different parts in three runs of four, at a quarter of the lanes in step."""
MAX_UNITS = 1 << 20
"""Blocks that are put in order one by one; in a larger grid neighbours stay together."""


def chunks_in_order(
    num_blocks: int, at_once: int, order: BlockOrder | None, *, shuffle: bool
) -> Iterator[Array]:
    """The numbers of the blocks of one chunk after the other, at most `at_once` in each."""
    if order is not None and shuffle:
        yield from _shuffled(num_blocks, at_once, order)
        return
    is_backwards = order is not None and order.is_backwards
    size = min(at_once, -(-num_blocks // 2)) if is_backwards else at_once
    starts = range(0, num_blocks, size)
    for start in starts[::-1] if is_backwards else starts:
        yield np.arange(start, min(start + size, num_blocks))


def _shuffled(num_blocks: int, at_once: int, order: BlockOrder) -> Iterator[Array]:
    unit = -(-num_blocks // MAX_UNITS)
    units = np.random.default_rng(order.secret).permutation(-(-num_blocks // unit))
    size = min(max(1, at_once // unit), -(-units.size // PARTS))
    starts = range(0, units.size, size)
    for start in starts[::-1] if order.is_backwards else starts:
        numbers = (units[start : start + size, None] * unit + np.arange(unit)).reshape(-1)
        yield np.sort(numbers[numbers < num_blocks])
