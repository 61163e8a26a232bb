"""`CUDASafetyAnalyzer`: hangs, leaks, dangerous functions and impossible resources.

Advice before anything runs. Almost nothing here is `critical`: a kernel that hangs or asks for too much
gets its verdict from running it; only what would take the judge's own allocations away is refused.
Works on the tree with the source's own macros expanded; never raises on any text. It does not know
values: a loop whose bound comes from memory, or a leak on one path only, is not seen.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from coding_framework.cuda.analysis.code_index import CodeIndex, index_of
from coding_framework.cuda.analysis.findings import in_order, safety
from coding_framework.cuda.analysis.safety_loops import loop_findings
from coding_framework.cuda.analysis.safety_memory import leak_findings, resource_findings
from coding_framework.cuda.analysis.safety_rules import API_RULES, DANGEROUS_WORDS, Side
from coding_framework.cuda.analysis.syntax import FunctionDefinition, line_of, text
from coding_framework.records import Contract, Finding, Record

_RULE_OF = {(name, rule.side): rule for rule in API_RULES for name in rule.names}
_DANGEROUS_NAMES = frozenset(name for name, _side in _RULE_OF)


class SafetyReport(Record):
    """What can go wrong when the source runs."""

    findings: tuple[Finding, ...]
    """In the order of the source."""


class CUDASafetyAnalyzer:
    """Reads a source under a contract. Holds no state."""

    def analyze(self, source: str, *, contract: Contract = "kernel") -> SafetyReport:
        """Everything that looks unsafe."""
        if contract == "module":
            return SafetyReport(findings=in_order(_embedded_findings(source)))
        return SafetyReport(findings=in_order(safety_findings(source)))


def safety_findings(source: str) -> Iterator[Finding]:
    """All rules for CUDA sources."""
    index = index_of(source)
    for kind, line in index.faults:
        reason = f"part of the source could not be analysed ({kind})."
        yield safety(kind, "error", line, reason, "Hand in well-formed CUDA without large macros.")
    yield from loop_findings(index)
    yield from leak_findings(index)
    yield from resource_findings(index)
    yield from _dangerous_calls(index)
    yield from _dangerouswords(index)
    yield from _launches_from_device(index)
    yield from _recursion(index)


def _embedded_findings(source: str) -> Iterator[Finding]:
    """The CUDA sources in the strings of a Python source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield safety("unparsable", "error", None, "it is not valid Python.", "Hand in valid Python.")
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
            for finding in safety_findings(node.value):
                yield finding.model_copy(update={"line": node.lineno + (finding.line or 1) - 1})


def _dangerous_calls(index: CodeIndex) -> Iterator[Finding]:
    if index.words & _DANGEROUS_NAMES:
        own = {function.name for function in index.functions}
        for call in index.calls:
            if call.name in _DANGEROUS_NAMES and not call.is_method and call.name not in own:
                side: Side = "device" if index.runs_on_device(call.node) else "host"
                rule = _RULE_OF.get((call.name, side))
                if rule is not None:
                    reason = f"`{call.name}` {rule.reason}."
                    yield safety(rule.rule, rule.severity, call.line, reason, rule.suggestion)
    for node in index.of("new_expression"):
        if index.runs_on_device(node) and node.child_by_field_name("placement") is None:
            rule = _RULE_OF[("malloc", "device")]
            yield safety(rule.rule, rule.severity, line_of(node), f"`new` {rule.reason}.", rule.suggestion)


def _dangerouswords(index: CodeIndex) -> Iterator[Finding]:
    present = index.words & set(DANGEROUS_WORDS)
    if not present:
        return
    rules = {rule.rule: rule for rule in API_RULES}
    for kind in ("identifier", "type_identifier"):
        for node in index.of(kind):
            if text(node) in present:
                rule = rules[DANGEROUS_WORDS[text(node)]]
                reason = f"`{text(node)}` {rule.reason}."
                yield safety(rule.rule, rule.severity, line_of(node), reason, rule.suggestion)


def _launches_from_device(index: CodeIndex) -> Iterator[Finding]:
    for call in index.calls:
        if call.is_launch and index.runs_on_device(call.node):
            reason = f"`{call.name}<<<...>>>` is launched from a kernel, which this judge does not link."
            suggestion = "Add another `// launch:` line to the plan."
            yield safety("launch-from-device", "error", call.line, reason, suggestion)


def _recursion(index: CodeIndex) -> Iterator[Finding]:
    """Direct recursion at run time; a template that calls itself with other arguments ends when compiled."""
    for call in index.calls:
        function = index.enclosing(call.node)
        if function is not None and _calls_itself(index, function, call.callee, len(call.arguments)):
            reason = f"`{function.name}` calls itself: the stack of a GPU thread is small."
            yield safety("recursion", "warning", call.line, reason, "Write it as a loop.")


def _calls_itself(index: CodeIndex, function: FunctionDefinition, callee: str, num_arguments: int) -> bool:
    if callee != function.name or not function.is_device or num_arguments != len(function.parameters):
        return False
    return index.functions_by_name[function.name] == 1
