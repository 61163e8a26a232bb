"""One walk over the tree, its nodes sorted by kind, so that each rule looks only at what concerns it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tree_sitter import Node

from coding_framework.cuda.analysis.constants import Constants
from coding_framework.cuda.analysis.prepared import PreparedSource, prepare
from coding_framework.cuda.analysis.syntax import (
    Call,
    FunctionDefinition,
    call_of,
    declared_name,
    function_of,
    line_of,
    text,
    walk_with_depth,
)
from coding_framework.cuda.analysis.tokens import Oddity
from coding_framework.cuda.analysis.word_sets import words

INDEXED = words(
    "identifier type_identifier namespace_identifier qualified_identifier call_expression "
    "cast_expression declaration function_definition attribute_specifier attribute_declaration "
    "gnu_asm_expression for_statement while_statement do_statement new_expression delete_expression "
    "enumerator launch_bounds field_declaration linkage_specification lambda_expression field_expression "
    "namespace_alias_definition using_declaration"
)
MAX_DEPTH = 2000
"""Of the tree. A sum of a thousand terms is a thousand deep; nothing honest is deeper."""
MAX_CLIMB = 20
"""Looking for a parent takes as long as the tree is deep; no honest source nests this far."""
_NAMESPACE_SCOPE = words(
    "translation_unit linkage_specification declaration_list namespace_definition "
    "template_declaration preproc_if preproc_ifdef preproc_else preproc_elif ERROR"
)


@dataclass(frozen=True)
class CodeIndex:
    """A prepared source with its nodes by kind."""

    prepared: PreparedSource
    nodes: dict[str, list[Node]]
    faults: tuple[Oddity, ...]
    """Why part of the source could not be seen: `macro-expansion`, `unparsable` or `nesting`."""

    def of(self, kind: str) -> list[Node]:
        return self.nodes.get(kind, [])

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call_of(node) for node in self.of("call_expression"))

    @cached_property
    def functions(self) -> tuple[FunctionDefinition, ...]:
        found = (function_of(node) for node in self.of("function_definition"))
        return tuple(function for function in found if function is not None)

    @cached_property
    def constants(self) -> Constants:
        return Constants(self.of("declaration"), self.of("enumerator"))

    @cached_property
    def initial_values(self) -> dict[str, int]:
        """Variables, constant or not, that begin with a known integer."""
        found: dict[str, int] = {}
        for declarator in self._declarators:
            value = self.constants.value(declarator.child_by_field_name("value"))
            if value is not None:
                found.setdefault(declared_name(declarator), value)
        return found

    @cached_property
    def _declarators(self) -> list[Node]:
        nodes = [n for d in self.of("declaration") for n in d.children_by_field_name("declarator")]
        return [node for node in nodes if node.type == "init_declarator"]

    @cached_property
    def functions_by_name(self) -> Counter[str]:
        return Counter(function.name for function in self.functions)

    @cached_property
    def volatile_names(self) -> frozenset[str]:
        return self._declared_with("volatile")

    @cached_property
    def shared_names(self) -> frozenset[str]:
        """Variables that several threads see."""
        return self._declared_with("__shared__", "__device__", "__managed__")

    def _declared_with(self, *words: str) -> frozenset[str]:
        """Names of variables and parameters whose declaration has one of the words."""
        if not self.words & set(words):
            return frozenset()
        nodes = list(self.of("declaration"))
        for function in self.functions:
            nodes += function.parameters
        marked = [node for node in nodes if any(word in text(node) for word in words)]
        return frozenset(declared_name(d) for n in marked for d in n.children_by_field_name("declarator"))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the view, strings included: a quick way to know that a name is absent."""
        return frozenset(re.findall(r"[^\W\d]\w*", self.prepared.view))

    @cached_property
    def _spans(self) -> tuple[list[int], list[tuple[FunctionDefinition, int]]]:
        """Where functions start, and each with the place of the one around it (-1 for none)."""
        starts: list[int] = []
        nested: list[tuple[FunctionDefinition, int]] = []
        open_ones: list[int] = []
        for at, function in enumerate(self.functions):
            while open_ones and nested[open_ones[-1]][0].node.end_byte <= function.node.start_byte:
                open_ones.pop()
            nested.append((function, open_ones[-1] if open_ones else -1))
            starts.append(function.node.start_byte)
            open_ones.append(at)
        return starts, nested

    def enclosing(self, node: Node) -> FunctionDefinition | None:
        """The innermost function around a node."""
        starts, nested = self._spans
        position = node.start_byte
        at = bisect_right(starts, position) - 1
        while at >= 0:
            function, at = nested[at]
            if position < function.node.end_byte:
                return function
        return None

    @cached_property
    def _device_lambdas(self) -> list[tuple[int, int]]:
        """Spans of `[] __device__ (...) {...}`."""
        found = []
        for node in self.of("lambda_expression") if self.prepared.device_lambdas else ():
            body = node.child_by_field_name("body")
            end = body.start_byte if body is not None else node.end_byte
            if any(node.start_byte < offset <= end for offset in self.prepared.device_lambdas):
                found.append((node.start_byte, node.end_byte))
        return found

    def runs_on_device(self, node: Node) -> bool:
        """Whether the code around a node can run on the GPU."""
        function = self.enclosing(node)
        if function is not None and function.is_device:
            return True
        return any(start <= node.start_byte < end for start, end in self._device_lambdas)


@lru_cache(maxsize=8)
def index_of(source: str) -> CodeIndex:
    """The index of a source; the last few are kept."""
    prepared = prepare(source)
    nodes: defaultdict[str, list[Node]] = defaultdict(list)
    for node, depth in walk_with_depth(prepared.root):
        if depth > MAX_DEPTH:
            fault = Oddity("nesting", line_of(node))
            return CodeIndex(prepared=prepared, nodes={}, faults=(*prepared.faults, fault))
        kind = node.type
        if kind in INDEXED:
            nodes[kind].append(node)
    return CodeIndex(prepared=prepared, nodes=dict(nodes), faults=prepared.faults)


def is_at_namespace_scope(node: Node) -> bool:
    """Whether it stands outside every function and class."""
    parent = node.parent
    for _step in range(MAX_CLIMB):
        if parent is None or parent.type not in _NAMESPACE_SCOPE:
            return parent is None
        parent = parent.parent
    return False
