"""Pairs by the thousand: drafts of every family in turn, settled side by side, until each has enough.

Guarantees: pairs come in the order of their drafts and follow from the seed (as far as the judge's
verdicts do, whose inputs are fresh each time); a family that cannot give as many is named, with what it
gave; an interruption by `on_settled` ends it at once. Every draft is either kept or counted with its
reason; drafts in flight when a family is full are neither.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from pydantic import Field

from coding_framework.data.pair_judging import RejectedDraft
from coding_framework.data.pair_records import PairKind, SFTPair
from coding_framework.data.pairs.drafts import CatalogueDraft, Family
from coding_framework.data.pairs.known import KnownDraft, KnownFamily
from coding_framework.records import Record

AnyDraft = CatalogueDraft | KnownDraft
AnyFamily = Family | KnownFamily
Settle = Callable[[AnyDraft], SFTPair | RejectedDraft]
OnSettled = Callable[[SFTPair | RejectedDraft], None]
MAX_TRIES_A_PAIR = 4
"""Drafts a wanted pair after which a family counts as exhausted."""


class HitRates(Record):
    """What was not computed anew, and how often."""

    judged_in_full: int = Field(ge=0)
    """Candidates that went through the gates, broken ones up to the gate that stopped them."""
    shared: int = Field(ge=0)
    """Candidates whose PTX and plan had passed under another text: compiled, not run."""
    remembered: int = Field(ge=0)
    """Candidates whose very text had been judged."""
    compiled: int = Field(ge=0)
    """Compilations asked for."""
    from_cache: int = Field(ge=0)
    """Of these, found on disk."""

    def since(self, earlier: HitRates) -> HitRates:
        """What was added after `earlier`."""
        before = earlier.model_dump()
        return HitRates(**{name: value - before[name] for name, value in self.model_dump().items()})

    @property
    def shared_rate(self) -> float:
        asked = self.judged_in_full + self.shared + self.remembered
        return (self.shared + self.remembered) / asked if asked else 0.0

    @property
    def cache_rate(self) -> float:
        return self.from_cache / self.compiled if self.compiled else 0.0


class MadePairs(Record):
    """What came of it."""

    pairs: tuple[SFTPair, ...]
    """In the order of their drafts."""
    rejected: dict[str, int]
    """Drafts that were dropped, by reason."""
    short: dict[str, int]
    """Families that gave fewer than wanted, with how many they gave."""
    seconds: float = Field(ge=0)
    """Wall-clock time."""

    def count(self, *, tier: int | None = None, kind: PairKind | None = None) -> int:
        return sum((tier in (None, p.tier)) and (kind in (None, p.kind)) for p in self.pairs)


def make_pairs(
    chosen: Sequence[AnyFamily],
    per_family: int,
    seed: int,
    settle: Settle,
    *,
    workers: int = 2,
    on_settled: OnSettled | None = None,
) -> MadePairs:
    """`per_family` pairs of each family, or as many as it has."""
    started = time.perf_counter()
    ledger = _Ledger(chosen, per_family)
    drafts = _open_drafts(chosen, seed, ledger)
    for family, outcome in in_order(drafts, settle, workers):
        if ledger.take(family, outcome) and on_settled is not None:
            on_settled(outcome)
    return MadePairs(
        pairs=tuple(ledger.pairs),
        rejected=dict(ledger.reasons),
        short={name: kept for name, kept in ledger.kept.items() if kept < per_family},
        seconds=time.perf_counter() - started,
    )


class _Ledger:
    """Who has how many; a family is open until it has enough, or has tried often enough."""

    def __init__(self, chosen: Sequence[AnyFamily], per_family: int) -> None:
        self.pairs: list[SFTPair] = []
        self.reasons: Counter[str] = Counter()
        self.kept: Counter[str] = Counter({family.name: 0 for family in chosen})
        self._tried: Counter[str] = Counter()
        self._wanted = per_family

    def is_open(self, family: str) -> bool:
        limit = MAX_TRIES_A_PAIR * self._wanted + 100
        return self.kept[family] < self._wanted and self._tried[family] < limit

    def take(self, family: str, outcome: SFTPair | RejectedDraft) -> bool:
        """False for what came after the family was full."""
        if not self.is_open(family):
            return False
        self._tried[family] += 1
        if isinstance(outcome, SFTPair):
            self.kept[family] += 1
            self.pairs.append(outcome)
        else:
            self.reasons[outcome.reason] += 1
        return True


def _open_drafts(chosen: Sequence[AnyFamily], seed: int, ledger: _Ledger) -> Iterator[tuple[str, AnyDraft]]:
    number = 0
    while left := [one for one in chosen if ledger.is_open(one.name) and not one.is_exhausted(number)]:
        for family in left:
            for draft in family.cluster(seed, number):
                if ledger.is_open(family.name):
                    yield family.name, draft
        number += 1


def in_order(
    drafts: Iterator[tuple[str, AnyDraft]], settle: Settle, workers: int
) -> Iterator[tuple[str, SFTPair | RejectedDraft]]:
    """Settled `workers` at a time, a few ahead of the one that is waited for."""
    waiting: deque[tuple[str, Future[SFTPair | RejectedDraft]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="pairs") as threads:
        try:
            for family, draft in drafts:
                waiting.append((family, threads.submit(settle, draft)))
                if len(waiting) > 3 * workers:
                    name, future = waiting.popleft()
                    yield name, future.result()
            while waiting:
                name, future = waiting.popleft()
                yield name, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
