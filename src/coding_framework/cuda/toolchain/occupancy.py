"""How many blocks of a kernel an SM can hold at once: the vendor's calculator, for real architectures.

Limits are those of the CUDA C++ Programming Guide's table "technical specifications per compute
capability". What is theoretical here is an upper bound: a grid that is too small fills no SM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import Protocol

DEFAULT_REGISTERS = 32
"""Assumed where the compiler's report is missing."""
BLOCK_SIZES = (32, 64, 128, 256, 512, 1024)
"""Threads of a block for which a compilation states its occupancy."""
_WARP_GRANULE = 4
"""Registers serve whole groups of warps, one for each of an SM's four parts."""
MAX_WARPS_PER_BLOCK = 32
_KIB = 1024


class SmCapacity(Protocol):
    """What one SM can hold."""

    @property
    def max_warps_per_sm(self) -> int: ...
    @property
    def max_blocks_per_sm(self) -> int: ...
    @property
    def registers_per_sm(self) -> int: ...
    @property
    def register_granule(self) -> int: ...
    @property
    def shared_bytes_per_sm(self) -> int: ...
    @property
    def reserved_shared_bytes(self) -> int: ...


@dataclass(frozen=True)
class SmLimits:
    """The capacity of an SM of one architecture."""

    max_warps_per_sm: int
    max_blocks_per_sm: int
    shared_bytes_per_sm: int
    registers_per_sm: int = 65536
    register_granule: int = 256
    """Registers are handed to a warp in multiples of this."""
    reserved_shared_bytes: int = _KIB
    """What the system keeps of every block's shared memory."""


_LIMITS = {
    75: SmLimits(32, 16, 64 * _KIB, reserved_shared_bytes=0),
    80: SmLimits(64, 32, 164 * _KIB),
    86: SmLimits(48, 16, 100 * _KIB),
    87: SmLimits(48, 16, 164 * _KIB),
    89: SmLimits(48, 24, 100 * _KIB),
    90: SmLimits(64, 32, 228 * _KIB),
    100: SmLimits(64, 32, 228 * _KIB),
    103: SmLimits(64, 32, 228 * _KIB),
    120: SmLimits(48, 24, 100 * _KIB),
    121: SmLimits(48, 24, 100 * _KIB),
}


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps of an SM, and what limits them."""

    blocks_per_sm: int
    warps_per_sm: int
    share: float
    """Resident warps over the most an SM can hold."""
    limited_by: str
    """registers, shared memory, warps or blocks."""


def limits_of(architecture: str) -> SmLimits | None:
    """The SM of `sm_90` and its like; None for one whose table is not known here."""
    number = re.fullmatch(r"sm_(\d+)[af]?", architecture)
    return None if number is None else _LIMITS.get(int(number[1]))


def occupancy(
    threads_per_block: int, registers: int | None, shared_bytes: int, device: SmCapacity
) -> Occupancy:
    """The theoretical occupancy of a kernel that runs: one block is resident at the least."""
    limits = _blocks_by_limit(threads_per_block, registers, shared_bytes, device)
    limiter = min(limits, key=lambda name: limits[name])
    warps, blocks = ceil(threads_per_block / 32), max(1, limits[limiter])
    resident = min(blocks * warps, device.max_warps_per_sm)
    return Occupancy(blocks, resident, resident / device.max_warps_per_sm, limiter)


def most_threads(registers: int, device: SmCapacity) -> int:
    """Of a block whose threads use so many registers, if it is to be launched at all."""
    return 32 * min(_warps_by_registers(registers, device), MAX_WARPS_PER_BLOCK)


def theoretical_occupancy(registers: int, shared_bytes: int, architecture: str) -> dict[int, float]:
    """Block size → share of an SM's warps; 0 for a block that does not fit, empty if nothing is known."""
    device = limits_of(architecture)
    if device is None:
        return {}
    return {threads: _share(threads, registers, shared_bytes, device) for threads in BLOCK_SIZES}


def _share(threads: int, registers: int, shared_bytes: int, device: SmCapacity) -> float:
    blocks = min(_blocks_by_limit(threads, registers, shared_bytes, device).values())
    return blocks * ceil(threads / 32) / device.max_warps_per_sm


def _blocks_by_limit(
    threads: int, registers: int | None, shared_bytes: int, device: SmCapacity
) -> dict[str, int]:
    warps = ceil(threads / 32)
    warps_by_registers = _warps_by_registers(DEFAULT_REGISTERS if registers is None else registers, device)
    block_shared = shared_bytes + device.reserved_shared_bytes
    return {
        "warps": device.max_warps_per_sm // warps,
        "blocks": device.max_blocks_per_sm,
        "registers": warps_by_registers // warps,
        "shared memory": device.shared_bytes_per_sm // max(block_shared, 1),
    }


def _warps_by_registers(registers: int, device: SmCapacity) -> int:
    per_warp = ceil(max(registers, 1) * 32 / device.register_granule) * device.register_granule
    return device.registers_per_sm // per_warp // _WARP_GRANULE * _WARP_GRANULE
