"""The order in which rows are handed out: drawn from several shards, mixed in a buffer, resumable.

Guarantees: the same shards, seed and epoch give the same order; a stream that skips `n` items goes on
exactly where another one stood after `n`. Skipping reads the skipped rows again: a position is one
number, and nothing else has to be kept in a checkpoint. Memory is bounded by the buffer. The mix is
as good as the buffer is large; it is no uniform permutation of an archive that is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Generic, TypeVar

from coding_framework.data.archives.problems import LoadReport, ProblemLog
from coding_framework.data.archives.reading import RawRow, Shard

T = TypeVar("T")
SHARDS_OPEN = 8
"""How many shards are drawn from at a time."""
BUFFER_ROWS = 2048
"""Rows that wait to be mixed; some 30 MB of archive."""


def random_for(seed: int, epoch: int) -> Random:
    """A generator that differs from epoch to epoch."""
    return Random(f"archive order {seed} {epoch}")


def interleaved(shards: Sequence[Shard], log: ProblemLog, random: Random | None) -> Iterator[RawRow]:
    """Rows of all shards: one shard after another, or drawn from several at once."""
    waiting = list(shards)
    if random is not None:
        random.shuffle(waiting)
    width = 1 if random is None else SHARDS_OPEN
    waiting.reverse()
    streams: list[Iterator[RawRow]] = []
    while waiting or streams:
        while waiting and len(streams) < width:
            streams.append(waiting.pop().rows(log))
        chosen = random.randrange(len(streams)) if random is not None else 0
        row = next(streams[chosen], None)
        if row is None:
            del streams[chosen]
        else:
            yield row


def mixed(items: Iterator[T], random: Random | None, buffer_rows: int = BUFFER_ROWS) -> Iterator[T]:
    """The items in another order; every one of them waits in a buffer until it is drawn."""
    if random is None:
        yield from items
        return
    buffer: list[T] = []
    for item in items:
        if len(buffer) < buffer_rows:
            buffer.append(item)
            continue
        place = random.randrange(buffer_rows)
        drawn, buffer[place] = buffer[place], item
        yield drawn
    random.shuffle(buffer)
    yield from buffer


class ArchiveStream(Iterator[T], Generic[T]):
    """Items of one pass over an archive, with its position and what was wrong so far."""

    def __init__(self, start: Callable[[ProblemLog], Iterator[T]], source: str, skip: int) -> None:
        if skip < 0:
            raise ValueError("skip must not be negative")
        self._log = ProblemLog(source)
        self._items = start(self._log)
        self._to_skip = skip

    def __next__(self) -> T:
        while True:
            try:
                item = next(self._items)
            except StopIteration:
                self._log.complete = True
                raise
            self._log.rows_kept += 1
            if self._to_skip == 0:
                return item
            self._to_skip -= 1

    @property
    def position(self) -> int:
        """Items handed out by this stream and by those that it continues: what `skip` wants next time."""
        return self._log.rows_kept

    @property
    def report(self) -> LoadReport:
        """What is known by now; whole after the last item."""
        return self._log.report()
