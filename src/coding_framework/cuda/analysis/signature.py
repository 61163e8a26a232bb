"""Parameters of the kernels in a source, read from the syntax tree.

Used to benchmark a kernel without a task, and to refuse numbers where pointers are wanted. It does not
resolve typedefs, macros or templates.
"""

from __future__ import annotations

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import parse, text, walk
from coding_framework.records import Record


class Parameter(Record):
    """One parameter of a kernel."""

    name: str
    """As declared."""
    type: str
    """The type's own words without qualifiers, e.g. `float`."""
    is_pointer: bool
    """Whether it takes a buffer."""
    is_const: bool
    """Whether what it points at is only read."""


class KernelSignature(Record):
    """A `__global__` function."""

    name: str
    """As launched."""
    parameters: tuple[Parameter, ...]
    """In order."""


def kernel_signatures(source: str) -> tuple[KernelSignature, ...]:
    """Every `__global__` function of the source, in order."""
    found = []
    for node in walk(parse(source)):
        if node.type == "function_declarator" and "__global__" in _prefix(node):
            name = node.child_by_field_name("declarator")
            parameters = node.child_by_field_name("parameters")
            if name is not None and parameters is not None:
                children = [c for c in parameters.named_children if c.type == "parameter_declaration"]
                found.append(
                    KernelSignature(
                        name=text(name), parameters=tuple(_parameter(child) for child in children)
                    )
                )
    return tuple(found)


def _prefix(declarator: Node) -> str:
    """The words of the definition before the declarator: qualifiers and the return type."""
    parent = declarator.parent
    if parent is None:
        return ""
    return " ".join(text(child) for child in parent.children if child.end_byte <= declarator.start_byte)


def _parameter(node: Node) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    type_node = node.child_by_field_name("type")
    words = text(node)
    names = [n for n in walk(declarator) if n.type == "identifier"] if declarator is not None else []
    return Parameter(
        name=text(names[-1]) if names else "",
        type=text(type_node) if type_node is not None else words,
        is_pointer="*" in words or "[" in words,
        is_const="const" in words.split("*")[0].split(),
    )
