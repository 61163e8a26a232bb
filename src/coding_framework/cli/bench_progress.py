"""Bars of the benchmarks, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def steps_shown() -> Iterator[Callable[[str, int], Callable[[], None]]]:
    """One bar for each phase, on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from coding_framework.cli.output import stderr_console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr_console(), transient=True) as progress:

        def step(name: str, total: int) -> Callable[[], None]:
            bar = progress.add_task(name, total=total)
            return lambda: progress.advance(bar)

        yield step
