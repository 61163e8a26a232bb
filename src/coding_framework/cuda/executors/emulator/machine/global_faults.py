"""Words for accesses outside every buffer."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.dtypes import Value
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceBuffer, DeviceMemory
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.layout import WINDOW, WINDOW_BITS

NULL_LIMIT = 1 << 32


def bounds_fault(memory: DeviceMemory, lanes: Lanes, address: Value, access: Access) -> KernelFault:
    """Say which buffer was missed, by how much, and by which thread."""
    inside = np.zeros(np.shape(address), dtype=np.bool_)
    for buffer in memory.by_window.values():
        inside |= (address >= buffer.base) & (address + access.num_bytes <= buffer.base + buffer.size)
    wrong = ~inside
    where = lanes.describe(wrong)
    shaped = np.broadcast_to(address, lanes.base.shape)
    first = int(shaped[np.broadcast_to(wrong, lanes.base.shape) & lanes.full_mask][0])
    verb = "write" if access.text.lstrip("@!%p0123456789 ").startswith(("st", "atom", "red")) else "read"
    if 0 <= first < NULL_LIMIT:
        message = (
            f"{verb} through a null pointer (address {first:#x}): a pointer argument is missing or an "
            f"integer was used as a pointer ({where})"
        )
    else:
        message = _overrun(memory, first, access, verb, where)
    return KernelFault(FaultKind.OUT_OF_BOUNDS, message, access.line)


def _overrun(memory: DeviceMemory, address: int, access: Access, verb: str, where: str) -> str:
    buffer = _nearest(memory, address)
    if buffer is None:
        return f"out-of-bounds {verb} at address {address:#x}, far from every buffer ({where})"
    width = max(1, buffer.element.itemsize if buffer.element.itemsize > 1 else access.element_bytes)
    index, size = (address - buffer.base) // width, buffer.size // width
    return (
        f"out-of-bounds {verb}: element {index} of `{buffer.name}`, which has {size} elements "
        f"({where}); check the index against the size before the access"
    )


def _nearest(memory: DeviceMemory, address: int) -> DeviceBuffer | None:
    """A negative index lies before the buffer's window, closer to its start than the next one's end."""
    candidates = [memory.by_window.get(w) for w in (address >> WINDOW_BITS, (address >> WINDOW_BITS) + 1)]
    found = [b for b in candidates if b is not None]
    if not found:
        return None

    def distance(buffer: DeviceBuffer) -> int:
        return max(buffer.base - address, address - (buffer.base + buffer.size), 0)

    nearest = min(found, key=distance)
    return nearest if distance(nearest) < WINDOW else None
