"""Calls of a traced block: barriers, shuffles, atomics, cached loads, and the source's own functions.

A function that is not known may do anything with the pointers it gets: they escape. One whose name
speaks of waiting is taken to order memory, so that no race is claimed across it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.events import Barrier, Escape, Shuffle
from coding_framework.cuda.analysis.pitfalls.state import State
from coding_framework.cuda.analysis.pitfalls.values import (
    DATA,
    THREAD,
    Known,
    Pointer,
    Region,
    Value,
    combine,
)

MAX_CALL_DEPTH = 6
_SHUFFLE = re.compile(r"__(shfl\w*|ballot|any|all|match_any|match_all|reduce_\w+)_sync$")
_BLOCK_BARRIERS = frozenset({"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"})
BARRIERS = _BLOCK_BARRIERS | {"__syncwarp"}
_WAITING = re.compile(r"sync|wait|barrier|arrive|asm", re.IGNORECASE)
_LOADS = frozenset({"__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"})
_STORES = frozenset({"__stwb", "__stcg", "__stcs", "__stwt"})
_FULL_MASKS = (0xFFFFFFFF, -1)


class Calls(State, ABC):
    """What a call does."""

    line = 1
    """Of the current statement or call, for accesses that have no line of their own."""

    @abstractmethod
    def evaluate(self, expression: ir.Expression) -> Known: ...

    @abstractmethod
    def access(self, kind: str, place: Pointer, line: int, text: str) -> None: ...

    @abstractmethod
    def run_function(self, function: ir.Function, arguments: list[Known]) -> Known: ...

    def call(self, expression: ir.Call) -> Known:
        """The value of a call."""
        self.step()
        self.line = expression.line
        arguments = [self.evaluate(argument) for argument in expression.arguments]
        name = expression.name
        if name in BARRIERS:
            self._barrier("warp" if name == "__syncwarp" else "block", expression.line, True)
            return Value(None, DATA)
        if _SHUFFLE.match(name):
            return self._shuffle(expression, arguments)
        if name.startswith("atomic") and arguments:
            return self._memory("atomic", expression, arguments)
        if name in _LOADS or name in _STORES:
            return self._memory("read" if name in _LOADS else "write", expression, arguments)
        if name in ("min", "max") and len(arguments) == 2:
            return self._extreme(name, arguments)
        function = None if expression.is_method else self.program.function(name)
        if function is not None and not function.has_error:
            return self._own(function, expression, arguments)
        return self._foreign(expression, arguments)

    def _barrier(self, scope: str, line: int, is_certain: bool) -> None:
        self.events.append(
            Barrier(
                scope,
                line,
                self.active,
                self.exited,
                self.condition_taint() | self.exit_taint,
                self.doubt(),
                self.exit_doubt,
                is_certain,
            )
        )

    def _shuffle(self, expression: ir.Call, arguments: list[Known]) -> Value:
        mask = arguments[0] if arguments else None
        full = isinstance(mask, Value) and isinstance(mask.data, int) and mask.data in _FULL_MASKS
        self.events.append(
            Shuffle(
                expression.name,
                full,
                self.active,
                self.exited,
                self.condition_taint() | self.exit_taint,
                self.doubt(),
                expression.line,
            )
        )
        return Value(None, THREAD | DATA)

    def _memory(self, kind: str, expression: ir.Call, arguments: list[Known]) -> Value:
        place = arguments[0] if arguments else None
        if not isinstance(place, Pointer):
            return Value(None, THREAD | DATA)
        self.access(kind, place, expression.line, expression.text)
        return Value(None, (place.offset.taint if kind == "read" else THREAD) | DATA)

    def _extreme(self, name: str, arguments: list[Known]) -> Value:
        left, right = arguments
        if isinstance(left, Value) and isinstance(right, Value):
            return combine(name, left, right)
        return Value(None, DATA)

    def _own(self, function: ir.Function, expression: ir.Call, arguments: list[Known]) -> Known:
        if function.name in self.call_stack or len(self.call_stack) >= MAX_CALL_DEPTH:
            return self._foreign(expression, arguments)
        result = self.run_function(function, arguments)
        self.line = expression.line
        for parameter, given in zip(function.parameters, expression.arguments, strict=False):
            if parameter.is_reference and isinstance(given, ir.Name):
                self.forget(given.name, THREAD | DATA)
        return result

    def _foreign(self, expression: ir.Call, arguments: list[Known]) -> Value:
        taint = DATA if arguments else THREAD | DATA
        for argument in arguments:
            if isinstance(argument, Pointer):
                self.events.append(Escape(argument.region))
            else:
                taint |= argument.taint
        if _WAITING.search(expression.name):
            self._barrier("block", expression.line, False)
        if expression.name == "swap":
            for given in expression.arguments:
                if isinstance(given, ir.Name):
                    self.forget(given.name, taint)
        return Value(None, taint)

    def region(
        self,
        name: str,
        line: int,
        space: str,
        element_bytes: int,
        extents: tuple[int | None, ...],
        is_volatile: bool,
    ) -> Region:
        """One region for each declaration, however often it is met."""
        key = f"{space} {name} {line}"
        if key not in self.regions:
            self.regions[key] = Region(name, space, element_bytes, extents, is_volatile)
        return self.regions[key]
