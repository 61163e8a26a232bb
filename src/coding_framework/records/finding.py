"""One thing that static analysis found in a source, placed and explained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coding_framework.records.base import Record

Severity = Literal["info", "warning", "error", "critical"]
"""`critical` alone refuses a candidate; `error` will most likely fail; the rest is advice."""


class Finding(Record):
    """One observation, in words that an agent can act on."""

    rule: str
    """Short name of the rule, e.g. `inline-assembly` or `bank-conflict`."""
    category: Literal["security", "safety", "pitfall"]
    """Who found it: security (attacks), safety (hangs, leaks, limits), pitfall (slow or racy code)."""
    severity: Severity
    """How bad it is."""
    line: int | None = Field(default=None, ge=1)
    """1-based line of the source; None when it concerns the whole."""
    reason: str
    """What was seen and why it matters."""
    suggestion: str
    """What to do instead."""

    @property
    def words(self) -> str:
        """Reason and suggestion as sentences; some reasons bring their full stop."""
        return f"{self.reason.removesuffix('.')}. {self.suggestion}"
