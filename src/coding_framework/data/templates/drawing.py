"""What a seed decides about a synthetic task besides its operation: names, constants, style."""

from __future__ import annotations

import random
from collections.abc import Sequence

from coding_framework.data.templates.operations import Layout
from coding_framework.data.templates.signature import PLAIN, Signature, Style

_CONSTANTS = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
_ARRAYS = (("x", "a", "u", "src"), ("b", "v", "w", "other"), ("d", "t", "third"))
_PARAMETERS = (("w", "weight", "s", "scales"), ("bias", "shift", "offset"))
_OUTPUTS = ("y", "y", "out", "z", "dst")
_LENGTHS = ("n", "n", "n", "size", "length", "count")
_EXTENTS = (("rows", "cols"), ("rows", "cols"), ("m", "n"), ("batch", "features"), ("height", "width"))


def draw_constants(rng: random.Random) -> Sequence[float]:
    """Two different constants, exact in float32 and none of them 0 or 1."""
    return rng.sample(_CONSTANTS, 2)


def draw_signature(rng: random.Random, kernel: str, layouts: Sequence[Layout]) -> Signature:
    """Names for the arrays and dimensions; no two share a name."""
    arrays, parameters = iter(_ARRAYS), iter(_PARAMETERS)
    pools = (next(parameters if layout in ("per_row", "per_column") else arrays) for layout in layouts)
    inputs = {rng.choice(pool): layout for pool, layout in zip(pools, layouts, strict=True)}
    dimensions = rng.choice(_EXTENTS) if "matrix" in layouts else (rng.choice(_LENGTHS),)
    return Signature(kernel, inputs, rng.choice(_OUTPUTS), dimensions)


def draw_style(rng: random.Random) -> Style:
    """The plain style half of the time, so that a small model has a mode to settle on."""
    if rng.random() < 0.5:
        return PLAIN
    return Style(
        block=rng.choice((128, 256, 512)),
        index=rng.choice(("i", "idx")),
        restrict=rng.random() < 0.25,
        grid_stride=rng.random() < 0.2,
        two_dimensional=rng.random() < 0.3,
        accumulator=rng.choice(("total", "acc", "result")),
    )
