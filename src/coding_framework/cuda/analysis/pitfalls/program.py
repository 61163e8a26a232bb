"""A source as the tracer sees it: kernels, device functions, constants and macros.

Guarantees: any text gives a program. Bodies are read when first asked for. Macros with arguments are
read as functions and others as constants; a macro that is no expression is not known.
"""

from __future__ import annotations

import re
from functools import lru_cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.lowering import SourceText
from coding_framework.cuda.analysis.pitfalls.sizes import type_words
from coding_framework.cuda.analysis.pitfalls.statements import EMPTY, StatementLowering
from coding_framework.cuda.analysis.syntax import line_of, parse

MAX_KERNELS = 16
"""Sources with more are generated or hostile; the rest is left unread."""
_ALIGN = re.compile(r"__align__\s*\(\s*\w+\s*\)")
_OUTER = frozenset(
    {"linkage_specification", "namespace_definition", "declaration_list", "template_declaration"}
    | {"preproc_if", "preproc_ifdef", "preproc_else", "translation_unit"}
)


class Program:
    """The parts of one source."""

    def __init__(self, source: str) -> None:
        text = _ALIGN.sub(lambda match: " " * len(match.group()), source)
        self.data = text.encode("utf-8", "replace")
        self.root = parse(text)
        self.uses_rows = "threadIdx.y" in source
        self.kernels: list[Node] = []
        self.constants: dict[str, ir.Expression] = {}
        self._functions: dict[str, Node] = {}
        self._read: dict[str, ir.Function] = {}
        self._lowering = StatementLowering(self.data)
        self.text: SourceText = self._lowering
        self._collect()

    def _collect(self) -> None:
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.type in _OUTER:
                stack.extend(reversed(node.named_children))
            elif node.type == "function_definition":
                self._add_function(node)
            elif node.type == "declaration":
                for declared in self._lowering.declarations(node):
                    if declared.value is not None and declared.type.is_const and declared.extents is None:
                        self.constants.setdefault(declared.name, declared.value)
            elif node.type == "preproc_def":
                self._add_macro(node)
            elif node.type == "preproc_function_def":
                self._functions.setdefault(self._lowering.words(node.child_by_field_name("name")), node)

    def _add_function(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is None:
            return
        name = self._lowering.words(declarator.child_by_field_name("declarator")).rpartition("::")[2]
        self._functions.setdefault(name, node)
        if any(child.type == "__global__" for child in node.children) and len(self.kernels) < MAX_KERNELS:
            self.kernels.append(node)

    def definitions(self) -> list[Node]:
        """Kernels and device functions, as nodes."""
        words = ("__global__", "__device__")
        return [
            node for node in self._functions.values() if any(child.type in words for child in node.children)
        ]

    def _add_macro(self, node: Node) -> None:
        value = self._lowering.words(node.child_by_field_name("value"), 200)
        if value:
            body = _snippet(f"auto f() {{ return {value}; }}")
            if body is not None:
                first = body.statements[0] if len(body.statements) == 1 else None
                if isinstance(first, ir.Return) and first.value is not None:
                    self.constants.setdefault(
                        self._lowering.words(node.child_by_field_name("name")), first.value
                    )

    def has_function(self, name: str) -> bool:
        return name in self._functions

    def function(self, name: str) -> ir.Function | None:
        """The function of this name, if the source has one that the tree shows whole."""
        if name not in self._read and name in self._functions:
            node = self._functions[name]
            macro = node.type == "preproc_function_def"
            self._read[name] = self._macro(name, node) if macro else self.read_function(node)
        return self._read.get(name)

    def read_function(self, node: Node) -> ir.Function:
        """A function definition in the small language."""
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        assert declarator is not None
        listed = declarator.child_by_field_name("parameters")
        children = [] if listed is None else listed.named_children
        parameters = [self._parameter(c) for c in children if c.type.endswith("parameter_declaration")]
        body = node.child_by_field_name("body")
        block = self._lowering.block(body) if body is not None and not node.has_error else EMPTY
        name = self._lowering.words(declarator.child_by_field_name("declarator")).rpartition("::")[2]
        return ir.Function(name, tuple(parameters), block, line_of(node), node.has_error)

    def _parameter(self, node: Node) -> ir.Parameter:
        declarator = node.child_by_field_name("declarator")
        words = self._lowering.words(node, 200)
        name = ""
        while declarator is not None:
            if declarator.type == "identifier":
                name = self._lowering.words(declarator)
                break
            inner = declarator.child_by_field_name("declarator")
            declarator = inner if inner is not None else next(iter(declarator.named_children), None)
        is_restrict = "restrict" in words
        kind = words.partition("*")[0]
        is_pointer = "*" in words or "[" in words
        return ir.Parameter(name, type_words(kind), is_pointer, is_restrict, "&" in words)

    def _macro(self, name: str, node: Node) -> ir.Function:
        """`#define F(a, b) expression`, as a function that returns it; lines are the definition's."""
        listed = node.child_by_field_name("parameters")
        names = [] if listed is None else [self._lowering.words(child) for child in listed.named_children]
        value = self._lowering.words(node.child_by_field_name("value"), 400).replace("\\", " ")
        body = _snippet(f"auto f() {{ return {value}; }}")
        parameters = tuple(ir.Parameter(n, type_words(""), False, False, False) for n in names)
        return ir.Function(name, parameters, body or EMPTY, line_of(node), body is None)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    """Its own, so that macros do not push sources out of the shared cache of trees."""
    return Parser(Language(tree_sitter_cuda.language()))


@lru_cache(maxsize=64)
def _snippet(text: str) -> ir.Block | None:
    """The body of a one-function text; None if it is not whole C++."""
    data = text.encode("utf-8", "replace")
    root = _parser().parse(data).root_node
    first = next(iter(root.named_children), None)
    if root.has_error or first is None or first.type != "function_definition":
        return None
    body = first.child_by_field_name("body")
    return StatementLowering(data).block(body) if body is not None else None
