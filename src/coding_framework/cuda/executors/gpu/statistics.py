"""The middle of many times with its interval, and whether two clocks tell the same story."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

RUN_TO_RUN_SHARE = 0.03
"""How far the median of another run of the same kernel may lie off, beyond what one run can show:
clocks, temperature, where memory was placed and how soon a process' launches begin change between runs and
not within one. Seen on an H200 over some 175 kernels of the catalogue that take over 20 us: 3.5 % at most."""
_RESAMPLES = 1000
_TRIMMED_SHARE = 0.1
_Floats = npt.NDArray[np.float64]


def median_interval(samples: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median and its 95 % interval: bootstrap within the run, widened by what runs differ."""
    return _with_interval([np.asarray(samples, dtype=np.float64)], lambda values: np.median(values, axis=-1))


def middle_interval(samples: Sequence[float], kinds: Sequence[str]) -> tuple[float, tuple[float, float]]:
    """The middle of samples of several kinds, which may take different times, and its interval.

    A median of them all would be that of the kind in the middle, blind to the others, and jump between two
    kinds from run to run; so would that of one kind whose samples come in two sizes. It is the mean over the
    kinds of each one's mean without its fastest and slowest tenth.
    """
    groups: dict[str, list[float]] = {}
    for kind, sample in zip(kinds, samples, strict=True):
        groups.setdefault(kind, []).append(sample)
    return _with_interval([np.asarray(group, dtype=np.float64) for group in groups.values()], _trimmed_mean)


def _trimmed_mean(values: _Floats) -> _Floats:
    """Along the last axis; at least one sample goes at each end where there are three."""
    count = values.shape[-1]
    trimmed = min(max(1, round(_TRIMMED_SHARE * count)), (count - 1) // 2)
    return np.asarray(np.sort(values, axis=-1)[..., trimmed : count - trimmed].mean(axis=-1))


def _with_interval(
    groups: Sequence[_Floats], middle: Callable[[_Floats], _Floats]
) -> tuple[float, tuple[float, float]]:
    """The mean of the groups' middles, resampled within each group."""
    generator = np.random.default_rng(sum(map(len, groups)))
    drawn = [group[generator.integers(0, len(group), (_RESAMPLES, len(group)))] for group in groups]
    resampled = np.mean([middle(values) for values in drawn], axis=0)
    low, high = np.percentile(resampled, (2.5, 97.5))
    value = float(np.mean([middle(group) for group in groups]))
    margin = RUN_TO_RUN_SHARE * value
    return value, (float(low) - margin, float(high) + margin)


def clocks_agree(device_us: Sequence[float], wall_us: Sequence[float]) -> bool:
    """Whether the host's clock leaves no room for work that the device's events do not show.

    The host sees launches and waiting besides, so its time is longer, by a few tens of microseconds.
    """
    device, wall = float(np.median(device_us)), float(np.median(wall_us))
    return device <= 1.02 * wall and wall <= 1.5 * device + 300.0
