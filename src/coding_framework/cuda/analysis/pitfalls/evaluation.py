"""Expressions of a traced block: integers, addresses, and the accesses that they make.

Guarantees: evaluation never raises but `OutOfSteps`; its depth is that of the lowered expression,
which `lowering` bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.events import Division
from coding_framework.cuda.analysis.pitfalls.memory import Memory, moved, taint_of
from coding_framework.cuda.analysis.pitfalls.values import (
    DATA,
    DIMENSION,
    UNKNOWN,
    Known,
    Lanes,
    Pointer,
    Value,
    combine,
    negate,
    select,
)

WARP_SIZE = Value(32, 0)


class Evaluation(Memory):
    """Expressions; statements are in the class above."""

    def evaluate(self, expression: ir.Expression) -> Known:
        """The value of an expression, its effects written down."""
        return _EXPRESSIONS[type(expression)](self, expression)

    def number(self, expression: ir.Expression) -> Value:
        """The value of an expression that should be a number."""
        value = self.evaluate(expression)
        return value if isinstance(value, Value) else Value(None, value.offset.taint)

    def _number(self, expression: ir.Number) -> Value:
        return Value(expression.value, 0)

    def _name(self, expression: ir.Name) -> Known:
        at = self.find(expression.name)
        if at is None:
            return self._constant(expression.name)
        value = self.scopes[at][expression.name]
        if isinstance(value, Pointer) and not value.extents:
            return self.load(value, 0, expression.name)
        return value

    def _constant(self, name: str) -> Known:
        if name == "warpSize":
            return WARP_SIZE
        self.scopes[0][name] = UNKNOWN  # a macro that names itself ends here
        if name in self.program.constants:
            self.step()
            self.scopes[0][name] = self.number(self.program.constants[name])
        return self.scopes[0][name]

    def _builtin(self, expression: ir.Builtin) -> Value:
        return self.builtins.get(expression.key, UNKNOWN)

    def _binary(self, expression: ir.Binary) -> Known:
        symbol = expression.operator
        left = self.evaluate(expression.left)
        if symbol in ("&&", "||") and isinstance(left, Value):
            return self._logical(symbol, left, expression.right)
        right = self.evaluate(expression.right)
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return moved(symbol, left, right)
        if symbol in "/%" and left.data is not None and right.taint & DIMENSION and right.data is not None:
            self.events.append(Division(expression.line, expression.text, self.loop_depth))
        return combine(symbol, left, right)

    def _logical(self, symbol: str, left: Value, right: ir.Expression) -> Value:
        """The right side runs for the threads that the left side leaves open."""
        if isinstance(left.data, int) and (left.data != 0) == (symbol == "||"):
            return Value(int(symbol == "||"), left.taint)
        before = self.active
        if left.data is not None:
            self.active = before & ((np.asarray(left.data) != 0) == (symbol == "&&"))
        guard = (self.new_guard(), 0) if left.data is None else None
        self.enter(left.taint, guard)
        other = self.number(right)
        self.leave(guard)
        self.active = before
        return combine(symbol, left, other)

    def _unary(self, expression: ir.Unary) -> Value:
        return negate(expression.operator, self.number(expression.operand))

    def _choice(self, expression: ir.Choice) -> Known:
        condition = self.number(expression.condition)
        data, before = condition.data, self.active
        if isinstance(data, int):
            self.took_a_side |= condition.taint != 0
            chosen = expression.first if data else expression.second
            return self._under_choice(chosen, before, condition.taint, None)
        if data is None:
            number = self.new_guard()
            first = self._under_choice(expression.first, before, condition.taint, (number, 0))
            second = self._under_choice(expression.second, before, condition.taint, (number, 1))
            return Value(None, taint_of(first) | taint_of(second) | condition.taint)
        lanes = data != 0
        first = self._under_choice(expression.first, before & lanes, condition.taint, None)
        second = self._under_choice(expression.second, before & ~lanes, condition.taint, None)
        if isinstance(first, Value) and isinstance(second, Value):
            return select(lanes, first, second, condition.taint)
        return Value(None, taint_of(first) | taint_of(second) | condition.taint)

    def _under_choice(
        self, expression: ir.Expression, active: Lanes, taint: int, guard: tuple[int, int] | None
    ) -> Known:
        before, self.active = self.active, active
        self.enter(taint, guard)
        value = self.evaluate(expression)
        self.leave(guard)
        self.active = before
        return value

    def _opaque(self, expression: ir.Opaque) -> Value:
        taint = DATA
        for part in expression.parts:
            taint |= taint_of(self.evaluate(part))
        return Value(None, taint)

    def _assign(self, expression: ir.Assign) -> Known:
        self.line = expression.line
        value = self.evaluate(expression.value)
        target = expression.target
        place = self.address(target)
        if place is not None:
            if expression.operator:
                self.access("read", place, expression.line, _words(target, expression))
            self.access("write", place, expression.line, _words(target, expression))
            return value
        if isinstance(target, ir.Name):
            if expression.operator:
                old = self._name(target)
                if isinstance(old, Pointer) or isinstance(value, Pointer):
                    value = moved(expression.operator, old, value)
                else:
                    value = combine(expression.operator, old, value)
            self.assign(target.name, value)
        elif not isinstance(target, ir.Index):
            self.evaluate(target)
        return value


def _words(target: ir.Expression, expression: ir.Assign) -> str:
    return target.text if isinstance(target, ir.Index) else expression.text


_EXPRESSIONS: dict[type, Callable[[Evaluation, Any], Known]] = {
    ir.Number: Evaluation._number,
    ir.Name: Evaluation._name,
    ir.Builtin: Evaluation._builtin,
    ir.Binary: Evaluation._binary,
    ir.Unary: Evaluation._unary,
    ir.Choice: Evaluation._choice,
    ir.Call: Evaluation.call,
    ir.Index: Evaluation.index,
    ir.AddressOf: Evaluation.address_of,
    ir.Cast: Evaluation.cast,
    ir.Assign: Evaluation._assign,
    ir.Member: Evaluation.member,
    ir.Opaque: Evaluation._opaque,
}
