"""Medians with intervals, and whether two clocks tell the same story."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RUN_TO_RUN_SHARE = 0.03
"""How far the median of another run of the same kernel may lie off, beyond what one run can show:
clocks, temperature and where memory was placed change between runs and not within one. Seen on an
H200 over the 31 kernels of the catalogue: 2.6 % at most."""
_RESAMPLES = 1000


def median_interval(samples: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median and its 95 % interval: bootstrap within the run, widened by what runs differ."""
    values = np.asarray(samples, dtype=np.float64)
    generator = np.random.default_rng(len(values))
    drawn = values[generator.integers(0, len(values), (_RESAMPLES, len(values)))]
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    median = float(np.median(values))
    margin = RUN_TO_RUN_SHARE * median
    return median, (float(low) - margin, float(high) + margin)


def clocks_agree(device_us: Sequence[float], wall_us: Sequence[float]) -> bool:
    """Whether the host's clock leaves no room for work that the device's events do not show.

    The host sees launches and waiting besides, so its time is longer, by a few tens of microseconds.
    """
    device, wall = float(np.median(device_us)), float(np.median(wall_us))
    return device <= 1.02 * wall and wall <= 1.5 * device + 300.0
