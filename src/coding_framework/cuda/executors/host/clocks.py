"""From claims and wall clocks to the time that counts, and what it would take to talk it down.

The child claims a device time for each call. The judge sees a wall time for it: from the request until
the verifier holds the outputs in its own memory. Between the two lies what the harness itself takes
(messages, weights, the cache flush, the copy of the outputs), which is the same program for the reference,
whose child never sees the candidate. So

    wall estimate = median wall time of the candidate's calls - median overhead of the reference's calls

is the candidate's time without believing it. No call can be had for less than its work, because each is on
contents of its own, which are not there before its clock runs, and its outputs are taken when it stops.

The claim counts, and the wall clock decides whether it may stand. It is a witness, and no stopwatch: between
child and verifier the card changes contexts, which takes one process some 100 us longer than another for as
long as both live, and a kernel of milliseconds up to 400 us more (seen on an H200, with 1.2 ms for the
harness; the claims of two processes differed by 0.2 %). More calls do not help against that, and fresh
processes do. A claim is refused when it leaves more of the wall time unexplained than such differences can
explain, or when many calls are claimed to take a fraction of what the others took. How long the device goes
on after a call is added to the claim, and refused when it is long: that is the child's word too, but no other
process is in it, so a few microseconds of work on a side stream show however busy the machine is. Whoever is
refused is heard again, the last time for as long as it takes the rest of the machine to come to rest, because
everyone else waits for the device in the end.

Why cheats gain nothing: a patched timer or event changes the claim alone. Work on a side stream or put off
until someone looks is not done when the clock stops (then the output is poison), or is done before (then it
was timed), or runs beside the flush (which a profiler sees, `child/profile.py`). Nothing can be done between
two calls: the process is stopped while its inputs are put there, and the device was waited for. Nothing can
be done beside the harness: it has one thread (`child/single_thread.py`). A forged answer stops the clock
early, before the outputs are there. The reference's calls cannot be made to look slow: the candidate is
stopped while they run, and some are made when it is gone. What is left to a candidate that rewrites the
harness in its own process is to claim less by what the wall clock cannot tell (an eighth of the harness'
time, and a third of its own), or to save harness work: the flush cannot be left out, because the verifier
looks for its bytes; all but its last pass, and the copies, can. Static analysis and the sandbox are there to
prevent it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.executors.gpu.statistics import median_interval

SLACK_SHARE = 0.30
SLACK_US = 20.0
"""How long the device may go on after a call, as a share of the claim or in all, before it is refused."""
NOISE_SHARE = 0.12
"""How far the harness' own time may differ between two processes."""
SWITCH_SHARE = 0.5
"""Of the harness' time, which a long kernel adds to it at the most."""
RUNS_SHARE = 0.03
"""Of the claim, which two runs may differ by: as much of a very long call may go unexplained. Without it a
product that takes 54 ms was heard twice in one run of the honest corpus, and three times in another."""
SKEW = 3.0
"""How far the mean claim, without the latest ones, or the wall clock may lie above the median claim."""
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
    goes_on: bool
    """Whether that is too long."""
    is_explained: bool
    """Whether the wall clock says nothing against the claim."""

    @property
    def agree(self) -> bool:
        """Whether the claim may stand."""
        return self.is_explained and not self.goes_on


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
    overhead = float(np.median(_beside(reference)))
    if alone:
        overhead = min(overhead, _most_alone(alone))
    samples = [value for block in candidate for value in block.claimed_us]
    claimed, interval = median_interval(samples)
    wall = max(float(np.median([us for block in candidate for us in block.wall_us])) - overhead, 0.0)
    unexplained = float(np.median(_beside(candidate))) - overhead
    left, is_left = _left_over(candidate, (*reference, *alone))
    counted = left if is_left else 0.0
    allowed = max(slack_us, NOISE_SHARE * overhead) + min(slack_share * claimed, SWITCH_SHARE * overhead)
    allowed = max(allowed, RUNS_SHARE * claimed)
    return HeldTime(
        median_us=claimed + counted,
        interval_us=(interval[0] + counted, interval[1] + counted),
        claimed_us=claimed,
        wall_us=wall,
        overhead_us=overhead,
        left_us=left,
        goes_on=left > max(slack_share * claimed, slack_us),
        is_explained=unexplained <= allowed
        and wall <= SKEW * claimed + allowed
        and _mean_of_prompt(samples) <= SKEW * claimed + slack_us,
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


def _left_over(candidate: Sequence[Block], quiet: Sequence[Block]) -> tuple[float, bool]:
    """How much longer the device goes on after a candidate's call, and whether that is more than chance."""
    mine, others = (
        np.array([us for block in blocks for us in block.left_us], dtype=np.float64)
        for blocks in (candidate, quiet)
    )
    left = float(np.median(mine) - np.median(others))
    return left, left > max(_LEAST_LEFT_US, _error_us(others, others.size, mine.size))


def _mean_of_prompt(samples: Sequence[float]) -> float:
    """Without those that a busy host held up."""
    prompt = sorted(samples)[: max(1, round((1 - _LATE_SHARE) * len(samples)))]
    return sum(prompt) / len(prompt)


def _error_us(values: np.ndarray[tuple[int], np.dtype[np.float64]], *counts: int) -> float:
    """Two standard errors of a median, or of the difference of two, of so many values that scatter so."""
    low, high = np.percentile(values, (25, 75))
    deviation = float(high - low) / _QUARTILES_APART
    return float(2 * _ERROR_OF_MEDIAN * deviation * sum(1 / count for count in counts) ** 0.5)
