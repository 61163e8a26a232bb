"""From claims and wall clocks to a time that nobody could talk down.

The child claims a device time for each call. The judge sees a wall time for it: from the request until
the verifier holds the outputs in its own memory. Between the two lies what the harness itself takes
(messages, weights, the cache flush, the copy of the outputs), which is the same program for the reference,
whose child never sees the candidate. So

    wall estimate = median wall time of the candidate's calls - median overhead of the reference's calls

is the candidate's time without believing it. No call can be had for less than its work, because each is on
contents of its own, which are not there before its clock runs, and its outputs are taken when it stops.
What a busy machine adds, it adds to both: their blocks take turns. Seen on an H200 with 16 lanes, the median
of 150 calls is good to some 15 us of 1200, where the least of them, or of the blocks' means, is off by up to
100. How good it is follows from how much the reference's calls differ, and where that is too little, there
are more of them.

The larger of claim and estimate counts, once the difference is more than chance. How long the device goes on
after a call is added to the claim: that is the child's word too, but no other process is in it, so a few
microseconds of work on a side stream show however busy the machine is. A claim is refused when it leaves far
more of the wall time unexplained than the reference's do, when many calls are claimed to take a fraction of
what the others took, or when the device goes on for long. Whoever is refused is heard again, the last time
for as long as it takes the rest of the machine to come to rest, because everyone else waits for the device in
the end. In this last hearing a difference of a few percent of the overhead is no lie any more, and the wall
estimate counts.

Why cheats gain nothing: a patched timer or event changes the claim alone. Work on a side stream or put off
until someone looks is not done when the clock stops (then the output is poison), or is done before (then it
was timed), or runs beside the flush (which a profiler sees, `child/profile.py`). Nothing can be done between
two calls: the process is stopped while its inputs are put there, and the device was waited for. Nothing can
be done beside the harness: it has one thread (`child/single_thread.py`). A forged answer stops the clock
early, before the outputs are there. The reference's calls cannot be made to look slow: the candidate is
stopped while they run, and some are made when it is gone. What is left to a candidate that rewrites the
harness in its own process is to save harness work: the flush cannot be left out, because the verifier looks
for its bytes; all but its last pass, and the copies, can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.gpu.statistics import median_interval

SLACK_SHARE = 0.30
SLACK_US = 20.0
"""How far the wall clock may lie above the claim before it is refused."""
SKEW = 3.0
"""How far the mean claim, without the latest ones, or the wall clock may lie above the median claim."""
NOISE_SHARE = 0.05
"""How far the harness' own time may differ between candidate and reference on a machine so busy that
more calls and fresh processes do not help."""
_LEAST_LEFT_US = 2.0
"""So long may the device seem to go on after a call because of how soon the host looks."""
_LATE_SHARE = 0.04
"""Of the calls, which a busy host may have held up between two launches."""
_ERROR_OF_MEDIAN = 1.2533
"""Over that of a mean, for values that scatter normally."""
_QUARTILES_APART = 1.349
"""In standard deviations."""


@dataclass(frozen=True)
class Block:
    """Several calls, one after the other."""

    wall_us: tuple[float, ...]
    """Of each call, from the request until its outputs were in the verifier's memory."""
    claimed_us: tuple[float, ...]
    """Device time of each call as the child tells it."""
    left_us: tuple[float, ...]
    """And for how long the device went on after it."""

    @property
    def calls(self) -> int:
        return len(self.claimed_us)

    @property
    def beside_us(self) -> tuple[float, ...]:
        """Wall time beside each call: what the harness takes, for a child that is trusted."""
        return tuple(wall - claimed for wall, claimed in zip(self.wall_us, self.claimed_us, strict=True))


@dataclass(frozen=True)
class HeldTime:
    """A candidate's time after both clocks were heard."""

    median_us: float
    interval_us: tuple[float, float]
    claimed_us: float
    wall_us: float
    overhead_us: float
    left_us: float
    """How much longer than with the reference the device went on after a call."""
    error_us: float
    """How far the wall estimate may be off by chance."""
    agree: bool
    """Whether the claim may stand."""
    within_noise: bool
    """Whether a busy machine alone can explain the difference; the wall clock counts even then."""


def hold_against_wall(
    candidate: Sequence[Block],
    reference: Sequence[Block],
    alone: Sequence[Block] = (),
    *,
    slack_us: float = SLACK_US,
    slack_share: float = SLACK_SHARE,
) -> HeldTime:
    """The time that counts, and whether the two clocks tell the same.

    `alone` are blocks of the reference with no candidate there: beside one, it takes longer by chance alone.
    """
    harness = _beside(reference)
    overhead = float(np.median(harness))
    if alone:
        overhead = min(overhead, _most_alone(alone))
    samples = [value for block in candidate for value in block.claimed_us]
    claimed, interval = median_interval(samples)
    wall = max(float(np.median([us for block in candidate for us in block.wall_us])) - overhead, 0.0)
    unexplained = float(np.median(_beside(candidate))) - overhead
    quiet = _left((*reference, *alone))
    left = float(np.median(_left(candidate)) - np.median(quiet))
    is_left = left > max(_LEAST_LEFT_US, _error_us(quiet, quiet.size, len(samples)))
    told = claimed + left if is_left else claimed
    error = _error_us(harness, harness.size, len(samples))
    median = wall if wall > told + min(error, slack_us) else told
    shift = median - claimed
    prompt = sorted(samples)[: max(1, round((1 - _LATE_SHARE) * len(samples)))]
    mean = sum(prompt) / len(prompt)

    def is_close(slack: float) -> bool:
        return (
            left <= max(slack_share * claimed, slack_us)
            and unexplained <= max(slack_share * claimed, slack)
            and max(wall, mean) <= SKEW * claimed + slack
        )

    return HeldTime(
        median_us=median,
        interval_us=(interval[0] + shift, interval[1] + shift),
        claimed_us=claimed,
        wall_us=wall,
        overhead_us=overhead,
        left_us=left,
        error_us=error,
        agree=is_close(slack_us),
        within_noise=is_close(max(slack_us, NOISE_SHARE * overhead)),
    )


def _beside(blocks: Sequence[Block]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([us for block in blocks for us in block.beside_us], dtype=np.float64)


def _most_alone(alone: Sequence[Block]) -> float:
    """What the harness takes at most with no candidate there, by how much calls and whole blocks differ."""
    calls = _beside(alone)
    chance = _error_us(calls, calls.size)
    if len(alone) > 1:
        apart = float(np.std([np.median(block.beside_us) for block in alone], ddof=1))
        chance = max(chance, 2 * apart / len(alone) ** 0.5)
    return float(np.median(calls)) + chance


def _left(blocks: Sequence[Block]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([us for block in blocks for us in block.left_us], dtype=np.float64)


def _error_us(values: np.ndarray[tuple[int], np.dtype[np.float64]], *counts: int) -> float:
    """Two standard errors of a median, or of the difference of two, of so many values that scatter so."""
    low, high = np.percentile(values, (25, 75))
    deviation = float(high - low) / _QUARTILES_APART
    return float(2 * _ERROR_OF_MEDIAN * deviation * sum(1 / count for count in counts) ** 0.5)
