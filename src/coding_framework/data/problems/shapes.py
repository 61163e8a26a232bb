"""Sizes for checking and timing a user's kernel, derived from the one size that the header states.

Guarantees: no extent exceeds the stated one, so that a kernel may rely on it; one element, odd and
unaligned extents, and each dimension long beside short others are among the hidden shapes; every shape is
cheap enough for the emulator, as counted on the naive kernel itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from coding_framework.records import Record

Shape = dict[str, int]
Cost = Callable[[Shape], int]
"""Thread instructions of the naive kernel on a shape."""

CHECK_INSTRUCTIONS = 1_500_000
"""Of one run on a shape that is checked; a judgement makes about thirty of them."""
TIMING_INSTRUCTIONS = 60_000_000
"""Of the one run that is timed."""
_LONE_VISIBLE, _LONE_HIDDEN = (1000, 4096), (1, 33, 257, 1007, 10007)
_SHORT = (7, 5, 3, 2, 9, 11)
_LONG = 257


class DerivedShapes(Record):
    """What a task needs."""

    visible: tuple[dict[str, int], ...]
    """Sizes that may be named to the model."""
    hidden: tuple[dict[str, int], ...]
    """Sizes that only the judge knows."""
    timing: dict[str, int]
    """The size at which time is modelled."""


def derive_shapes(stated: Shape, cost: Cost) -> DerivedShapes:
    """Shapes up to `stated`, each affordable."""
    visible = _affordable(_visible(stated), stated, cost)
    hidden = _affordable(_hidden(stated), stated, cost)
    return DerivedShapes(
        visible=visible,
        hidden=tuple(shape for shape in hidden if shape not in visible) or hidden,
        timing=_largest(stated, cost),
    )


def _visible(stated: Shape) -> Iterator[Shape]:
    if len(stated) == 1:
        yield from (dict.fromkeys(stated, size) for size in _LONE_VISIBLE)
        return
    yield {name: (64, 128, 16, 8)[at % 4] for at, name in enumerate(stated)}
    yield {name: (37, 100, 10, 6)[at % 4] for at, name in enumerate(stated)}


def _hidden(stated: Shape) -> Iterator[Shape]:
    if len(stated) == 1:
        yield from (dict.fromkeys(stated, size) for size in _LONE_HIDDEN)
        return
    yield dict.fromkeys(stated, 1)
    yield {name: (33, 65, 17, 9)[at % 4] for at, name in enumerate(stated)}
    for long in stated:
        short = iter(_SHORT * len(stated))
        yield {name: _LONG if name == long else next(short) for name in stated}


def _affordable(shapes: Iterable[Shape], stated: Shape, cost: Cost) -> tuple[Shape, ...]:
    found: list[Shape] = []
    for shape in shapes:
        clipped = {name: min(size, stated[name]) for name, size in shape.items()}
        while cost(clipped) > CHECK_INSTRUCTIONS and max(clipped.values()) > 1:
            longest = max(clipped, key=clipped.__getitem__)
            clipped[longest] = max(1, clipped[longest] // 2 - 1) | 1
        if clipped not in found:
            found.append(clipped)
    return tuple(found)


def _largest(stated: Shape, cost: Cost) -> Shape:
    """The stated shape, halved until it is affordable; found from below, because large runs take long."""
    ladder = [stated]
    while max(ladder[-1].values()) > 16:
        ladder.append(_halved(ladder[-1]))
    best, before = ladder[-1], cost(ladder[-1])
    for shape in reversed(ladder[:-1]):
        # One halved extent costs a factor of two in most algorithms and of four in few.
        if before * 4 > TIMING_INSTRUCTIONS:
            break
        now = cost(shape)
        if now > TIMING_INSTRUCTIONS:
            break
        best, before = shape, now
    return best


def _halved(shape: Shape) -> Shape:
    """The longest extent halved, and kept a multiple of 32 where it is long."""
    longest = max(shape, key=shape.__getitem__)
    half = shape[longest] // 2
    return {**shape, longest: half - half % 32 if half > 64 else half}
