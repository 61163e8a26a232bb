"""Parameters of the kernels in a source, read from the syntax tree.

Used to benchmark a kernel without a task, and to refuse numbers where pointers are wanted. Macros are
expanded where no condition decides on them; of names for types only those of numbers are resolved.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from coding_framework.cuda.analysis.number_types import NumberTypes
from coding_framework.cuda.analysis.prepared import CertainView, certain_view
from coding_framework.cuda.analysis.syntax import parse, text, walk
from coding_framework.records import Record

_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
_WORD = re.compile(r"\w+")


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
    is_number: bool
    """Whether its type is surely an arithmetic one; see `number_types.py`."""


class KernelSignature(Record):
    """A `__global__` function."""

    name: str
    """As launched."""
    parameters: tuple[Parameter, ...]
    """In order."""
    is_certain: bool
    """Whether the compiler is sure to see these parameters and no others."""


def kernel_signatures(source: str) -> tuple[KernelSignature, ...]:
    """Every `__global__` function of the source, in order."""
    view = certain_view(source)
    types, found = NumberTypes(view), []
    for node in walk(parse(view.text)):
        if node.type == "function_declarator" and "__global__" in _prefix(node):
            name = node.child_by_field_name("declarator")
            parameters = node.child_by_field_name("parameters")
            if name is not None and parameters is not None:
                children = [c for c in parameters.named_children if c.type in _PARAMETERS]
                found.append(
                    KernelSignature(
                        name=text(name),
                        parameters=tuple(_parameter(child, types) for child in children),
                        is_certain=_is_certain(text(name), parameters, view),
                    )
                )
    return tuple(found)


def no_number_words(declarations: Sequence[KernelSignature], position: int) -> str:
    """Why a number may not be the argument at a position of a kernel; empty where it may.

    All declarations of the kernel must agree: which of them is compiled, a condition may decide. A place
    behind the last parameter is left to those who count the arguments.
    """
    if not declarations or not all(signature.is_certain for signature in declarations):
        return (
            "has parameters that cannot be read (declare it plainly, as in "
            '`extern "C" __global__ void k(const float* x, int n)`, without macros and conditions)'
        )
    for signature in declarations:
        for parameter in signature.parameters[position : position + 1]:
            if parameter.is_pointer:
                return f"takes a pointer `{parameter.name}`"
            if not parameter.is_number:
                return (
                    f"takes `{parameter.name}` of type `{parameter.type}`, which is not known to be a number "
                    "(write `int`, `unsigned`, `long long`, `size_t`, `float` or the like)"
                )
    return ""


def _is_certain(kernel: str, parameters: Node, view: CertainView) -> bool:
    """No part of the list is unreadable, and no doubtful macro stands in it or speaks of the kernel."""
    names = {macro.name for macro in view.doubtful}
    words = names | {token.text for macro in view.doubtful for token in macro.body}
    return (
        not parameters.has_error
        and all(child.type in _PARAMETERS for child in parameters.named_children)
        and kernel not in words
        and names.isdisjoint(_WORD.findall(text(parameters)))
    )


def _prefix(declarator: Node) -> str:
    """The words of the definition before the declarator: qualifiers and the return type."""
    parent = declarator.parent
    if parent is None:
        return ""
    return " ".join(text(child) for child in parent.children if child.end_byte <= declarator.start_byte)


def _parameter(node: Node, types: NumberTypes) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    type_node = node.child_by_field_name("type")
    words = text(node)
    names = [n for n in walk(declarator) if n.type == "identifier"] if declarator is not None else []
    return Parameter(
        name=text(names[-1]) if names else "",
        type=text(type_node) if type_node is not None else words,
        is_pointer="*" in words or "[" in words,
        is_const="const" in words.split("*")[0].split(),
        is_number=types.is_number(node),
    )
