"""Building findings: one place for wording, order and removal of doubles."""

from __future__ import annotations

from collections.abc import Iterable

from coding_framework.records import Finding, Severity

MAX_FINDINGS = 60
"""A source that breaks a rule ten thousand times is told so sixty times."""
_ORDER: dict[Severity, int] = {"critical": 0, "error": 1, "warning": 2, "info": 3}
_WEIGHT: dict[Severity, float] = {"critical": 0.9, "error": 0.3, "warning": 0.1, "info": 0.02}


def security(rule: str, severity: Severity, line: int | None, reason: str, suggestion: str) -> Finding:
    return Finding(
        rule=rule, category="security", severity=severity, line=line, reason=reason, suggestion=suggestion
    )


def safety(rule: str, severity: Severity, line: int | None, reason: str, suggestion: str) -> Finding:
    return Finding(
        rule=rule, category="safety", severity=severity, line=line, reason=reason, suggestion=suggestion
    )


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding a rule and line, the worst of them; by line; the worst kept where there are too many."""
    kept: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.line)
        if key not in kept or _ORDER[finding.severity] < _ORDER[kept[key].severity]:
            kept[key] = finding
    worst = sorted(kept.values(), key=lambda finding: _ORDER[finding.severity])[:MAX_FINDINGS]
    return tuple(sorted(worst, key=lambda finding: (finding.line or 0, finding.rule)))


def risk_score(findings: Iterable[Finding]) -> float:
    """0 for none, near 1 for a critical one; warnings add up slowly."""
    safe = 1.0
    for finding in findings:
        safe *= 1.0 - _WEIGHT[finding.severity]
    return 1.0 - safe
