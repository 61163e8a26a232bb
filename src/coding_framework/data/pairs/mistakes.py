"""Mistakes put into kernels that are right, found on the syntax tree: material for repair pairs.

Each function lists the sources that come of making its mistake at every place where it can be made.
They are the usual ones: no bounds check, wrong index, missing barrier, wrong grid, a name that is not
there, one too many, a reduction that stops early, a wrong constant. Whether a mistake really fails is
for the judge: what passes all the same is not kept.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from coding_framework.cuda.analysis.syntax import text
from coding_framework.data.pairs.places import (
    binary_expressions,
    integer_parameters,
    is_in_loop_head,
    is_inside,
    is_use,
    plan_changes,
)
from coding_framework.data.pairs.source_edit import Edit, apply_edits, local_names, nodes

Mistake = Callable[[str], list[str]]

_GRID = re.compile(r"ceil_div\(((?:[^(),]|\([^()]*\))*), (\d+)\)")
_BLOCK = re.compile(r"block=\((\d+)(, \d+)?\)")
_FLOAT = re.compile(r"\d+\.\d*(?:e-?\d+)?f", re.IGNORECASE)
_WRONG_OPERATOR = {"+": "-", "-": "+", "*": "+", "/": "*"}
_WRONG_CALL = {"fmaxf": "fminf", "fminf": "fmaxf", "expf": "logf", "sqrtf": "fabsf", "rsqrtf": "sqrtf"}


def _each(source: str, edits: list[Edit]) -> list[str]:
    return [apply_edits(source, [edit]) for edit in edits]


def no_bounds_check(source: str) -> list[str]:
    """Threads past the end read and write out of bounds."""
    edits = []
    for node in nodes(source, "if_statement"):
        body = node.child_by_field_name("consequence")
        if "<" in text(node.child_by_field_name("condition")) and body is not None:
            edits.append(Edit(node.start_byte, body.start_byte, ""))
    return _each(source, edits)


def loose_comparison(source: str) -> list[str]:
    """`<` becomes `<=`: one element too many."""
    return _each(source, [Edit.of(n.children[1], "<=") for n in binary_expressions(source, "<")])


def late_start(source: str) -> list[str]:
    """A loop that starts at 1 leaves the first element out."""
    found = [
        n for n in nodes(source, "init_declarator") if is_in_loop_head(n) and text(n.children[-1]) == "0"
    ]
    return _each(source, [Edit.of(node.children[-1], "1") for node in found])


def wrong_extent(source: str) -> list[str]:
    """An index that multiplies by the wrong size."""
    sizes = integer_parameters(source)
    edits = [
        Edit.of(side, other)
        for node in binary_expressions(source, "*")
        for side in (node.children[0], node.children[2])
        if text(side) in sizes and is_inside(node, "subscript_argument_list")
        for other in sizes
        if other != text(side)
    ]
    return _each(source, edits)


def forgotten_offset(source: str) -> list[str]:
    """`x[r * cols + c]` without `+ c`."""
    found = [
        n for n in binary_expressions(source, "+") if n.parent and n.parent.type == "subscript_argument_list"
    ]
    return _each(source, [Edit(n.children[1].start_byte, n.end_byte, "") for n in found])


def no_barrier(source: str) -> list[str]:
    """Threads read what others have not written yet."""
    found = [n for n in nodes(source, "expression_statement") if text(n) == "__syncthreads();"]
    return _each(source, [Edit.of(node, "") for node in found])


def short_grid(source: str) -> list[str]:
    """A quotient rounded down leaves the last elements out, or launches nothing."""
    return plan_changes(source, _GRID, lambda match: f"{match[1]} / {match[2]}")


def wide_grid_step(source: str) -> list[str]:
    """A grid for blocks twice as large: half of the elements are never reached."""
    return plan_changes(source, _GRID, lambda match: f"ceil_div({match[1]}, {2 * int(match[2])})")


def huge_block(source: str) -> list[str]:
    """More threads than a block can have."""
    return plan_changes(source, _BLOCK, lambda match: "block=(64, 32)" if match[2] else "block=(2048)")


def small_block(source: str) -> list[str]:
    """Half of the threads that the grid counts on."""
    return plan_changes(source, _BLOCK, lambda match: f"block=({max(1, int(match[1]) // 2)}{match[2] or ''})")


def undeclared_name(source: str) -> list[str]:
    """A name that nobody declared."""
    known = local_names(source)
    found = [n for n in nodes(source, "identifier") if text(n) in known and is_use(n)]
    return _each(source, [Edit.of(node, f"{text(node)}{text(node)[-1]}") for node in found])


def no_semicolon(source: str) -> list[str]:
    """A statement that does not end."""
    found = nodes(source, "expression_statement")
    return _each(source, [Edit(node.end_byte - 1, node.end_byte, "") for node in found])


def early_end_of_reduction(source: str) -> list[str]:
    """The last step of a tree is missing: `> 0` becomes `> 1`."""
    found = [n for n in binary_expressions(source, ">") if text(n.children[2]) == "0" and is_in_loop_head(n)]
    return _each(source, [Edit.of(node.children[2], "1") for node in found])


def late_begin_of_reduction(source: str) -> list[str]:
    """The first step of a tree is missing: 16 becomes 8."""
    found = [
        number
        for node in nodes(source, "init_declarator")
        if is_in_loop_head(node) and text(number := node.children[-1]) in ("16", "32", "64", "128", "256")
    ]
    return _each(source, [Edit.of(number, str(int(text(number)) // 2)) for number in found])


def wrong_constant(source: str) -> list[str]:
    """A floating-point constant that is another."""
    edits = []
    for node in nodes(source, "number_literal"):
        word = text(node)
        if _FLOAT.fullmatch(word):
            value = float(word[:-1])
            edits.append(Edit.of(node, f"{round(1.5 * value, 8) or 1.0!r}f"))
    return _each(source, edits)


def wrong_operator(source: str) -> list[str]:
    """A sign or a factor that is another, outside of subscripts and conditions."""
    edits = [
        Edit.of(node.children[1], _WRONG_OPERATOR[text(node.children[1])])
        for node in nodes(source, "binary_expression")
        if text(node.children[1]) in _WRONG_OPERATOR
        and not is_inside(node, "subscript_argument_list", "condition_clause")
        and "Idx" not in text(node)
    ]
    return _each(source, edits)


def wrong_call(source: str) -> list[str]:
    """A function that is another."""
    found = [n for n in nodes(source, "identifier") if text(n) in _WRONG_CALL]
    return _each(source, [Edit.of(node, _WRONG_CALL[text(node)]) for node in found])


def overwritten_sum(source: str) -> list[str]:
    """`+=` becomes `=`: only the last term is left."""
    found = [
        node.children[1] for node in nodes(source, "assignment_expression") if text(node.children[1]) == "+="
    ]
    return _each(source, [Edit.of(operator, "=") for operator in found if not is_in_loop_head(operator)])


def no_c_linkage(source: str) -> list[str]:
    """A kernel that cannot be launched by its name."""
    return [source.replace('extern "C" ', "", 1)] if 'extern "C" ' in source else []


MISTAKES: tuple[Mistake, ...] = (
    *(no_bounds_check, loose_comparison, late_start, wrong_extent, forgotten_offset, no_barrier),
    *(short_grid, wide_grid_step, huge_block, small_block, undeclared_name, no_semicolon),
    *(early_end_of_reduction, late_begin_of_reduction, wrong_constant, wrong_operator, wrong_call),
    *(overwritten_sum, no_c_linkage),
)


def draw_mistake(rng: random.Random, source: str) -> tuple[str, str]:
    """The mistake's name and the source with it in; every kind that fits is as likely."""
    for mistake in rng.sample(MISTAKES, len(MISTAKES)):
        broken = [changed for changed in mistake(source) if changed != source]
        if broken:
            return mistake.__name__, rng.choice(broken)
    raise ValueError("no mistake fits this source")
