"""Progress on standard error: a live bar on a terminal, a plain line now and then anywhere else.

A log file full of redrawn bars is unreadable, so without a terminal one line is printed at the start, at
most one every `PLAIN_INTERVAL_S`, and one at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from coding_framework.monitoring.console import stderr_console

PLAIN_INTERVAL_S = 5.0


class ProgressBar(Protocol):
    """What a loop tells about its progress."""

    def advance(self, steps: int = 1, **metrics: float) -> None:
        """`steps` more are done; the latest metrics are shown beside the bar."""


@contextmanager
def progress_bar(
    description: str, total: int | None, *, console: Console | None = None
) -> Iterator[ProgressBar]:
    """A bar for one loop; `total` of None means that the end is not known."""
    console = console or stderr_console()
    if not console.is_terminal:
        plain = _PlainProgress(console, description, total)
        try:
            yield plain
        finally:
            plain.close()
        return
    with Progress(*_columns(), console=console) as progress:
        yield _LiveProgress(progress, progress.add_task(escape(description), total=total, extra=""))


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[extra]}"),
    )


def _words(metrics: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in metrics.items())


class _LiveProgress:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def advance(self, steps: int = 1, **metrics: float) -> None:
        self._progress.advance(self._task, steps)
        if metrics:
            self._progress.update(self._task, extra=escape(_words(metrics)))


class _PlainProgress:
    def __init__(self, console: Console, description: str, total: int | None) -> None:
        self._console = console
        self._description = description
        self._total = total
        self._done = 0
        self._printed_done = -1
        self._metrics: dict[str, float] = {}
        self._started_s = self._printed_s = time.monotonic()
        self._print()

    def advance(self, steps: int = 1, **metrics: float) -> None:
        self._done += steps
        self._metrics = metrics or self._metrics
        if time.monotonic() - self._printed_s >= PLAIN_INTERVAL_S:
            self._print()

    def close(self) -> None:
        if self._done != self._printed_done:
            self._print()

    def _print(self) -> None:
        self._printed_s, self._printed_done = time.monotonic(), self._done
        total = "?" if self._total is None else self._total
        elapsed_s = self._printed_s - self._started_s
        line = f"{self._description}: {self._done}/{total}  {elapsed_s:.0f} s  {_words(self._metrics)}"
        self._console.print(line.rstrip(), markup=False, soft_wrap=True)
