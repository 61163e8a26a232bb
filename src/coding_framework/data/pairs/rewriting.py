"""Equivalent ways to write the same statements, found on the syntax tree.

Each function takes a seed's randomness and a source and returns the source with some places written in
another way. None changes what is computed: integers commute exactly, the order of floating-point
operations stays. Most give the same PTX; where one does not, the judge sees a kernel of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import functions, parse, text, walk
from coding_framework.data.pairs.source_edit import Edit, apply_edits, nodes

Rewrite = Callable[[random.Random, str], str]

_GLOBAL_INDEX = ("blockIdx.{0} * blockDim.{0}", "threadIdx.{0}")
_ATOMS = ("identifier", "number_literal", "field_expression", "subscript_expression", "call_expression")


def swap_global_index(rng: random.Random, source: str) -> str:
    """`blockIdx.x * blockDim.x + threadIdx.x` the other way round, or with the factors swapped."""
    edits = []
    for node in nodes(source, "binary_expression"):
        for axis in "xyz":
            blocks, thread = (form.format(axis) for form in _GLOBAL_INDEX)
            if text(node) == f"{blocks} + {thread}":
                swapped = f"blockDim.{axis} * blockIdx.{axis}"
                forms = (f"{thread} + {blocks}", f"{swapped} + {thread}", f"{thread} + {swapped}")
                edits.append(Edit.of(node, rng.choice(forms)))
    return apply_edits(source, edits)


def swap_index_sums(rng: random.Random, source: str) -> str:
    """`r * cols + c` as `c + r * cols` or `cols * r + c`, inside subscripts."""
    edits = []
    for brackets in nodes(source, "subscript_argument_list"):
        inner = brackets.named_children[0] if brackets.named_child_count == 1 else None
        if inner is not None and _is_product_plus_atom(inner):
            product, atom = inner.children[0], inner.children[2]
            left, right = text(product.children[0]), text(product.children[2])
            forms = (
                f"{text(atom)} + {text(product)}",
                f"{right} * {left} + {text(atom)}",
                f"({text(product)}) + {text(atom)}",
            )
            edits.append(Edit.of(inner, rng.choice(forms)))
    return apply_edits(source, edits)


def _is_product_plus_atom(node: Node) -> bool:
    if node.type != "binary_expression" or [text(c) for c in node.children[1:2]] != ["+"]:
        return False
    product, atom = node.children[0], node.children[2]
    if product.type != "binary_expression" or text(product.children[1]) != "*":
        return False
    return all(part.type in _ATOMS[:3] for part in (product.children[0], product.children[2], atom))


def change_increments(rng: random.Random, source: str) -> str:
    """`++c`, `c++` and `c += 1` where the value is not used: one form for the whole source."""
    form = rng.choice(("++{}", "{}++", "{} += 1"))
    edits = []
    for loop in nodes(source, "for_statement"):
        step = loop.child_by_field_name("update")
        if step is not None and step.type == "update_expression":
            edits.append(Edit.of(step, form.format(text(step.child_by_field_name("argument")))))
    return apply_edits(source, edits)


def spell_out_sums(rng: random.Random, source: str) -> str:
    """`total += v` as `total = total + v`, for plain variables and plain values."""
    edits = []
    for node in nodes(source, "assignment_expression"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.children[1]
        if left is None or right is None or left.type != "identifier" or text(operator) != "+=":
            continue
        if right.type in _ATOMS or (right.type == "binary_expression" and text(right.children[1]) == "*"):
            edits.append(Edit.of(node, f"{text(left)} = {text(left)} + {text(right)}"))
    return apply_edits(source, edits)


def shift_instead_of_halving(rng: random.Random, source: str) -> str:
    """`offset /= 2` as `offset >>= 1`."""
    return apply_edits(
        source,
        [
            Edit.of(node, f"{text(node.child_by_field_name('left'))} >>= 1")
            for node in nodes(source, "assignment_expression")
            if text(node.children[1]) == "/=" and text(node.child_by_field_name("right")) == "2"
        ],
    )


def make_locals_const(rng: random.Random, source: str) -> str:
    """`const int r = ...` for variables that are never written again."""
    written = _written_names(source)
    edits = []
    for node in nodes(source, "declaration"):
        declarators = node.children_by_field_name("declarator")
        parent = node.parent
        if parent is None or parent.type != "compound_statement" or len(declarators) != 1:
            continue
        name, kind = declarators[0].child_by_field_name("declarator"), node.children[0]
        plain = declarators[0].type == "init_declarator" and kind.type == "primitive_type"
        if plain and name is not None and name.type == "identifier" and text(name) not in written:
            edits.append(Edit(kind.start_byte, kind.start_byte, "const "))
    return apply_edits(source, edits)


def _written_names(source: str) -> set[str]:
    """Names that are assigned, counted up, or whose address is taken, anywhere."""
    found = set()
    for node in nodes(source, "assignment_expression", "update_expression", "pointer_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        found |= {text(below) for below in walk(target) if below.type == "identifier"} if target else set()
    return found


def shorten_floats(rng: random.Random, source: str) -> str:
    """`0.0f` as `0.f`."""
    return apply_edits(
        source,
        [
            Edit.of(node, text(node)[:-2] + "f")
            for node in nodes(source, "number_literal")
            if text(node).endswith(".0f")
        ],
    )


def restrict_pointers(rng: random.Random, source: str) -> str:
    """`__restrict__` on the parameters of kernels that are pointers."""
    edits = []
    for function in functions(parse(source)):
        for parameter in function.parameters if function.is_kernel else ():
            declarator = parameter.child_by_field_name("declarator")
            is_pointer = declarator is not None and declarator.type == "pointer_declarator"
            if declarator is not None and is_pointer and "__restrict__" not in text(parameter):
                at = declarator.children[-1].start_byte
                edits.append(Edit(at, at, "__restrict__ "))
    return apply_edits(source, edits)


DRESSING_REWRITES: tuple[tuple[Rewrite, float], ...] = (
    (swap_index_sums, 0.25),
    (change_increments, 0.6),
    (spell_out_sums, 0.3),
    (shift_instead_of_halving, 0.3),
    (make_locals_const, 0.4),
    (shorten_floats, 0.3),
)
"""Which leave the PTX as it was (all of 150 tries on the catalogue), and how often each is done."""
STRUCTURAL_REWRITES: tuple[tuple[Rewrite, float], ...] = (
    (swap_global_index, 0.3),
    (restrict_pointers, 0.25),
)
"""Which change it in half of the cases, and in all."""
