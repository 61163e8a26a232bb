"""The state of a traced block: variables in scopes, masks of threads, conditions around a statement.

Guarantees: masks are never changed in place, so events may keep them. A variable assigned under a
condition of which only some threads know the outcome is merged thread by thread; under a condition
whose outcome is not known, it is not known either.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

import numpy as np

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.events import Event
from coding_framework.cuda.analysis.pitfalls.program import Program
from coding_framework.cuda.analysis.pitfalls.scenario import Scenario
from coding_framework.cuda.analysis.pitfalls.values import (
    BLOCK,
    DIMENSION,
    THREAD,
    Known,
    Lanes,
    Pointer,
    Region,
    Value,
    select,
)

MAX_STEPS = 4000
"""Statements and calls of one trace; an honest kernel of 200 lines takes some 500."""


class OutOfSteps(Exception):
    """The kernel is too long to follow, or jumps about; what was seen until then is kept."""


class Condition(NamedTuple):
    """A condition around the current statement."""

    taint: int
    depth: int
    """Scopes outside it."""


class Saved(NamedTuple):
    """What a call puts aside."""

    active: Lanes
    returned: Lanes
    scopes: list[dict[str, Known]]
    results: list[Known]
    conditions: list[Condition]
    unknown_at_call: int


class State:
    """Variables, masks and conditions."""

    def __init__(self, program: Program, scenario: Scenario) -> None:
        self.program = program
        self.scenario = scenario
        self.events: list[Event] = []
        self.threads = np.arange(prod(scenario.block))
        self.builtins = _builtins(scenario, self.threads)
        self.scopes: list[dict[str, Known]] = [{}]
        self.active: Lanes = np.ones(self.threads.size, dtype=np.bool_)
        self.nobody: Lanes = np.zeros_like(self.active)
        self.returned: Lanes = self.nobody
        self.exited: Lanes = self.returned
        self.results: list[Known] = []
        self.conditions: list[Condition] = []
        self.unknown: list[tuple[tuple[int, int], int]] = []
        """Guards whose outcome is not known, with what they depend on."""
        self.unknown_depths: list[int] = []
        self.unknown_at_call = 0
        self.call_stack: list[str] = []
        self.regions: dict[str, Region] = {}
        self.exit_taint = self.exit_doubt = self.loop_depth = 0
        self.took_a_side = False
        self._steps = self._num_guards = 0

    def step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise OutOfSteps

    def some(self, lanes: Lanes) -> Lanes:
        """The mask, or the one object that stands for nobody."""
        return lanes if lanes.any() else self.nobody

    def new_guard(self) -> int:
        self._num_guards += 1
        return self._num_guards

    def enter(self, taint: int, guard: tuple[int, int] | None) -> None:
        """A condition begins; `guard` is given where its outcome is not known."""
        self.conditions.append(Condition(taint, len(self.scopes)))
        if guard is not None:
            self.unknown.append((guard, taint))
            self.unknown_depths.append(len(self.scopes))

    def leave(self, guard: tuple[int, int] | None) -> None:
        self.conditions.pop()
        if guard is not None:
            self.unknown.pop()
            self.unknown_depths.pop()

    def enter_function(self, function: ir.Function, arguments: list[Known]) -> Saved:
        """Begin a call with variables of its own; conditions of the caller stay around it."""
        saved = Saved(
            self.active, self.returned, self.scopes, self.results, self.conditions, self.unknown_at_call
        )
        names = [parameter.name for parameter in function.parameters]
        self.scopes = [self.scopes[0], dict(zip(names, arguments, strict=False))]
        self.conditions = [Condition(condition.taint, 0) for condition in self.conditions]
        self.returned, self.results = self.nobody, []
        self.unknown_at_call = len(self.unknown)
        return saved

    def leave_function(self, saved: Saved) -> list[Known]:
        """End a call; its results are handed back."""
        results = self.results
        self.active, self.returned, self.scopes, self.results = saved[:4]
        self.conditions, self.unknown_at_call = saved.conditions, saved.unknown_at_call
        return results

    def condition_taint(self) -> int:
        """What the conditions around the current statement depend on."""
        taint = 0
        for condition in self.conditions:
            taint |= condition.taint
        return taint

    def doubt(self) -> int:
        """What the conditions of unknown outcome depend on."""
        taint = 0
        for _, cause in self.unknown:
            taint |= cause
        return taint

    def is_bounded(self) -> bool:
        """Whether anything so far has looked at a dimension or at the block's place in the grid."""
        return bool((self.condition_taint() | self.exit_taint) & (DIMENSION | BLOCK))

    def find(self, name: str) -> int | None:
        """The innermost scope that has the name."""
        at = len(self.scopes)
        for scope in reversed(self.scopes):
            at -= 1
            if name in scope:
                return at
        return None

    def assign(self, name: str, value: Known) -> None:
        """Give a variable a value for the active threads."""
        at = self.find(name)
        if at is None:
            self.scopes[-1][name] = value
            return
        old = self.scopes[at][name]
        taint, merges = 0, False
        for condition in self.conditions:
            if condition.depth > at:
                taint |= condition.taint
                merges = True
        if merges:
            first_unknown = self.unknown_depths[self.unknown_at_call :]
            is_known = not any(depth > at for depth in first_unknown)
            value = self._merged(value, old, taint, is_known)
        self.scopes[at][name] = value

    def _merged(self, value: Known, old: Known, taint: int, is_known: bool) -> Known:
        if isinstance(value, Pointer):
            if isinstance(old, Pointer) and old.region is value.region:
                offset = self._merged(value.offset, old.offset, taint, is_known)
                assert isinstance(offset, Value)
                return value._replace(offset=offset)
            return value if is_known and self.active.all() else Value(None, taint)
        if not isinstance(old, Value) or not is_known:
            return Value(None, taint | value.taint)
        if self.active.all():
            return Value(value.data, value.taint | taint)
        return select(self.active, value, old, taint)

    def retaint(self, names: Iterable[str], taint: int) -> None:
        """Variables that, from now on, also depend on something else."""
        for name in names:
            at = self.find(name)
            if at is not None:
                old = self.scopes[at][name]
                if isinstance(old, Value):
                    self.scopes[at][name] = Value(old.data, old.taint | taint)

    def forget(self, name: str, taint: int) -> None:
        """A variable whose value is not known any more."""
        at = self.find(name)
        if at is not None:
            old = self.scopes[at][name]
            if isinstance(old, Pointer):
                offset = Value(None, old.offset.taint | taint)
                self.scopes[at][name] = old._replace(offset=offset) if old.extents else old
            else:
                self.scopes[at][name] = Value(None, old.taint | taint)


def _builtins(scenario: Scenario, threads: Lanes) -> dict[str, Value]:
    """`threadIdx` and its kin for one block."""
    x, y, _ = scenario.block
    found = {
        "threadIdx.x": Value(threads % x, THREAD),
        "threadIdx.y": Value(threads // x % y, THREAD),
        "threadIdx.z": Value(threads // (x * y), THREAD),
    }
    for axis, place, extent, blocks in zip(
        "xyz", scenario.block_index, scenario.block, scenario.grid, strict=True
    ):
        found[f"blockIdx.{axis}"] = Value(place, BLOCK)
        found[f"blockDim.{axis}"] = Value(extent, 0)
        found[f"gridDim.{axis}"] = Value(blocks, DIMENSION)
    return found
