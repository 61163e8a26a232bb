"""What static analysis would change in a kernel, as a few lines of advice.

The judge's own findings (security, safety) come first; where they leave room, the pitfall detector is
asked about sources that compiled. Guarantees: at most `MAX_ADVICE` lines, deterministic, never raises.
"""

from __future__ import annotations

import re

from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
from coding_framework.records import (
    Evaluation,
    Finding,
    LaunchPlan,
    ModuleTask,
    ProfileReport,
    Task,
    Verdict,
)

MAX_ADVICE = 2
_RANK = {"critical": 0, "error": 1, "warning": 2}
"""What is worth a line of the prompt; `info` is not."""
_WRONG_RESULTS = frozenset(
    {
        "missing-bounds-check",
        "missing-barrier",
        "shared-read-before-write",
        "barrier-in-divergent-code",
        "shift-mask",
    }
)
"""Pitfalls that make a kernel fail; of the others a kernel that fails is not told."""
_QUOTED_BY_THE_VERDICT = frozenset({Verdict.UNSAFE, Verdict.DATA_RACE, Verdict.OUT_OF_BOUNDS})
_CLAUSE_END = re.compile(r", so |; |\. |, e\.g\. |, or |, such as ")
_NO_CONFLICTS, _GOOD_COALESCING = 0.1, 0.8


def advice_lines(task: Task | ModuleTask, evaluation: Evaluation) -> list[str]:
    """The gravest findings on this candidate, one of each kind, with what to do instead."""
    if evaluation.candidate is None:
        return []
    findings = [*evaluation.findings, *_pitfalls(task, evaluation)]
    wanted = [finding for finding in findings if _is_worth_saying(finding, evaluation)]
    wanted.sort(key=lambda finding: (_RANK[finding.severity], finding.line or 0))
    by_rule: dict[str, Finding] = {}
    for finding in wanted:
        by_rule.setdefault(finding.rule, finding)
    return [_words(finding) for finding in list(by_rule.values())[:MAX_ADVICE]]


def _is_worth_saying(finding: Finding, evaluation: Evaluation) -> bool:
    if finding.severity not in _RANK:
        return False
    if evaluation.passed:
        return not _is_refuted(finding, evaluation.profile)
    if evaluation.verdict in _QUOTED_BY_THE_VERDICT and finding.line == evaluation.source_line:
        return False
    return finding.category != "pitfall" or finding.rule in _WRONG_RESULTS


def _is_refuted(finding: Finding, profile: ProfileReport | None) -> bool:
    """Whether the counters show that what looks slow is not."""
    if profile is None:
        return False
    if finding.rule == "bank-conflict":
        return profile.bank_conflicts_per_access < _NO_CONFLICTS
    return finding.rule == "uncoalesced-access" and profile.coalescing_efficiency > _GOOD_COALESCING


def code_line(evaluation: Evaluation, line: int) -> str:
    """One line of the candidate's source; empty where there is none."""
    source = evaluation.candidate.source if evaluation.candidate is not None else ""
    lines = re.split(r"\r\n?|\n", source)  # as the compiler counts them
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _pitfalls(task: Task | ModuleTask, evaluation: Evaluation) -> tuple[Finding, ...]:
    candidate, compilation = evaluation.candidate, evaluation.compilation
    if candidate is None or candidate.contract == "module" or not evaluation.compiled:
        return ()
    assert compilation is not None
    plan = _plan(task, candidate.source)
    return CUDAPitfallDetector().detect(candidate.source, plan=plan, resources=compilation.resources)


def _plan(task: Task | ModuleTask, source: str) -> LaunchPlan | None:
    if isinstance(task, ModuleTask):
        return None
    try:
        return parse_launch_plan(source, task)
    except ContractViolation:
        return None


def _words(finding: Finding) -> str:
    """The first clause of what was seen and of what to do: the rest explains what a line of code shows."""
    where = f"line {finding.line}: " if finding.line else ""
    return f"Advice: {where}{_first_clause(finding.reason)}. {_first_clause(finding.suggestion)}."


def _first_clause(sentence: str) -> str:
    return _CLAUSE_END.split(sentence, maxsplit=1)[0].rstrip(". ")
