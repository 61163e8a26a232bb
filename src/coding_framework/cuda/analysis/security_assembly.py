"""Security rules on inline assembly.

Experts use inline PTX honestly (`ld.global.nc`, `cp.async`, `mma.sync`), so it is allowed in device code
unless it calls, declares symbols, names files or addresses memory by number. Clocks and early ends are
warnings. Refused is what no rule can read: host assembly, what the parser did not understand, and the
constraint "C", which pastes an array of characters into the text after the rules have read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from coding_framework.cuda.analysis.code_index import CodeIndex
from coding_framework.cuda.analysis.findings import security
from coding_framework.cuda.analysis.syntax import line_of, text, walk
from coding_framework.records import Finding, Severity


class _PtxRule(NamedTuple):
    pattern: re.Pattern[str]
    severity: Severity
    reason: str
    suggestion: str


_LOADS = "Keep to loads, stores and arithmetic on pointers that were passed."
PTX_RULES = (
    _PtxRule(re.compile(r"%(globaltimer|clock|pm\d)"), "warning", "reads a clock or counter",
             "Remove it: the judge's clock counts."),
    _PtxRule(re.compile(r"(^|[;{}\s])(trap|brkpt|exit)\s*;"), "warning", "ends the thread or the kernel",
             "Use `return` in CUDA code."),
    _PtxRule(re.compile(r"(^|[;{}\s])call(\.uni)?\s"), "critical", "calls a function",
             "Call functions in CUDA code."),
    _PtxRule(re.compile(r"\.(file|loc|section|incbin|include|target|version|address_size)\b"), "critical",
             "changes the module or names a file", _LOADS),
    _PtxRule(re.compile(r"(^|[;{}])\s*\.(extern|visible|weak|common|entry|func|alias|global|const)\b"),
             "critical", "declares a symbol of the module", "Declare variables and functions in CUDA code."),
    _PtxRule(re.compile(r"\[\s*(0[xX][0-9a-fA-F]+|\d{3,})"), "critical",
             "addresses memory by a number", _LOADS),
    _PtxRule(re.compile(r"\b(syscall|sysenter|rdtscp?|int3|vmcall)\b|\bint\s+\$"), "critical",
             "is code for the host's processor", "Remove it."),
    _PtxRule(re.compile(r"%envreg|%reserved_shared"), "warning", "reads the driver's registers", _LOADS),
)  # fmt: skip
_LITERALS = ("string_literal", "raw_string_literal")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_PTX_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def assembly_findings(index: CodeIndex) -> Iterator[Finding]:
    """Findings on every `asm` of the source."""
    for node in index.of("gnu_asm_expression"):
        yield from _assembly(node, on_device=index.runs_on_device(node))
    yield from _unparsed(index)


def _assembly(node: Node, *, on_device: bool) -> Iterator[Finding]:
    line = line_of(node)
    if not on_device:
        reason = "assembly outside device code cannot be checked."
        yield security("inline-assembly", "critical", line, reason, "Remove it from host code.")
    code = node.child_by_field_name("assembly_code")
    if code is not None and any(child.type == "identifier" for child in walk(code)):
        reason = "the text of the assembly is not a plain string."
        yield security(
            "inline-assembly", "warning", line, reason, "Write the instructions as string literals."
        )
    if node.has_error:
        yield _unreadable(line)
    if any("C" in _string_value(text(literal)) for literal in _constraints(node)):
        reason = 'the constraint "C" pastes text into the assembly that cannot be checked.'
        yield security(
            "inline-assembly", "critical", line, reason, "Write the whole text as one string literal."
        )
    words = ptx_text(code)
    for rule in PTX_RULES:
        if rule.pattern.search(words):
            reason = f"the assembly {rule.reason}: `{words.strip()[:60]}`."
            yield security("inline-assembly", rule.severity, line, reason, rule.suggestion)


def _unparsed(index: CodeIndex) -> Iterator[Finding]:
    """An `asm` that did not parse as one: no rule has read it."""
    if not index.words & {"asm", "__asm", "__asm__"}:
        return
    for node in index.of("identifier"):
        if text(node) in ("asm", "__asm", "__asm__"):
            yield _unreadable(line_of(node))


def _unreadable(line: int) -> Finding:
    suggestion = 'Write it as asm volatile("..." : outputs : inputs);'
    return security("inline-assembly", "critical", line, "this assembly could not be read.", suggestion)


def _constraints(node: Node) -> Iterator[Node]:
    """Every string literal outside the instructions; clobbers are no constraints, and have no "C" either."""
    code = node.child_by_field_name("assembly_code")
    for part in node.named_children:
        if part != code:
            yield from (below for below in walk(part) if below.type in _LITERALS)


def ptx_text(code: Node | None) -> str:
    """The instructions: literals joined, escapes undone, comments out."""
    if code is None:
        return ""
    pieces = [text(node) for node in walk(code) if node.type in _LITERALS]
    joined = "".join(_string_value(piece) for piece in pieces)
    return _PTX_COMMENT.sub(" ", joined)


def _string_value(literal: str) -> str:
    raw = re.fullmatch(r'\w*R"([^(]*)\((.*)\)\1"', literal, re.DOTALL)
    if raw is not None:
        return raw[2]
    return _ESCAPE.sub(_unescape, literal[literal.find('"') + 1 : -1])


def _unescape(match: re.Match[str]) -> str:
    if match[1] is not None:
        return chr(int(match[1], 16))
    if match[2] is not None:
        return chr(int(match[2], 8))
    return {"n": "\n", "t": " ", "r": "\n"}.get(match[3], match[3])
