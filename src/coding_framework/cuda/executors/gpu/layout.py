"""Where the buffers of a run lie, with a guard zone of a known pattern behind each of them.

Plain arithmetic that needs no driver: the judge asks it too, before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from coding_framework.cuda.executors.gpu.messages import MeasureRequest

GUARD_BYTES = 1024
GUARD_PATTERN = 0x7FA5C3E1
_ALIGNMENT = 512
_GAP_SHARE = 0.118
"""Between the slots of a buffer, of its size: not a simple fraction, so that many slots begin at as many
different parts of a buffer's size."""


@dataclass(frozen=True)
class Layout:
    """Where everything goes, relative to the start."""

    places: tuple[Place, ...]
    num_bytes: int

    def at(self, base: int) -> dict[str, Place]:
        """Every place by name, when the whole begins at this address."""
        return {place.name: replace(place, address=base + place.offset) for place in self.places}


@dataclass(frozen=True)
class Place:
    """`num_slots` equal buffers, the first at `address`, each with a guard behind it.

    From one to the next it is `stride` bytes, with memory between them that nobody uses.
    """

    name: str
    offset: int
    address: int
    num_bytes: int
    num_slots: int
    stride: int

    def slot(self, index: int) -> int:
        return self.address + index * self.stride

    @property
    def guard_bytes(self) -> int:
        """Of one guard, which begins where the last word of its buffer ends."""
        return aligned(self.num_bytes) + GUARD_BYTES - padded(self.num_bytes)


def lay_out(sizes: dict[str, tuple[int, int]]) -> Layout:
    """Name → (bytes, slots), one after the other with guards between.

    The slots of a buffer are a fraction of its size further apart than they need to be. With slots that are a
    power of two and little more apart, a naive transpose took up to 4 % longer in some processes than in
    others: what suits or does not suit the memory's channels did so in all slots alike.
    """
    places, at = [], GUARD_BYTES
    for name, (num_bytes, num_slots) in sizes.items():
        stride = aligned(num_bytes) + GUARD_BYTES
        if num_slots > 1:
            stride += aligned(int(_GAP_SHARE * num_bytes))
        places.append(Place(name, at, 0, num_bytes, num_slots, stride))
        at += num_slots * stride
    return Layout(tuple(places), at)


def arena_bytes(request: MeasureRequest) -> int:
    """What the arena must hold; asked by the judge before the call."""
    return lay_out(arena_sizes(request)).num_bytes


def arena_sizes(request: MeasureRequest) -> dict[str, tuple[int, int]]:
    slots = request.num_slots
    sizes = {array.name: (array.num_bytes, slots) for array in request.inputs}
    sizes["sums"] = (8 * (len(request.inputs) + len(request.outputs)) * len(request.sets), 1)
    for side, program in (("candidate", request.candidate), ("reference", request.reference)):
        sizes |= {f"{side} scratch {array.name}": (array.num_bytes, slots) for array in program.scratch}
    sizes |= {f"reference {array.name}": (array.num_bytes, slots) for array in request.outputs}
    sizes |= {f"output {array.name}": (array.num_bytes, len(request.sets)) for array in request.outputs}
    return sizes


def paint(image: npt.NDArray[np.uint8]) -> None:
    """Guards everywhere; the buffers are written over them."""
    image.view(np.uint32)[:] = GUARD_PATTERN


def touched_in(image: npt.NDArray[np.uint8], places: Sequence[Place]) -> str | None:
    """The first buffer of a downloaded image whose guard was written to."""
    words = image.view(np.uint32)
    if (words[: GUARD_BYTES // 4] != GUARD_PATTERN).any():
        return places[0].name
    for place in places:
        start = (place.offset + padded(place.num_bytes)) // 4
        if (words[start : start + place.guard_bytes // 4] != GUARD_PATTERN).any():
            return place.name
    return None


def padded(num_bytes: int) -> int:
    return -(-num_bytes // 4) * 4


def aligned(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
