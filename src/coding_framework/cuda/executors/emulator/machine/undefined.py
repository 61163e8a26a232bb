"""What CUDA leaves undefined although a card mostly lets it pass: a verdict, or a finding beside one.

Guaranteed: under the strict memory model the first of them ends the run; otherwise the run goes on, and
each is noted once for its place in the source.
"""

from __future__ import annotations

from coding_framework.cuda.executors.base import ExecutionFault, FaultKind
from coding_framework.cuda.executors.emulator.faults import KernelFault

MAX_NOTED = 20


class Undefined:
    """What was met in one run."""

    def __init__(self, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._noted: dict[tuple[FaultKind, int | None, int | None], ExecutionFault] = {}
        self.idle_sources: set[int | None] = set()
        """Lines of shuffles that read from lanes which took no part; harmless where nobody uses the value."""

    @property
    def noted(self) -> tuple[ExecutionFault, ...]:
        return tuple(self._noted.values())

    def meet(self, fault: KernelFault) -> None:
        """The verdict, or a note of it."""
        if self._is_strict:
            raise fault
        self.note(fault.fault)

    def note_idle_source(self, line: int | None) -> None:
        self.idle_sources.add(line)

    def note(self, found: ExecutionFault) -> None:
        """Something to say that is no verdict under any model."""
        if len(self._noted) < MAX_NOTED:
            self._noted.setdefault((found.kind, found.source_line, found.other_line), found)
