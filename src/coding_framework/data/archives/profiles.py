"""The two columns that hold Python values as text: Nsight Compute's report and clang-tidy's.

Guarantees: text of any other form raises `RowError`. A metric that is not a finite number stays, with
no value; clang-tidy's quotations of the source are dropped, its remarks are kept.
"""

from __future__ import annotations

import math
import re
from typing import Literal

from coding_framework.data.archives.literals import parse_literal
from coding_framework.data.archives.problems import RowError
from coding_framework.data.archives.rows import (
    ArchiveMetric,
    ArchiveProfile,
    ArchiveRule,
    TidyFinding,
    TidyReport,
)

_REMARK = re.compile(r"^\S.*?:(\d+):(\d+): (warning|error): (.*?)(?: \[([\w.,+-]+)\])?$", re.MULTILINE)


def parse_profile(text: str, column: str) -> ArchiveProfile:
    """`{'metrics': {name: {unit, avg_value, variance, n}}, 'rules': {name: {type, description}}}`."""
    value = _mapping(parse_literal(text, column), column)
    metrics = _mapping(_entry(value, "metrics", column), column)
    rules = _mapping(_entry(value, "rules", column), column)
    return ArchiveProfile(
        metrics=tuple(_metric(name, _mapping(m, column), column) for name, m in metrics.items()),
        rules=tuple(_rule(name, _mapping(r, column), column) for name, r in rules.items()),
    )


def parse_tidy(text: str, column: str) -> TidyReport:
    """`{'stdout': …, 'stderr': …, 'errored': …}`."""
    value = _mapping(parse_literal(text, column), column)
    errored = _entry(value, "errored", column)
    if not isinstance(errored, bool):
        raise _unexpected("'errored' is not true or false", column)
    output = _text(value, "stdout", column)
    return TidyReport(findings=tuple(_finding(match) for match in _REMARK.finditer(output)), errored=errored)


def _metric(name: str, value: dict[str, object], column: str) -> ArchiveMetric:
    average, samples = _entry(value, "avg_value", column), _entry(value, "n", column)
    if not isinstance(average, int | float) or isinstance(average, bool):
        raise _unexpected(f"the average of {name!r} is not a number", column)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 0:
        raise _unexpected(f"the samples of {name!r} are not a count", column)
    return ArchiveMetric(
        name=name,
        unit=_text(value, "unit", column),
        average=float(average) if math.isfinite(average) else None,
        num_samples=samples,
    )


def _rule(name: str, value: dict[str, object], column: str) -> ArchiveRule:
    return ArchiveRule(
        name=name, kind=_text(value, "type", column), description=_text(value, "description", column)
    )


def _finding(match: re.Match[str]) -> TidyFinding:
    severity: Literal["warning", "error"] = "error" if match[3] == "error" else "warning"
    line, place = max(1, int(match[1])), max(1, int(match[2]))
    return TidyFinding(line=line, column=place, severity=severity, message=match[4], check=match[5] or "")


def _mapping(value: object, column: str) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _unexpected(f"expected a dictionary with names, found {type(value).__name__}", column)
    return value


def _entry(value: dict[str, object], key: str, column: str) -> object:
    if key not in value:
        raise _unexpected(f"{key!r} is missing", column)
    return value[key]


def _text(value: dict[str, object], key: str, column: str) -> str:
    text = _entry(value, key, column)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise _unexpected(f"{key!r} is not text", column)
    return text


def _unexpected(words: str, column: str) -> RowError:
    return RowError("invalid_literal", words, column)
