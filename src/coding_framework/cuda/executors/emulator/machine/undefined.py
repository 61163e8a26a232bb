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
        self.is_strict = is_strict
        self._noted: dict[tuple[FaultKind, int | None, int | None], ExecutionFault] = {}
        self.idle_sources: set[int] = set()
        """Lines of shuffles that read from lanes which take no part; harmless where nobody uses the value."""

    @property
    def noted(self) -> tuple[ExecutionFault, ...]:
        return tuple(self._noted.values())

    def meet(self, fault: KernelFault) -> None:
        """The verdict, or a note of it."""
        if self.is_strict:
            raise fault
        self.note(fault.fault)

    def read_from_nobody(self, line: int | None) -> None:
        """A shuffle's source lane takes no part. No verdict by itself: most such values are never used."""
        self.idle_sources.add(line or 0)
        if not self.is_strict:
            words = (
                f"the shuffle on line {line} reads from a lane that takes no part in it; what it gets is "
                "undefined, so use only what comes from lanes that take part"
            )
            self.note(ExecutionFault(FaultKind.UNDEFINED, words, line))

    def note(self, found: ExecutionFault) -> None:
        """Something to say that is no verdict under any model."""
        if len(self._noted) < MAX_NOTED:
            self._noted.setdefault((found.kind, found.source_line, found.other_line), found)
