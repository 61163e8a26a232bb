"""From claims and wall clocks to a time that nobody could talk down.

The child claims a device time for each call. The judge sees a wall time for it: from the request until
the verifier holds the outputs in its own memory. Between the two lies what the harness itself takes
(messages, weights, the cache flush, the copy of the outputs), which is the same program for the reference,
whose child never sees the candidate. So

    wall estimate = least wall time of a candidate's call - least overhead of a reference's call

is the candidate's time without believing it. Everything else on the machine can only add to a wall time,
so the least of the calls is taken on both sides; no call can be had for less than its work, because each is
on contents of its own, which are not there before its clock runs, and its outputs are taken when it stops.
The larger of claim and estimate counts, once the difference is more than the overhead itself varies with no
candidate there. A claim is refused when even in the best call it leaves far more of the wall time
unexplained than the reference's do, or when most calls are claimed to take a fraction of what all of them
took. Whoever is refused is heard again, the last time for as long as it takes the rest of the machine to
come to rest, because everyone else waits for the device in the end. In this last hearing a difference of a
few percent of the overhead is no lie any more, and the wall estimate counts.

Why cheats gain nothing: a patched timer or event changes the claim alone. Work on a side stream or put off
until someone looks is not done when the clock stops (then the output is poison) or is done before (then it
was timed). Nothing can be done between two calls: the process is stopped while its inputs are put there,
and the device was waited for. Nothing can be done beside the harness: it has one thread
(`child/single_thread.py`). A forged answer stops the clock early, before the outputs are there. Claims that
are true of one call and false of the others change nothing either: the least wall time counts against all
of them. What is left to a candidate that rewrites the harness in its own process is to save harness work:
the flush cannot be left out, because the verifier looks for its bytes; all but its last pass, and the
copies, can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coding_framework.cuda.executors.gpu.statistics import median_interval

SLACK_SHARE = 0.30
SLACK_US = 20.0
"""How far the wall clock may lie above the claim before it is refused."""
SKEW = 3.0
"""How far the mean claim may lie above the median one."""
NOISE_SHARE = 0.02
"""How far the harness' own time may differ between candidate and reference on a machine so busy that
other blocks and fresh processes do not help."""


@dataclass(frozen=True)
class Block:
    """Several calls, one after the other."""

    wall_us: tuple[float, ...]
    """Of each call, from the request until its outputs were in the verifier's memory."""
    claimed_us: tuple[float, ...]
    """Device time of each call as the child tells it."""

    @property
    def calls(self) -> int:
        return len(self.claimed_us)

    @property
    def overhead_us(self) -> float:
        """The least wall time beside a call; meaningful for a child that is trusted."""
        return min(wall - claimed for wall, claimed in zip(self.wall_us, self.claimed_us, strict=True))


@dataclass(frozen=True)
class HeldTime:
    """A candidate's time after both clocks were heard."""

    median_us: float
    interval_us: tuple[float, float]
    claimed_us: float
    wall_us: float
    overhead_us: float
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

    `alone` are blocks of the reference with no candidate there: how much those differ is not in its hands.
    """
    overhead = min(block.overhead_us for block in (*reference, *alone))
    wall = max(min(min(block.wall_us) for block in candidate) - overhead, 0.0)
    unexplained = min(block.overhead_us for block in candidate) - overhead
    samples = [value for block in candidate for value in block.claimed_us]
    claimed, interval = median_interval(samples)
    quiet = sorted(block.overhead_us for block in alone)
    spread = min(quiet[1] - quiet[0] if len(quiet) > 1 else 0.0, slack_us)
    median = wall if wall > claimed + spread else claimed
    shift = median - claimed

    mean = sum(samples) / len(samples)

    def is_close(slack: float) -> bool:
        return unexplained <= max(slack_share * claimed, slack) and max(wall, mean) <= SKEW * claimed + slack

    return HeldTime(
        median_us=median,
        interval_us=(interval[0] + shift, interval[1] + shift),
        claimed_us=claimed,
        wall_us=wall,
        overhead_us=overhead,
        agree=is_close(slack_us),
        within_noise=is_close(max(slack_us, NOISE_SHARE * overhead)),
    )
