"""Security rules on the syntax tree: forbidden names, attributes, raw addresses, replaced symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from coding_framework.cuda.analysis.code_index import MAX_CLIMB, CodeIndex, is_at_namespace_scope
from coding_framework.cuda.analysis.findings import security
from coding_framework.cuda.analysis.name_rules import (
    INTERPOSED,
    INTERPOSED_PREFIXES,
    NAME_RULES,
    NameRule,
)
from coding_framework.cuda.analysis.security_preprocessor import pragma_finding
from coding_framework.cuda.analysis.syntax import line_of, qualifiers, text, walk
from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Contract, Finding, Severity

MAX_MENTIONS = 60
"""Of one name; more findings than this help nobody."""
_DECLARATORS = words(
    "init_declarator pointer_declarator array_declarator reference_declarator parameter_declaration "
    "optional_parameter_declaration declaration field_declaration class_specifier struct_specifier "
    "enum_specifier alias_declaration type_definition for_range_loop lambda_capture_specifier "
    "type_parameter_declaration namespace_definition enumerator"
)
_TYPES_WITH_THREADS = frozenset({"thread", "jthread"})
_THREADS = next(rule for rule in NAME_RULES if rule.rule == "threads")
_PYTHON = next(rule for rule in NAME_RULES if rule.rule == "python-from-native")
_NOT_HOST = frozenset({"constexpr", "__device__", "__constant__", "__shared__"})
_REGISTRATION = words("TORCH_LIBRARY_IMPL TORCH_LIBRARY_FRAGMENT MAKE_TORCH_LIBRARY_IMPL")
_ATTRIBUTE = re.compile(
    r"\b_*(constructor|destructor|init_priority|section|ifunc|alias|weak|weakref|cleanup|naked|retain)_*\b"
)


def code_findings(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    """Everything that the tree rules see."""
    yield from _names(index, contract)
    yield from _scoped_names(index, contract)
    yield from _python_objects(index)
    yield from _replaced_operations(index)
    yield from _hidden_scopes(index)
    yield from _attributes(index)
    yield from _interposition(index)
    yield from _pragma_operators(index)
    if contract == "extension":
        yield from _static_initialisers(index)


@lru_cache(maxsize=4)
def _rules_by_name(contract: Contract) -> dict[str, tuple[NameRule, bool]]:
    """name -> (rule, whether it is a sure one)."""
    table: dict[str, tuple[NameRule, bool]] = {}
    for rule in NAME_RULES:
        if contract in rule.contracts:
            table |= dict.fromkeys(rule.common, (rule, False))
            table |= dict.fromkeys(rule.sure, (rule, True))
    return table


@lru_cache(maxsize=4)
def _prefixes(contract: Contract) -> tuple[re.Pattern[str], tuple[NameRule, ...]]:
    rules = tuple(rule for rule in NAME_RULES if rule.prefixes and contract in rule.contracts)
    groups = "|".join("(" + "|".join(map(re.escape, rule.prefixes)) + ")" for rule in rules)
    return re.compile(groups), rules


def rule_of(name: str, contract: Contract) -> tuple[NameRule, bool] | None:
    """The rule that a name falls under, and whether it is a sure one."""
    found = _rules_by_name(contract).get(name)
    if found is not None:
        return found
    pattern, rules = _prefixes(contract)
    match = pattern.match(name)
    return (rules[(match.lastindex or 1) - 1], True) if match is not None else None


def _names(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    suspects = {word for word in index.words if rule_of(word, contract) is not None}
    if not suspects:
        return
    mentions: dict[str, list[Node]] = {name: [] for name in suspects}
    for kind in ("identifier", "type_identifier"):
        for node in index.of(kind):
            name = text(node)
            if name in suspects and len(mentions[name]) < MAX_MENTIONS:
                mentions[name].append(node)
    for name, nodes in mentions.items():
        found = rule_of(name, contract)
        if found is not None:
            rule, sure = found
            declared = any(_declares(node) for node in nodes)
            for node in nodes:
                if _counts(node, sure=sure, declared=declared):
                    yield _finding(rule, name, node)


def _counts(node: Node, *, sure: bool, declared: bool) -> bool:
    scope = _scope(node)
    if scope not in (("", "::", "std") if sure else ("", "::")) or _declares(node):
        return False
    if sure:
        return not declared or _is_callee(node) or scope == "::"
    if scope == "::":
        return True
    return not declared and (_is_callee(node) or _is_prototype(node) or _is_address(node))


def _finding(rule: NameRule, name: str, node: Node) -> Finding:
    return security(rule.rule, rule.severity, line_of(node), f"`{name}` {rule.reason}.", rule.suggestion)


def _scope(node: Node) -> str:
    """`std` for `std::f`, `::` for `::f`, empty for `f`."""
    parent = node.parent
    if parent is not None and parent.type in ("template_function", "template_type"):
        node, parent = parent, parent.parent
    if parent is None or parent.type != "qualified_identifier":
        return ""
    scope = text(parent.child_by_field_name("scope"))
    while parent.parent is not None and parent.parent.type == "qualified_identifier":
        parent = parent.parent
        scope = f"{text(parent.child_by_field_name('scope'))}::{scope}"
    return scope or "::"


def _declares(node: Node) -> bool:
    """Whether this mention introduces a variable, a type or a function with a body."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "function_declarator" and parent.child_by_field_name("declarator") == node:
        holder = parent.parent
        while holder is not None and holder.type in ("pointer_declarator", "reference_declarator"):
            holder = holder.parent
        return holder is not None and holder.type == "function_definition"
    if parent.type not in _DECLARATORS:
        return False
    fields = ("declarator", "name")
    return parent.type == "reference_declarator" or any(
        node in parent.children_by_field_name(field) for field in fields
    )


def _outermost(node: Node) -> tuple[Node, Node | None]:
    parent = node.parent
    while parent is not None and parent.type in (
        "qualified_identifier", "template_function", "template_type", "parenthesized_expression",
    ):  # fmt: skip
        node, parent = parent, parent.parent
    return node, parent


def _is_callee(node: Node) -> bool:
    outer, parent = _outermost(node)
    if parent is None:
        return False
    if parent.type == "call_expression":
        return parent.child_by_field_name("function") == outer
    return parent.type in ("declaration", "new_expression") and node.type == "type_identifier"


def _is_prototype(node: Node) -> bool:
    """`extern int open(const char*, int);` inside or outside a function."""
    parent = node.parent
    return parent is not None and parent.type == "function_declarator" and not _declares(node)


def _is_address(node: Node) -> bool:
    _outer, parent = _outermost(node)
    return parent is not None and parent.type == "pointer_expression" and text(parent).startswith("&")


def _scoped_names(index: CodeIndex, contract: Contract) -> Iterator[Finding]:
    lasts = {name.split("::")[-1] for rule in NAME_RULES for name in rule.scoped} | {"filesystem"}
    if not index.words & lasts:
        return
    for node in index.of("qualified_identifier"):
        parts = [part.split("<")[0] for part in "".join(text(node).split()).split("::")]
        pairs = {"::".join(parts[at : at + size]) for size in (2, 3) for at in range(len(parts) - 1)}
        for rule in NAME_RULES:
            hit = sorted(pairs & rule.scoped)
            if hit and contract in rule.contracts:
                yield _finding(rule, hit[0], node)
    for node in index.of("namespace_identifier"):
        if text(node) == "filesystem":
            yield _finding(NAME_RULES[1], "filesystem", node)


def _python_objects(index: CodeIndex) -> Iterator[Finding]:
    """pybind11 under a name of one's own, and `object.attr("name")`, through which everything is reached."""
    if "attr" in index.words:
        for node in index.of("field_expression"):
            if text(node.child_by_field_name("field")) == "attr":
                yield _finding(_PYTHON, ".attr", node)
    if not index.words & {"py", "pybind11"}:
        return
    for node in (*index.of("namespace_alias_definition"), *index.of("using_declaration")):
        last = re.split(r"\W+", text(node).rstrip("; \n"))[-1]
        if last in ("py", "pybind11") and text(node.child_by_field_name("name")) != "py":
            yield _finding(_PYTHON, last, node)


def _replaced_operations(index: CodeIndex) -> Iterator[Finding]:
    """`TORCH_LIBRARY_IMPL(aten, CUDA, m) { m.impl("copy_", f); }` is a definition to the parser."""
    if index.words & _REGISTRATION:
        for kind in ("identifier", "type_identifier"):
            for node in index.of(kind):
                if text(node) in _REGISTRATION:
                    reason = f"`{text(node)}` replaces operations of torch, for the judge as well."
                    suggestion = "Export `forward` with PYBIND11_MODULE."
                    yield security("interposition", "critical", line_of(node), reason, suggestion)


def _hidden_scopes(index: CodeIndex) -> Iterator[Finding]:
    """`namespace s = std;` hides what `s::thread` is, and so does `using worker = thread;`."""
    for node in index.of("namespace_alias_definition"):
        if re.search(r"=\s*(?:::\s*)?std\b", text(node)):
            reason = "another name for `std` hides what is used of it."
            yield security(
                "hidden-scope", "critical", line_of(node), reason, "Write `std::` where it is meant."
            )
    if index.words & _TYPES_WITH_THREADS:
        for node in index.of("type_identifier"):
            parent = node.parent
            while parent is not None and parent.type in ("type_descriptor", "qualified_identifier"):
                parent = parent.parent
            is_alias = parent is not None and parent.type in ("alias_declaration", "type_definition")
            if is_alias and text(node) in _TYPES_WITH_THREADS and not _declares(node):
                yield _finding(_THREADS, text(node), node)


def _attributes(index: CodeIndex) -> Iterator[Finding]:
    for node in (*index.of("attribute_specifier"), *index.of("attribute_declaration")):
        match = _ATTRIBUTE.search(text(node))
        if match is not None:
            reason = f"the attribute `{match[1]}` runs code by itself or replaces symbols."
            yield security("attribute", "critical", line_of(node), reason, "Remove the attribute.")


def _interposition(index: CodeIndex) -> Iterator[Finding]:
    """A host function with the C name of a library's replaces it in the whole process."""
    for function in index.functions:
        known = function.name in INTERPOSED or function.name.startswith(INTERPOSED_PREFIXES)
        if known and not function.is_device and is_at_namespace_scope(function.node):
            severity: Severity = "critical" if _has_c_linkage(function.node) else "warning"
            reason = f"defines `{function.name}`, a function of the system or of CUDA."
            suggestion = "Choose a name of your own."
            yield security("interposition", severity, function.line, reason, suggestion)


def _has_c_linkage(node: Node) -> bool:
    parent = node.parent
    for _step in range(MAX_CLIMB):
        if parent is None or parent.type == "linkage_specification":
            break
        parent = parent.parent
    return parent is not None


def _pragma_operators(index: CodeIndex) -> Iterator[Finding]:
    if "_Pragma" in index.words:
        for call in index.calls:
            if call.name == "_Pragma" and call.arguments:
                yield from pragma_finding(text(call.arguments[0]).strip('"'), call.line)


def _static_initialisers(index: CodeIndex) -> Iterator[Finding]:
    """Host code that runs when the library is loaded, before anything is measured."""
    for node in index.of("declaration"):
        values = [d.child_by_field_name("value") for d in node.children_by_field_name("declarator")]
        runs_code = any(value is not None and _contains_code(value) for value in values)
        if runs_code and not qualifiers(node) & _NOT_HOST and is_at_namespace_scope(node):
            reason = "this initialiser runs host code when the library is loaded."
            suggestion = "Compute it inside the function that needs it."
            yield security("static-initialiser", "warning", line_of(node), reason, suggestion)


def _contains_code(value: Node) -> bool:
    return any(node.type in ("call_expression", "lambda_expression") for node in walk(value))
