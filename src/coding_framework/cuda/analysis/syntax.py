"""Small helpers over the syntax tree of a CUDA source; every analyser reads trees through these.

Guarantees: any text gives a tree (what cannot be read becomes ERROR nodes), walks are iterative, so
nesting as deep as the source is long is no trouble, and parsing is bounded in time and memory: of a
source that runs into the bounds the rest, or all, is left out of the tree, and `parse_is_complete`
says so.
It does not expand macros, resolve names or know types.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Point

from coding_framework.cuda.analysis import parse_probe
from coding_framework.errors import JudgeFault

MAX_PARSE_CPU_S = 0.2
"""A source of 200 lines takes 1 ms; 20 kB of noise such as `!)!)!)` would take 15 s."""
MAX_UNPROBED_BYTES = 16_384
"""Longer sources are parsed by a process that may die first (25 ms); see `parse_probe.py`."""
MAX_UNPROBED_STATEMENT_BYTES = 4096
"""The same for a longer run without `;` or a brace, where ambiguity adds up."""
MAX_PROBE_WALL_S = 20.0
_CHUNK_BYTES = 256
"""The clock is looked at once a chunk."""
_UNKNOWN_ATTRIBUTES = re.compile(rb"__(?:cluster_dims|maxnreg|block_size)__\s*\([\d\s,()]*\)")
"""Of kernels, which the grammar does not know; with numbers alone, so that nothing hides in them."""
_QUALIFIERS = frozenset({"__global__", "__device__", "__host__", "__forceinline__", "__noinline__"})


@dataclass(frozen=True)
class FunctionDefinition:
    """A function with a body."""

    node: Node
    name: str
    """Without namespaces and template arguments."""
    qualifiers: frozenset[str]
    """Words beside its type: `__global__`, `__device__`, `static`, `inline`, `constexpr`, ..."""
    declarator: Node
    """Name and parameters."""
    body: Node

    @property
    def line(self) -> int:
        return line_of(self.node)

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.qualifiers

    @property
    def is_device(self) -> bool:
        """Whether it can run on the GPU (a `__host__ __device__` function can)."""
        return bool(self.qualifiers & {"__global__", "__device__"})

    @property
    def parameters(self) -> tuple[Node, ...]:
        """Its `parameter_declaration` nodes."""
        listed = self.declarator.child_by_field_name("parameters")
        children = listed.named_children if listed is not None else []
        return tuple(child for child in children if child.type.endswith("parameter_declaration"))


@dataclass(frozen=True)
class Call:
    """A call expression: `f(x)`, `a.f(x)`, `n::f<T>(x)` or `f<<<g, b>>>(x)`."""

    node: Node
    callee: str
    """The callee as written, without blanks: `std::max`, `tensor.size`, `f<float>`."""
    name: str
    """The last name of the callee, without scope and template arguments; empty for `(*p)(x)`."""
    arguments: tuple[Node, ...]
    """In order."""
    is_method: bool
    """Called on an object with `.` or `->`."""
    is_launch: bool
    """Has `<<<...>>>`."""

    @property
    def line(self) -> int:
        return line_of(self.node)


def parse(source: str) -> Node:
    """The root of the source's tree. The last few trees are kept, as several analysers ask for one."""
    return _parse(source, threading.get_ident())[0]


def parse_is_complete(source: str) -> bool:
    """Whether the whole source could be parsed in the time allowed."""
    return _parse(source, threading.get_ident())[1]


@lru_cache(maxsize=8)
def _parse(source: str, _thread: int) -> tuple[Node, bool]:
    """Each thread has trees and a parser of its own: a parser that two use at once crashes the process."""
    data = _UNKNOWN_ATTRIBUTES.sub(_blanks, source.encode("utf-8", "replace"))
    if _needs_probe(data) and not _is_harmless(data):
        return _parser().parse(b"").root_node, False
    reader = _Reader(data)
    tree = _parser().parse(reader.read)
    complete = not reader.cut_short
    reader.finish()
    return tree.root_node, complete


def _blanks(found: re.Match[bytes]) -> bytes:
    """As long as what was found, and on as many lines."""
    return re.sub(rb"[^\n]", b" ", found[0])


def _needs_probe(data: bytes) -> bool:
    if len(data) <= MAX_UNPROBED_STATEMENT_BYTES:
        return False
    longest = max(map(len, re.split(rb"[;{}]", data)))
    return len(data) > MAX_UNPROBED_BYTES or longest > MAX_UNPROBED_STATEMENT_BYTES


def _is_harmless(data: bytes) -> bool:
    """Whether the text can be parsed within the probe's limits."""
    command = [sys.executable, "-P", str(Path(parse_probe.__file__))]
    try:
        probe = subprocess.run(command, input=data, capture_output=True, timeout=MAX_PROBE_WALL_S)
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        raise JudgeFault(f"the parser's probe could not be started: {error}") from error
    return probe.returncode == 0


class _Reader:
    """Feeds the parser until the time is up; afterwards it serves the text of the nodes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end_s: float | None = time.thread_time() + MAX_PARSE_CPU_S
        self.cut_short = False

    def read(self, offset: int, _point: Point) -> bytes:
        if self._end_s is not None and offset < len(self._data) and time.thread_time() > self._end_s:
            self.cut_short = True
        return b"" if self.cut_short else self._data[offset : offset + _CHUNK_BYTES]

    def finish(self) -> None:
        self._end_s = None
        self.cut_short = False


_own = threading.local()


def _parser() -> Parser:
    parser: Parser | None = getattr(_own, "parser", None)
    if parser is None:
        parser = _own.parser = Parser(Language(tree_sitter_cuda.language()))
    return parser


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the source."""
    for below, _depth in walk_with_depth(node):
        yield below


def walk_with_depth(node: Node) -> Iterator[tuple[Node, int]]:
    """The same with the number of steps below the first node."""
    cursor = node.walk()
    depth = 0
    while True:
        current = cursor.node
        if current is not None:
            yield current, depth
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1


def text(node: Node | None) -> str:
    """The node's words as written; empty for None."""
    words = node.text if node is not None else None  # reads the source, so once
    return words.decode("utf-8", "replace") if words is not None else ""


def line_of(node: Node) -> int:
    """1-based line on which the node begins."""
    row, _ = node.start_point  # not `.row`: in tree-sitter 0.26.0 each use of it frees the number once more
    return row + 1


def functions(root: Node) -> tuple[FunctionDefinition, ...]:
    """Every function with a body, methods among them, in order."""
    found = (function_of(node) for node in walk(root) if node.type == "function_definition")
    return tuple(function for function in found if function is not None)


def function_of(definition: Node) -> FunctionDefinition | None:
    """Reads a `function_definition` node; None for what has no name or no body."""
    body = definition.child_by_field_name("body")
    declarator = _function_declarator(definition.child_by_field_name("declarator"))
    if body is None or declarator is None:
        return None
    return FunctionDefinition(
        node=definition,
        name=last_name(declarator.child_by_field_name("declarator")),
        qualifiers=qualifiers(definition),
        declarator=declarator,
        body=body,
    )


def qualifiers(declaration: Node) -> frozenset[str]:
    """The words of a declaration or definition beside its type and declarator, e.g. `__shared__`."""
    kinds = ("storage_class_specifier", "type_qualifier")
    return frozenset(
        text(child)
        for child in declaration.children
        if child.type in kinds or child.type in _QUALIFIERS or not child.is_named
    )


def calls(root: Node) -> tuple[Call, ...]:
    """Every call expression, in order."""
    return tuple(call_of(node) for node in walk(root) if node.type == "call_expression")


def call_of(node: Node) -> Call:
    """Reads a `call_expression` node."""
    callee = node.child_by_field_name("function")
    listed = node.child_by_field_name("arguments")
    children = listed.named_children if listed is not None else []
    return Call(
        node=node,
        callee="".join(text(callee).split()),
        name=last_name(callee),
        arguments=tuple(child for child in children if child.type != "comment"),
        is_method=callee is not None and callee.type == "field_expression",
        is_launch=any(child.type == "kernel_call_syntax" for child in node.children),
    )


def last_name(node: Node | None) -> str:
    """`f` for `f`, `n::m::f`, `object.f`, `f<T>`, `&f` and `(f)`; empty where there is no single name."""
    while node is not None:
        if node.type in ("identifier", "field_identifier", "type_identifier", "operator_name"):
            return text(node)
        node = _toward_name(node)
    return ""


def _toward_name(node: Node) -> Node | None:
    for field in ("name", "field", "declarator", "argument"):
        child = node.child_by_field_name(field)
        if child is not None:
            return child
    if node.type in ("parenthesized_expression", "parenthesized_declarator", "reference_declarator"):
        return node.named_children[0] if node.named_child_count == 1 else None
    return node.named_children[0] if node.type == "destructor_name" and node.named_children else None


def _function_declarator(node: Node | None) -> Node | None:
    """Below the `*` and `&` of the return type."""
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or (
            node.named_children[0] if node.type == "reference_declarator" and node.named_children else None
        )
    return node


def declared_name(declarator: Node | None) -> str:
    """The name that a declarator introduces, below pointers, arrays and initialisers."""
    return last_name(declarator)
