"""Pairs by the thousand: drafts of every source in turn, settled side by side, until each has enough.

A source is a family of tasks, or the short kernels for one agent. Guarantees: pairs come in the order of
their drafts and follow from the seed (as far as the judge's verdicts do, whose inputs are fresh each time);
a source that cannot give as many is named, with what it gave; an interruption by `on_settled` ends it at
once. Every draft is either kept or counted with its reason; drafts in flight when a source is full are
neither.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from pydantic import Field

from coding_framework.data.pair_records import PairKind, RejectedDraft, SFTPair
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.known import KnownDraft
from coding_framework.data.pairs.normal_code import tokens
from coding_framework.records import Record

AnyDraft = CatalogueDraft | KnownDraft
Settle = Callable[[AnyDraft], SFTPair | RejectedDraft]
OnSettled = Callable[[SFTPair | RejectedDraft], None]
MAX_TRIES_A_PAIR = 4
"""Drafts a wanted pair after which a source counts as exhausted."""


class DraftSource(Protocol):
    """Gives drafts by number; those of a number follow from the seed and that number."""

    @property
    def name(self) -> str: ...

    def cluster(self, seed: int, number: int) -> Iterator[AnyDraft]: ...

    def is_exhausted(self, number: int) -> bool:
        """Whether nothing is left from this number on."""
        ...


Wanted = tuple[DraftSource, int]
"""A source, and how many pairs of it."""


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
    """Sources that gave fewer than wanted, with how many they gave."""
    seconds: float = Field(ge=0)
    """Wall-clock time."""

    def count(self, *, tier: int | None = None, kind: PairKind | None = None) -> int:
        return sum((tier in (None, p.tier)) and (kind in (None, p.kind)) for p in self.pairs)


def make_pairs(
    wanted: Sequence[Wanted],
    seed: int,
    settle: Settle,
    *,
    workers: int = 2,
    on_settled: OnSettled | None = None,
) -> MadePairs:
    """As many pairs of each source as are wanted, or as it has."""
    started = time.perf_counter()
    ledger = _Ledger({source.name: count for source, count in wanted})
    drafts = _open_drafts([source for source, _ in wanted], seed, ledger)
    for name, outcome in in_order(drafts, settle, workers):
        if ledger.take(name, outcome) and on_settled is not None:
            on_settled(outcome)
    return MadePairs(
        pairs=tuple(ledger.pairs),
        rejected=dict(ledger.reasons),
        short=ledger.short,
        seconds=time.perf_counter() - started,
    )


class _Ledger:
    """Who has how many; a source is open until it has enough, or has tried often enough."""

    def __init__(self, wanted: Mapping[str, int]) -> None:
        self.pairs: list[SFTPair] = []
        self.reasons: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()
        self._wanted = wanted

    @property
    def short(self) -> dict[str, int]:
        return {name: self._kept[name] for name, count in self._wanted.items() if self._kept[name] < count}

    def is_open(self, source: str) -> bool:
        wanted = self._wanted[source]
        return self._kept[source] < wanted and self._tried[source] < MAX_TRIES_A_PAIR * wanted + 100

    def take(self, source: str, outcome: SFTPair | RejectedDraft) -> bool:
        """False for what came after the source was full."""
        if not self.is_open(source):
            return False
        self._tried[source] += 1
        if isinstance(outcome, SFTPair):
            self._kept[source] += 1
            self.pairs.append(outcome)
        else:
            self.reasons[outcome.reason] += 1
        return True


def _open_drafts(
    sources: Sequence[DraftSource], seed: int, ledger: _Ledger
) -> Iterator[tuple[str, AnyDraft]]:
    number = 0
    while left := [one for one in sources if ledger.is_open(one.name) and not one.is_exhausted(number)]:
        for source in left:
            for draft in source.cluster(seed, number):
                if ledger.is_open(source.name):
                    yield source.name, draft
        number += 1


def in_order(
    drafts: Iterator[tuple[str, AnyDraft]], settle: Settle, workers: int
) -> Iterator[tuple[str, SFTPair | RejectedDraft]]:
    """Settled `workers` at a time, a few ahead of the one that is waited for.

    What says the same as an earlier one is dropped here, so that it does not matter which was settled first.
    """
    seen: set[bytes] = set()
    for source, outcome in _settled(drafts, settle, workers):
        if isinstance(outcome, SFTPair):
            identity = _identity(outcome)
            if identity in seen:
                words = "the same request was answered with the same tokens"
                dropped = RejectedDraft(
                    task=outcome.task, reason="duplicate", message=words, kind=outcome.kind
                )
                yield source, dropped
                continue
            seen.add(identity)
        yield source, outcome


def _identity(pair: SFTPair) -> bytes:
    """The same for a request and an answer that differ in nothing but layout."""
    words = "\0".join((*(message.content for message in pair.messages), *tokens(pair.source)))
    return hashlib.sha256(words.encode()).digest()


def _settled(
    drafts: Iterator[tuple[str, AnyDraft]], settle: Settle, workers: int
) -> Iterator[tuple[str, SFTPair | RejectedDraft]]:
    waiting: deque[tuple[str, Future[SFTPair | RejectedDraft]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="pairs") as threads:
        try:
            for source, draft in drafts:
                waiting.append((source, threads.submit(settle, draft)))
                if len(waiting) > 3 * workers:
                    name, future = waiting.popleft()
                    yield name, future.result()
            while waiting:
                name, future = waiting.popleft()
                yield name, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
