"""One pass over an archive: order, check, choose, leave out repetitions. Both loaders are this with a check.

Guarantees: every row is counted once in the log; what a check refuses never comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from coding_framework.data.archives.order import interleaved, mixed, random_for
from coding_framework.data.archives.problems import ProblemLog, RowError, RowProblem
from coding_framework.data.archives.reading import RawRow, Shard

T = TypeVar("T")


class ArchivePasses(Generic[T]):
    """How an archive is gone through, as often as is wanted."""

    def __init__(
        self,
        shards: Sequence[Shard],
        check: Callable[[RawRow], T],
        *,
        seed: int | None,
        wants: Callable[[T], bool],
        content: Callable[[T], str] | None,
    ) -> None:
        """`check` raises `RowError`; `content` is the key of a repetition, None: repetitions are kept."""
        self._shards = tuple(shards)
        self._check = check
        self._seed = seed
        self._wants = wants
        self._content = content

    def chosen(self, log: ProblemLog, epoch: int) -> Iterator[T]:
        """Sound rows that are wanted, each content once."""
        seen: set[str] = set()
        for row in self._sound(log, epoch):
            key = self._content(row) if self._content is not None else None
            if not self._wants(row):
                log.rows_filtered += 1
            elif key is not None and key in seen:
                log.rows_repeated += 1
            else:
                if key is not None:
                    seen.add(key)
                yield row

    def in_order(self, log: ProblemLog) -> Iterator[T]:
        """Every sound row as the archive has them, the first as soon as it can be read.

        Raises `NotAvailableError` at once where a later part of the archive cannot be reached.
        """
        for shard in self._shards:
            shard.check()
        return self._sound(log, None)

    def _sound(self, log: ProblemLog, epoch: int | None) -> Iterator[T]:
        """Mixed before they are checked: a row that waits costs its text and no parsed profile."""
        random = random_for(self._seed, epoch) if self._seed is not None and epoch is not None else None
        for raw in mixed(interleaved(self._shards, log, random), random):
            try:
                row = self._check(raw)
            except RowError as error:
                log.add(_problem(raw, error))
            else:
                yield row


def _problem(raw: RawRow, error: RowError) -> RowProblem:
    return RowProblem(kind=error.kind, file=raw.file, row=raw.number, column=error.column, words=error.words)
