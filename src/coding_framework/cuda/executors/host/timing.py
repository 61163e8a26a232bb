"""From blocks to the time that is scored: both clocks, the reference, the speed of light."""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.cuda.executors.gpu.statistics import median_interval
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.clocks import SLACK_US, Block, HeldTime, hold_against_wall
from coding_framework.cuda.executors.host.outcome import HostSettings, HostTiming
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.timers.base import FLOOR_SLACK, floor_words
from coding_framework.records import Verdict

NUM_ALONE = 2
"""Blocks of the reference after the candidate is gone: two, so that it shows how much they differ."""


class ClocksDisagree(Rejected):
    """A lie, or a machine too busy to tell: who hears it may ask again."""

    def __init__(self, held: HeldTime) -> None:
        super().__init__(Verdict.CLOCKS_DISAGREE, disagreement_words(held))


def time_candidate(
    bench: TaskBench,
    settings: HostSettings,
    candidate: list[Block],
    interleaved: list[Block],
    own_kernel_share: float | None,
) -> HostTiming:
    """The time that counts; raises `Rejected` for one that cannot be, `ClocksDisagree` for one in doubt.

    Called when the candidate's child is gone: more blocks of the reference show how fast it is with nobody
    beside it.
    """
    alone = [bench.reference_block() for _ in range(NUM_ALONE)]
    held = hold(settings, candidate, interleaved, alone)
    if not held.agree:
        raise ClocksDisagree(held)
    median, interval = min(_median_of(interleaved), _median_of(alone))
    floor_us, bandwidth_share = floor(bench, held.median_us)
    return HostTiming(
        device=bench.base.device_name,
        median_us=held.median_us,
        interval_us=held.interval_us,
        claimed_us=held.claimed_us,
        wall_us=held.wall_us,
        overhead_us=held.overhead_us,
        left_us=held.left_us,
        reference_median_us=median,
        reference_interval_us=interval,
        num_samples=sum(block.calls for block in candidate),
        floor_us=floor_us,
        bandwidth_share=bandwidth_share,
        own_kernel_share=own_kernel_share,
        other_references_us=other_references(bench, settings),
    )


def hold(
    settings: HostSettings,
    candidate: Sequence[Block],
    interleaved: Sequence[Block],
    alone: Sequence[Block] = (),
) -> HeldTime:
    """Both clocks, with the slack that is set."""
    return hold_against_wall(
        candidate,
        interleaved,
        alone,
        slack_us=settings.clock_slack_us,
        slack_share=settings.clock_slack_share,
    )


def _median_of(blocks: Sequence[Block]) -> tuple[float, tuple[float, float]]:
    return median_interval([value for block in blocks for value in block.claimed_us])


def floor(bench: TaskBench, median_us: float) -> tuple[float | None, float | None]:
    """(least possible time, share of the peak bandwidth); refuses what is faster than light."""
    card = bench.base.card
    if card is None:
        return None, None
    call = bench.base.layout.call
    moved = bench.task.bytes_moved or call.compulsory_bytes
    floor_us = max(card.least_us(moved_bytes=moved, written_bytes=call.output_bytes), 1e-3)
    if median_us < FLOOR_SLACK * floor_us:
        raise Rejected(Verdict.TOO_FAST, floor_words(median_us, floor_us, card.name))
    return floor_us, moved / median_us / card.dram_bytes_per_us


def other_references(bench: TaskBench, settings: HostSettings) -> dict[str, float]:
    """Medians of the other baselines, where they were asked for."""
    if not settings.compiled_reference:
        return {}
    return {"torch.compile": median_interval(bench.reference_block("torch.compile").claimed_us)[0]}


def disagreement_words(held: HeldTime) -> str:
    if held.goes_on:
        return (
            f"its process claims {held.claimed_us:.1f} us a call, but the device goes on for "
            f"{held.left_us:.1f} us after it: work is done outside the call (another stream)"
        )
    if held.wall_us <= held.claimed_us + SLACK_US:
        return f"its process claims {held.claimed_us:.1f} us for most calls, and far more for many others"
    return (
        f"its process claims {held.claimed_us:.1f} us a call, but the wall clock leaves "
        f"{held.wall_us:.1f} us, without {held.overhead_us:.1f} us for the harness: work is done outside the "
        "call (another stream, a thread, a patched timer)"
    )
