"""How many blocks of a kernel an SM can hold at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from coding_framework.cuda.executors.emulator.device_model import DeviceModel

DEFAULT_REGISTERS = 32
"""Assumed where the compiler's report is missing."""


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps of an SM, and what limits them."""

    blocks_per_sm: int
    warps_per_sm: int
    share: float
    """Resident warps over the most an SM can hold."""
    limited_by: str
    """registers, shared memory, warps or blocks."""


def occupancy(
    threads_per_block: int, registers: int | None, shared_bytes: int, device: DeviceModel
) -> Occupancy:
    """The theoretical occupancy, as the vendor's calculator finds it."""
    warps = ceil(threads_per_block / 32)
    per_warp = max(registers if registers is not None else DEFAULT_REGISTERS, 1) * 32
    per_warp = ceil(per_warp / device.register_granule) * device.register_granule
    block_shared = shared_bytes + device.reserved_shared_bytes
    limits = {
        "warps": device.max_warps_per_sm // warps,
        "blocks": device.max_blocks_per_sm,
        "registers": device.registers_per_sm // per_warp // warps,
        "shared memory": device.shared_bytes_per_sm // block_shared,
    }
    limiter = min(limits, key=lambda name: limits[name])
    blocks = max(1, limits[limiter])
    resident = min(blocks * warps, device.max_warps_per_sm)
    return Occupancy(blocks, resident, resident / device.max_warps_per_sm, limiter)
