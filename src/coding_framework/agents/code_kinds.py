"""What kind of code a piece of text is, and whether it is whole.

Guarantees: never raises whatever the text; time is bounded (the syntax tree's own limits). It says what
it sees, not whether the code would compile.
"""

from __future__ import annotations

import ast
import re

from coding_framework.cuda.analysis.syntax import calls, functions, parse
from coding_framework.cuda.analysis.tokens import tokenize
from coding_framework.cuda.contract import kernel_names
from coding_framework.cuda.plan_lines import ContractViolation, plan_lines
from coding_framework.cuda.toolchain.source_scan import without_comments
from coding_framework.records import Contract

_TRITON = re.compile(r"^[ \t]*+(?:import triton|from triton|@triton\.)", re.MULTILINE)
_PYTHON = re.compile(
    r"^[ \t]*+(?:import \w|from [\w.]++ import|def \w++\(|class \w++[^\n:]*+:[ \t]*+$|print\()", re.MULTILINE
)
_HOST = re.compile(
    r"\bint\s++main\s*+\(|<<<|\bcuda(?:Malloc|Memcpy)\w*+\s*+\(|\bstd::|#include\s*+<(?:iostream|vector)>"
)
_OPENCL = re.compile(r"\b__kernel\b|\bget_global_id\s*+\(")
_CODE_LIKE = re.compile(
    r"[;{}]|\bextern\b|\b__\w|^[ \t]*+#\s*+\w|\b(?:void|template|static)\b|<<<", re.MULTILINE
)
_SHELL = re.compile(r"^[ \t]*+\$?[ \t]*+(?:nvcc|pip|python3?|make|cmake|git|\./)\b", re.MULTILINE)
_LAUNCHED = re.compile(r"(?!(?:grid|block|shared|args)\s*=)([A-Za-z_]\w*)")
_MAX_PROSE_LINES = 40
"""After code without a fence; more is not looked at."""


def is_python(code: str, language: str = "") -> bool:
    return language in ("python", "py", "python3") or bool(_PYTHON.search(code) or _TRITON.search(code))


def describe_language(code: str, language: str, contract: Contract) -> str:
    """What the block holds instead, in brackets; empty where it is hard to tell."""
    if _TRITON.search(code):
        return " (it is Triton)"
    if _OPENCL.search(code):
        return " (it is OpenCL)"
    if contract != "module" and is_python(code, language):
        return " (it is Python)"
    if "__global__" in code:
        return " (it holds kernels alone)" if contract == "extension" else " (it is CUDA C++)"
    if _SHELL.search(code) or language in ("bash", "sh", "shell"):
        return " (it holds shell commands)"
    return " (it holds host code alone)" if _HOST.search(code) else ""


def host_code_reason(source: str) -> str | None:
    """What to leave out of a `kernel` candidate; None where it holds no host code."""
    plain = without_comments(source)
    if "main" not in plain and "<<<" not in plain:
        return None
    root = parse(source)
    found = ["`main()`"] if any(f.name == "main" and not f.is_device for f in functions(root)) else []
    launched = next((call.name for call in calls(root) if call.is_launch), "kernel")
    if "<<<" in plain:
        found.append(f"the launch `{launched[:60]}<<<...>>>`")
    if not found:
        return None
    return (
        f"leave out {' and '.join(found)}: the block holds `__global__` functions alone, and the line "
        "`// launch: NAME grid=(...) block=(...)` launches them"
    )


def is_whole(source: str) -> bool:
    """Whether every kernel that was begun, or that the plan names, has its whole body."""
    end = _end_of_code(source)
    if end == 0:
        return False
    lines = source.split("\n")
    if _CODE_LIKE.search("\n".join(lines[end:])):
        return False
    return _planned_kernels(source) <= set(kernel_names("\n".join(lines[:end])))


def kernel_part(source: str, *, closed: bool) -> str:
    """The source without the prose that follows it where no fence ended it."""
    if closed:
        return source
    end = _end_of_code(source)
    return "\n".join(source.split("\n")[:end]) if end else source


def python_is_whole(source: str) -> bool:
    """Whether it parses, and its `ModelNew` has a `forward`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew"]
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "forward"
        for found in classes
        for node in found.body
    )


def python_part(source: str) -> str:
    """The longest beginning of the lines that parses as Python; all of it where none does."""
    lines = source.split("\n")
    for end in range(len(lines), max(len(lines) - _MAX_PROSE_LINES, 0), -1):
        part = "\n".join(lines[:end])
        if python_is_whole(part):
            return part
    return source


def _end_of_code(source: str) -> int:
    """Number of lines up to the last brace that closes at the top level; 0 when a kernel has no end."""
    depth, end, begun = 0, 0, False
    tokens, _ = tokenize(source)
    for token in tokens:
        if token.kind == "name" and token.text == "__global__":
            begun = True
        elif token.kind == "punct":
            for mark in token.text:
                if mark == "{":
                    depth += 1
                elif mark == "}":
                    depth -= 1
                    if depth == 0:
                        end, begun = token.line, False
    return 0 if begun or depth > 0 else end


def _planned_kernels(source: str) -> set[str]:
    """Names in the plan; a launch line without one means the only kernel."""
    try:
        lines = [line.text for line in plan_lines(source) if line.kind == "launch"]
    except ContractViolation:
        return set()
    return {match[1] for text in lines if (match := _LAUNCHED.match(text)) is not None}
