"""The integer constants that a source states at file scope, for a launch plan that names them.

`#define BLOCK 256`, `constexpr int BLOCK = 256;`, and sums and products of earlier ones. Only what is beyond
doubt has a value: a name that a condition decides on, that is undefined again, takes parameters or has
two values is listed with the reason why it has none. Nothing depends on headers or on what a compiler
predefines. Guarantees: never raises on any text, linear in its length, names are plain ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node

from coding_framework.cuda.analysis.integer_tokens import MAX_VALUE, integer_value
from coding_framework.cuda.analysis.macros import Expander, ExpansionLimit, Macro
from coding_framework.cuda.analysis.prepared import CertainView, Directive, certain_view, prepare, read_macro
from coding_framework.cuda.analysis.syntax import line_of, parse, parse_is_complete, qualifiers, text
from coding_framework.cuda.analysis.tokens import Token, tokenize
from coding_framework.cuda.analysis.word_sets import words

_AROUND_FILE_SCOPE = words(
    "linkage_specification declaration_list preproc_if preproc_ifdef preproc_else preproc_elif "
    "preproc_elifdef"
)
_CONDITIONS = words("if ifdef ifndef")
_TYPE_WORDS = words("int unsigned signed long auto size_t uint int32_t uint32_t int64_t uint64_t")
"""Of types that hold every value up to `MAX_VALUE`."""
_MAX_VALUE_CHARS = 400
_CONDITION = "a condition (`#if`) decides on it"
_UNDEFINED = "it is undefined again (`#undef`)"
_PARAMETERS = "it is a macro with parameters"
_UNREADABLE = f"its value is no plain integer from 0 to {MAX_VALUE}"
_TWO_VALUES = "it is defined with different values"
_ALSO_MACRO = "it is both a macro and a variable"


@dataclass(frozen=True)
class SourceConstants:
    """What a launch plan may name beside dimensions and buffers."""

    values: dict[str, int] = field(default_factory=dict)
    """In the order of the source, macros first."""
    refused: dict[str, str] = field(default_factory=dict)
    """Name -> why it has no value here."""


@lru_cache(maxsize=8)
def source_constants(source: str) -> SourceConstants:
    """Those of a source; the last few are kept, so the answer is not to be changed."""
    directives, view = prepare(source).directives, certain_view(source)
    variables = _Findings(also_macros=view.macro_names)
    if parse_is_complete(view.text):
        conditional = _conditional_lines(directives)
        for declaration in _at_file_scope(parse(view.text)):
            _learn(declaration, variables, is_certain=line_of(declaration) not in conditional)
    macros = _macro_constants(directives, view, variables.values)
    refused = {**macros.refused, **variables.refused}
    values = {**macros.values, **variables.values}
    return SourceConstants(
        values={name: value for name, value in values.items() if name.isascii() and name not in refused},
        refused={name: reason for name, reason in refused.items() if name.isascii()},
    )


class _Findings:
    """Values and refusals while they are gathered: a refusal is never taken back."""

    def __init__(self, also_macros: frozenset[str] = frozenset()) -> None:
        self.also_macros = also_macros
        self.values: dict[str, int] = {}
        self.refused: dict[str, str] = {}

    def add(self, name: str, value: int | None) -> None:
        if name in self.also_macros:
            self.refuse(name, _ALSO_MACRO)
        elif value is None:
            self.refuse(name, _UNREADABLE)
        elif self.values.get(name, value) != value:
            self.refuse(name, _TWO_VALUES)
        elif name not in self.refused:
            self.values[name] = value

    def refuse(self, name: str, reason: str) -> None:
        self.values.pop(name, None)
        self.refused.setdefault(name, reason)


def _conditional_lines(directives: tuple[Directive, ...]) -> frozenset[int]:
    """Lines between an outermost `#if` and its `#endif`."""
    lines, depth, start = set[int](), 0, 0
    for directive in directives:
        if directive.name in _CONDITIONS:
            start = directive.line if depth == 0 else start
            depth += 1
        elif directive.name == "endif" and depth:
            depth -= 1
            lines.update(range(start, directive.line) if depth == 0 else ())
    return frozenset(lines)


def _at_file_scope(root: Node) -> Iterator[Node]:
    """Declarations outside functions, classes and named namespaces, in order."""
    pending = list(reversed(root.named_children))
    while pending:
        node = pending.pop()
        if node.type == "declaration" and not node.has_error:
            yield node
        elif node.type in _AROUND_FILE_SCOPE or _is_unnamed_namespace(node):
            pending.extend(reversed(node.named_children))


def _is_unnamed_namespace(node: Node) -> bool:
    return node.type == "namespace_definition" and node.child_by_field_name("name") is None


def _learn(declaration: Node, findings: _Findings, *, is_certain: bool) -> None:
    """The names of `const int A = 1, B = A + 1;`."""
    marks = qualifiers(declaration)
    if not marks & {"const", "constexpr"}:
        return
    is_integer = "volatile" not in marks and _is_wide_integer(declaration)
    for declarator in declaration.children_by_field_name("declarator"):
        named = declarator.child_by_field_name("declarator")
        if declarator.type == "init_declarator" and named is not None and named.type == "identifier":
            if not is_certain:
                findings.refuse(text(named), _CONDITION)
            else:
                findings.add(text(named), _initial_value(declarator, findings.values) if is_integer else None)


def _is_wide_integer(declaration: Node) -> bool:
    names = text(declaration.child_by_field_name("type")).replace("std::", "").split()
    return bool(names) and _TYPE_WORDS.issuperset(names)


def _initial_value(declarator: Node, known: dict[str, int]) -> int | None:
    """Of `A = 1` and of `A{1}`."""
    value = declarator.child_by_field_name("value")
    if value is not None and value.type == "initializer_list" and value.named_child_count == 1:
        value = value.named_children[0]
    written = text(value)
    return integer_value(tokenize(written)[0], known) if len(written) <= _MAX_VALUE_CHARS else None


def _macro_constants(
    directives: tuple[Directive, ...], view: CertainView, known: dict[str, int]
) -> _Findings:
    """Each macro as its own text expanded, which is what the compiler sees."""
    macros = [macro for directive in directives if (macro := read_macro(directive)) is not None]
    findings = _Findings()
    _refuse_doubtful(macros, directives, view, findings)
    expander = Expander(table={macro.name: macro for macro in macros if macro.name not in findings.refused})
    for macro in expander.table.values():
        findings.add(macro.name, integer_value(_expansion(macro, expander), known))
    return findings


def _refuse_doubtful(
    macros: list[Macro], directives: tuple[Directive, ...], view: CertainView, findings: _Findings
) -> None:
    for macro in view.doubtful:
        findings.refuse(macro.name, _CONDITION)
    for directive in directives:
        if directive.name == "undef" and directive.tokens:
            findings.refuse(directive.tokens[0].text, _UNDEFINED)
    bodies: dict[str, list[str]] = {}
    for macro in macros:
        body = [token.text for token in macro.body]
        if macro.parameters is not None:
            findings.refuse(macro.name, _PARAMETERS)
        elif bodies.setdefault(macro.name, body) != body:
            findings.refuse(macro.name, _TWO_VALUES)


def _expansion(macro: Macro, expander: Expander) -> list[Token]:
    """Empty where all macros together grow beyond bounds."""
    try:
        return expander.expand([Token("name", macro.name, macro.line)])
    except ExpansionLimit:
        return []
