"""A key that tells formulas apart, blind to everything that does not make another task.

Guarantees: the key is equal for formulas that differ only in constants, constant factors, names or
the order of operands. It is a normal form, not algebra: `x * (x + 1)` and `x * x + x` have different
keys, so the tests also compare numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from coding_framework.data.templates.formula import Formula

_COMMUTATIVE = ("max", "min")


def normal_form(formula: Formula) -> str:
    """The least of the forms over all orders of the arguments."""
    return min(_normal(formula, order) for order in permutations(range(formula.arity)))


def _normal(formula: Formula, order: Sequence[int]) -> str:
    if formula.operation == "argument":
        return f"x{order[formula.index]}"
    if formula.operation == "constant":
        return "C"
    if formula.operation in ("add", "sub", "neg"):
        terms = sorted(set(_flatten(formula, order, ("add", "sub", "neg"))))
        return terms[0] if len(terms) == 1 else f"sum({','.join(terms)})"
    if formula.operation in ("mul", "div"):
        return _normal_product(formula, order)
    parts = [_normal(operand, order) for operand in formula.operands]
    return f"{formula.operation}({','.join(sorted(parts) if formula.operation in _COMMUTATIVE else parts)})"


def _normal_product(formula: Formula, order: Sequence[int]) -> str:
    """Constant factors vanish; a division multiplies by an inverse."""
    if formula.operation == "div":
        left, right = (_normal(operand, order) for operand in formula.operands)
        factors = [left, "C" if right == "C" else f"inverse({right})"]
    else:
        factors = _flatten(formula, order, ("mul",))
    kept = sorted(factor for factor in factors if factor != "C")
    if len(kept) < 2:
        return kept[0] if kept else "C"
    return f"product({','.join(kept)})"


def _flatten(formula: Formula, order: Sequence[int], operations: tuple[str, ...]) -> list[str]:
    if formula.operation not in operations:
        return [_normal(formula, order)]
    return [term for operand in formula.operands for term in _flatten(operand, order, operations)]
