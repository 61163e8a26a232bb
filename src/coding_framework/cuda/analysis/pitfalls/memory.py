"""Addresses of a traced block: declarations, indexing, pointer arithmetic, and what is touched.

Guarantees: every load and store of shared or global memory becomes one `Access`, with its address
where that is known. Contents of memory are never followed.
"""

from __future__ import annotations

from abc import abstractmethod

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.calls import Calls
from coding_framework.cuda.analysis.pitfalls.events import Access, LocalIndex
from coding_framework.cuda.analysis.pitfalls.values import (
    DATA,
    UNKNOWN,
    Known,
    Pointer,
    Value,
    combine,
)


class Memory(Calls):
    """Places in memory."""

    @abstractmethod
    def number(self, expression: ir.Expression) -> Value: ...

    def declare(self, declared: ir.Declaration) -> None:
        """A new variable, array or shared scalar."""
        words = declared.type
        self.line = declared.line
        if declared.extents is not None or words.is_shared:
            self.scopes[-1][declared.name] = self._array(declared)
            if declared.value is not None:
                self.evaluate(declared.value)
            return
        value: Known = UNKNOWN if declared.value is None else self.evaluate(declared.value)
        if declared.is_pointer and isinstance(value, Pointer) and words.element_bytes:
            value = value._replace(
                element_bytes=words.element_bytes, is_volatile=value.is_volatile or words.is_volatile
            )
        elif declared.value is None or (words.is_float and isinstance(value, Value)):
            value = Value(None, value.taint if declared.value is not None else 0)  # type: ignore[union-attr]
        self.scopes[-1][declared.name] = value

    def _array(self, declared: ir.Declaration) -> Pointer:
        words, extents = declared.type, []
        for extent in declared.extents or ():
            size = self.number(extent).data if extent is not None else None
            extents.append(size if isinstance(size, int) else None)
        shape = tuple(extents)
        space = "shared" if words.is_shared else "local"
        region = self.region(
            declared.name, declared.line, space, words.element_bytes, shape, words.is_volatile
        )
        return Pointer(region, Value(0, 0), words.element_bytes, shape, words.is_volatile)

    def index(self, expression: ir.Index) -> Known:
        place = self.address(expression)
        if place is None:
            return Value(None, DATA)
        if place.extents:
            return place
        return self.load(place, expression.line, expression.text)

    def address(self, expression: ir.Expression) -> Pointer | None:
        """Where an lvalue lies; None for variables and what is not followed."""
        if isinstance(expression, ir.Index):
            base, index = self.evaluate(expression.base), self.number(expression.place)
            if not isinstance(base, Pointer):
                return None
            return step_into(base, index)
        if isinstance(expression, ir.Name):
            at = self.find(expression.name)
            found = self.scopes[at][expression.name] if at is not None else None
            return found if isinstance(found, Pointer) and found.extents != (None,) else None
        if isinstance(expression, ir.Member):
            place = self.address(expression.operand)
            return place._replace(element_bytes=0, extents=()) if place is not None else None
        return None

    def address_of(self, expression: ir.AddressOf) -> Known:
        place = self.address(expression.operand)
        if place is None:
            return Value(None, DATA)
        return place._replace(extents=place.extents or (None,))

    def cast(self, expression: ir.Cast) -> Known:
        value = self.evaluate(expression.operand)
        if isinstance(value, Pointer):
            if not expression.is_pointer:
                return Value(None, value.offset.taint)
            return value._replace(element_bytes=expression.element_bytes, extents=(None,))
        return Value(None, value.taint) if expression.is_float else value

    def member(self, expression: ir.Member) -> Known:
        place = self.address(expression.operand)
        if place is not None and isinstance(expression.operand, ir.Index):
            return self.load(place._replace(element_bytes=0, extents=()), expression.operand.line, "")
        return Value(None, taint_of(self.evaluate(expression.operand)) | DATA)

    def load(self, place: Pointer, line: int, text: str) -> Value:
        """The value at a place is never known, but what it depends on is."""
        self.access("read", place, line, text)
        return Value(None, DATA if place.region.space == "local" else place.offset.taint | DATA)

    def access(self, kind: str, place: Pointer, line: int, text: str) -> None:
        """Write an access down."""
        region = place.region
        if region.space == "local":
            if place.offset.taint:
                self.events.append(LocalIndex(region, line, text))
            return
        self.events.append(
            Access(
                kind,
                region,
                place.offset.data,
                place.element_bytes,
                self.active,
                line or self.line,
                text,
                frozenset(guard for guard, _ in self.unknown),
                self.is_bounded(),
                place.offset.taint,
                self.loop_depth,
                place.is_volatile,
            )
        )


def step_into(base: Pointer, index: Value) -> Pointer:
    """The element, or the row of an array, that an index picks."""
    stride, rest = base.element_bytes, base.extents[1:]
    offset = combine("+", base.offset, combine("*", index, Value(row_bytes(stride, rest), 0)))
    return base._replace(offset=offset, extents=rest)


def row_bytes(element_bytes: int, extents: tuple[int | None, ...]) -> int | None:
    """Bytes of what lies behind one index."""
    size = element_bytes
    for extent in extents:
        if extent is None:
            return None
        size *= extent
    return size or None


def moved(symbol: str, left: Known, right: Known) -> Known:
    """Pointer arithmetic; differences and comparisons of pointers are not followed."""
    if isinstance(right, Pointer) and isinstance(left, Value) and symbol == "+":
        left, right = right, left
    if isinstance(left, Pointer) and isinstance(right, Value) and symbol in ("+", "-"):
        scale = Value(row_bytes(left.element_bytes, left.extents[1:]), 0)
        return left._replace(
            offset=combine(symbol, left.offset, combine("*", right, scale)),
            extents=(None, *left.extents[1:]),
        )
    return Value(None, taint_of(left) | taint_of(right))


def taint_of(value: Known) -> int:
    return value.taint if isinstance(value, Value) else value.offset.taint
