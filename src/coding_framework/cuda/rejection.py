"""How a verdict travels from the gate that found it to the judge, and what is known on the way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from coding_framework.records import CompilationResult, Finding, Gate, ShapeCheck, ShapeKind, Verdict


class Rejected(Exception):
    """Carries a verdict up to `Judge.judge`; never leaves the judge."""

    def __init__(self, verdict: Verdict, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.line = line


@dataclass
class Progress:
    """What is known so far about the candidate being judged."""

    compilation: CompilationResult | None = None
    findings: tuple[Finding, ...] = ()
    checks: list[ShapeCheck] = field(default_factory=list)
    num_checks_planned: int = 0
    checking: ShapeKind | None = None
    """What is being checked now."""
    gate_seconds: dict[Gate, float] = field(default_factory=dict)
    deadline: float = 0.0

    def add_findings(self, found: Iterable[Finding]) -> None:
        """Those that say something new."""
        known = {(finding.rule, finding.line) for finding in self.findings}
        self.findings += tuple(finding for finding in found if (finding.rule, finding.line) not in known)

    def failed_on(self, verdict: Verdict) -> ShapeKind | None:
        """The kind of shape behind a verdict that a run gave."""
        return self.checking if verdict.gate in (Gate.RUN, Gate.CHECK) else None

    @contextmanager
    def gate(self, gate: Gate) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.gate_seconds[gate] = self.gate_seconds.get(gate, 0.0) + elapsed
