"""What a run met that is no verdict, as findings beside the verdict."""

from __future__ import annotations

from coding_framework.cuda.analysis.findings import in_order, safety
from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, FaultKind
from coding_framework.cuda.verdicts import without_sizes
from coding_framework.records import Finding, Severity

_RULES: dict[FaultKind, tuple[str, Severity]] = {
    FaultKind.DATA_RACE: ("race-within-a-warp", "warning"),
    FaultKind.UNDEFINED: ("undefined-in-a-warp", "warning"),
    FaultKind.DEADLOCK: ("barrier-not-reached", "info"),
}


def run_findings(outcome: ExecutionOutcome, *, hidden: bool) -> tuple[Finding, ...]:
    """One for each place in the source; of a hidden shape no numbers are told."""
    return in_order(_finding(noted, hidden=hidden) for noted in outcome.noted)


def _finding(noted: ExecutionFault, *, hidden: bool) -> Finding:
    rule, severity = _RULES[noted.kind]
    words = without_sizes(noted.message) if hidden else noted.message
    reason, _, suggestion = words.rpartition("; ")
    return safety(rule, severity, noted.source_line, reason, suggestion[:1].upper() + suggestion[1:])
