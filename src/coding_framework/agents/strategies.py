"""Which optimisations a kernel uses, and what each of them gave.

An optimizer that is not told what was tried tries it again. `recognise` reads the strategies off the
syntax tree and the launch plan (and off the profile, where the counters know better than the text);
`tried_words` says what they gave, short enough for a prompt.

Guarantees: never raises whatever the text, is deterministic, and answers within milliseconds (noise as
long as is read takes under two seconds). Not guaranteed: completeness. Strategies are patterns of code,
so one that is written in an unusual way, or behind a macro, is not seen; and a pattern that is there need
not have helped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field

from coding_framework.agents.code_facts import CodeFacts, read_facts
from coding_framework.records import Evaluation, ProfileReport, Record, Verdict

MAX_TRIED_CHARS = 320
"""About 110 tokens of a prompt."""


class Strategy(StrEnum):
    """One way to make a kernel faster."""

    VECTORISED_LOADS = "vectorised_loads"
    GRID_STRIDE = "grid_stride"
    BLOCK_PER_ROW = "block_per_row"
    WARP_PER_ROW = "warp_per_row"
    SHARED_TILING = "shared_tiling"
    SHARED_REDUCTION = "shared_reduction"
    PADDED_SHARED_MEMORY = "padded_shared_memory"
    SWIZZLED_SHARED_MEMORY = "swizzled_shared_memory"
    DOUBLE_BUFFERING = "double_buffering"
    WARP_SHUFFLE = "warp_shuffle"
    REGISTER_TILING = "register_tiling"
    REGISTER_CACHING = "register_caching"
    LOOP_UNROLLING = "loop_unrolling"
    RESTRICT_OR_LDG = "restrict_or_ldg"
    CONSTANT_MEMORY = "constant_memory"
    ONLINE_ALGORITHM = "online_algorithm"
    TWO_PASS_SCRATCH = "two_pass_scratch"
    HALF2 = "half2"
    TENSOR_CORES = "tensor_cores"
    ATOMICS = "atomics"
    LAUNCH_BOUNDS = "launch_bounds"
    FAST_MATH_INTRINSICS = "fast_math_intrinsics"
    ASYNC_COPY = "async_copy"

    @property
    def words(self) -> str:
        """As a prompt names it."""
        return self.value.replace("_", " ")


class StrategyOutcome(Record):
    """What one strategy gave in one turn; strategies of the same turn share its result."""

    strategy: Strategy
    """What was tried."""
    turn: int = Field(ge=0)
    """In which turn."""
    speedup: float | None = Field(default=None, gt=0)
    """Of that turn's kernel over the reference; None where it did not pass."""
    verdict: Verdict
    """What the judge said of it."""


def recognise(source: str, profile: ProfileReport | None = None) -> frozenset[Strategy]:
    """The strategies that a source of the `kernel` or `extension` contract uses."""
    facts = read_facts(source)
    found = {strategy for strategy, is_used in _RULES.items() if is_used(facts)}
    if profile is not None:
        _correct_by_counters(found, profile)
    return frozenset(found)


def outcomes_of(evaluation: Evaluation, turn: int) -> tuple[StrategyOutcome, ...]:
    """One outcome for each strategy in the kernel that was judged, in the order of `Strategy`."""
    if evaluation.candidate is None:
        return ()
    used = recognise(evaluation.candidate.source, evaluation.profile)
    return tuple(
        StrategyOutcome(strategy=strategy, turn=turn, speedup=evaluation.speedup, verdict=evaluation.verdict)
        for strategy in Strategy
        if strategy in used
    )


def tried_words(outcomes: Iterable[StrategyOutcome], *, max_chars: int = MAX_TRIED_CHARS) -> str:
    """What was tried and what it gave, by turn; the oldest turns are left out where it grows too long.

    Empty when nothing was tried.
    """
    by_turn: dict[int, list[StrategyOutcome]] = {}
    for outcome in outcomes:
        by_turn.setdefault(outcome.turn, []).append(outcome)
    entries = [_turn_words(by_turn[turn]) for turn in sorted(by_turn)]
    while entries and len(_joined(entries)) > max_chars:
        entries = entries[1:]
    return _joined(entries) if entries else ""


def _joined(entries: Sequence[str]) -> str:
    return f"Already tried: {'; '.join(entries)}."


def _turn_words(outcomes: Sequence[StrategyOutcome]) -> str:
    names = ", ".join(dict.fromkeys(outcome.strategy.words for outcome in outcomes))
    last = outcomes[-1]
    result = f"{last.speedup:.2f}x" if last.speedup is not None else last.verdict.value.replace("_", " ")
    return f"{names} → {result}"


def _correct_by_counters(found: set[Strategy], profile: ProfileReport) -> None:
    """What was executed counts more than what is written: a helper may shuffle, or never be called."""
    if profile.uses_warp_shuffle:
        found.add(Strategy.WARP_SHUFFLE)
    if not profile.uses_shared_memory:
        found -= _NEEDS_SHARED_MEMORY


_NEEDS_SHARED_MEMORY = {
    Strategy.SHARED_TILING,
    Strategy.SHARED_REDUCTION,
    Strategy.PADDED_SHARED_MEMORY,
    Strategy.SWIZZLED_SHARED_MEMORY,
    Strategy.DOUBLE_BUFFERING,
}

_RULES = {
    Strategy.VECTORISED_LOADS: CodeFacts.points_at_vectors,
    Strategy.GRID_STRIDE: CodeFacts.steps_by_the_grid,
    Strategy.BLOCK_PER_ROW: CodeFacts.steps_by_the_block,
    Strategy.WARP_PER_ROW: CodeFacts.steps_by_the_warp,
    Strategy.SHARED_TILING: CodeFacts.stages_through_shared_memory,
    Strategy.SHARED_REDUCTION: CodeFacts.combines_in_shared_memory,
    Strategy.PADDED_SHARED_MEMORY: CodeFacts.pads_shared_rows,
    Strategy.SWIZZLED_SHARED_MEMORY: CodeFacts.swizzles_shared_memory,
    Strategy.DOUBLE_BUFFERING: CodeFacts.alternates_shared_buffers,
    Strategy.WARP_SHUFFLE: CodeFacts.exchanges_in_the_warp,
    Strategy.REGISTER_TILING: CodeFacts.accumulates_in_a_local_array,
    Strategy.REGISTER_CACHING: CodeFacts.keeps_values_in_a_local_array,
    Strategy.LOOP_UNROLLING: CodeFacts.asks_for_unrolling,
    Strategy.RESTRICT_OR_LDG: CodeFacts.promises_no_aliasing,
    Strategy.CONSTANT_MEMORY: CodeFacts.has_constant_memory,
    Strategy.ONLINE_ALGORITHM: CodeFacts.corrects_running_statistics,
    Strategy.TWO_PASS_SCRATCH: CodeFacts.passes_results_between_launches,
    Strategy.HALF2: CodeFacts.computes_on_pairs_of_halves,
    Strategy.TENSOR_CORES: CodeFacts.multiplies_on_tensor_cores,
    Strategy.ATOMICS: CodeFacts.adds_atomically,
    Strategy.LAUNCH_BOUNDS: CodeFacts.bounds_the_launch,
    Strategy.FAST_MATH_INTRINSICS: CodeFacts.uses_fast_math,
    Strategy.ASYNC_COPY: CodeFacts.copies_asynchronously,
}
