"""Archives as sources: KernelBench's problems, and those of the AI CUDA Engineer with their kernels.

Guarantees: what the loaders refuse is passed on by kind with its count and first place; a kernel that the
archive calls wrong is never given. An archive is read once for its tasks and once more for its kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from coding_framework.data.archives.loaders import make_loader
from coding_framework.data.archives.problems import LoadReport
from coding_framework.data.kernelbench_loader import KernelBenchLoader
from coding_framework.data.sakana_loader import ArchiveFilter, SakanaDataLoader
from coding_framework.data.sources.protocol import BrokenTask, KnownKernel, TaskItem


class KernelBenchSource:
    """Problems in KernelBench's form."""

    def __init__(self, location: str | Path | None = None) -> None:
        """From the hub's data set where no location is given."""
        self._location = location

    def tasks(self) -> Iterator[TaskItem]:
        loader = make_loader("kernelbench", self._location, seed=None)
        assert isinstance(loader, KernelBenchLoader)
        stream = loader.tasks()
        yield from stream
        yield from broken_rows(stream.report)


class SakanaSource:
    """Problems of the AI CUDA Engineer archive, with the kernels that it calls correct."""

    def __init__(self, location: str | Path | None = None) -> None:
        """From the hub's data set where no location is given."""
        self._location = location

    def tasks(self) -> Iterator[TaskItem]:
        stream = self._loader(ArchiveFilter()).examples()
        seen: set[tuple[str, str]] = set()
        for example in stream:
            identity = (example.task.name, example.task.source)
            if identity not in seen:
                seen.add(identity)
                yield example.task
        yield from broken_rows(stream.report)

    def kernels(self) -> Iterator[KnownKernel]:
        wanted = ArchiveFilter(outcomes=frozenset({"correct"}))
        for example in self._loader(wanted).examples():
            claimed_ms = example.archive_timing.archive_cuda_ms
            yield KnownKernel(
                task=example.task.name,
                candidate=example.candidate,
                claimed_us=claimed_ms * 1e3 if claimed_ms else None,
            )

    def _loader(self, wanted: ArchiveFilter) -> SakanaDataLoader:
        if self._location is None:
            return SakanaDataLoader(seed=None, wanted=wanted)
        return SakanaDataLoader(self._location, seed=None, wanted=wanted)


def broken_rows(report: LoadReport) -> Iterable[BrokenTask]:
    """One for each kind of problem."""
    for kind, count in sorted(report.problems_by_kind.items()):
        first = next((problem for problem in report.problems if problem.kind == kind), None)
        place, words = (first.place, first.words) if first else (report.source, "")
        yield BrokenTask(place=place, words=f"{kind}: {words}" if words else kind, count=count)
