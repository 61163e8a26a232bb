"""`SecurityValidator`: what a source tries to do that a kernel has no need of.

A first filter, not the defence: isolation, hidden inputs and the judge's own clock are. It sees through
macros, pasted tokens and spellings, by looking at the syntax tree after expansion, and it never looks
into strings (except the text of assembly) or comments. A finding of severity `critical` is something no
honest candidate contains. Never raises on any text; what cannot be analysed is itself a finding.
It does not follow data flow: a pointer computed from run-time values is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from coding_framework.cuda.analysis.code_index import index_of
from coding_framework.cuda.analysis.findings import in_order, risk_score
from coding_framework.cuda.analysis.sanitize import SanitizedSource, sanitize
from coding_framework.cuda.analysis.security_assembly import assembly_findings
from coding_framework.cuda.analysis.security_code import code_findings
from coding_framework.cuda.analysis.security_memory import memory_findings
from coding_framework.cuda.analysis.security_preprocessor import directive_findings
from coding_framework.cuda.analysis.security_python import python_findings
from coding_framework.records import Contract, Finding, Record


class SecurityReport(Record):
    """What was found, and how bad it is as one number."""

    findings: tuple[Finding, ...]
    """In the order of the source."""
    risk_score: float = Field(ge=0, le=1)
    """0 for none, 0.9 or more with a critical finding; for ranking and for reports, not for verdicts."""

    @property
    def is_safe(self) -> bool:
        """No critical finding: the candidate may go on to the compiler."""
        return not self.critical

    @property
    def critical(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "critical")


class SecurityValidator:
    """Reads a source under a contract. Holds no state; one instance serves any number of sources."""

    def validate(self, source: str, *, contract: Contract = "kernel") -> SecurityReport:
        """Everything suspicious in the source."""
        if contract == "module":
            found = in_order(python_findings(source, cuda_findings))
        else:
            found = in_order(cuda_findings(source, contract))
        return SecurityReport(findings=found, risk_score=risk_score(found))

    def sanitize(self, source: str) -> SanitizedSource:
        """The source without what can be taken out harmlessly, and a list of what was."""
        return sanitize(source)


def cuda_findings(source: str, contract: Contract) -> Iterator[Finding]:
    """All rules for CUDA sources."""
    index = index_of(source)
    yield from directive_findings(index)
    yield from code_findings(index, contract)
    yield from assembly_findings(index)
    yield from memory_findings(index, contract)
