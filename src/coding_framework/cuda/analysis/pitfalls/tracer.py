"""Runs one block of a kernel on its syntax: integers are followed, everything else is not.

Why: an index such as `tile[threadIdx.x][k + (threadIdx.x & 3)]` is judged best by the numbers it gives
for the 32 threads of a warp. The tracer follows integer variables, pointers, guards, early returns and
calls of the source's own functions, and writes down what memory is touched by whom.

Guarantees: it ends (each loop runs at most `MAX_ROUNDS` times, the whole at most `MAX_STEPS` steps) and never
raises on any program. Not guaranteed: that it sees everything. Floating-point values, memory contents,
signs of unsigned arithmetic and later rounds of loops are not followed; what depends on them is
"not known", and rules stay silent about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.calls import BARRIERS
from coding_framework.cuda.analysis.pitfalls.evaluation import Evaluation
from coding_framework.cuda.analysis.pitfalls.events import Branch, Trace
from coding_framework.cuda.analysis.pitfalls.program import Program
from coding_framework.cuda.analysis.pitfalls.scenario import Scenario
from coding_framework.cuda.analysis.pitfalls.state import OutOfSteps
from coding_framework.cuda.analysis.pitfalls.values import (
    DATA,
    DIMENSION,
    UNKNOWN,
    Known,
    Lanes,
    Pointer,
    Region,
    Value,
)

MAX_ROUNDS = 2
"""Two rounds show what one round of a loop does to the next through shared memory; others run once."""


def trace(program: Program, kernel: ir.Function, scenario: Scenario) -> Trace:
    """What one block of the kernel does under the scenario."""
    tracer = Tracer(program, scenario)
    complete = tracer.run(kernel)
    return Trace(kernel.name, kernel.line, scenario, tracer.events, complete, tracer.took_a_side)


class _LoopState:
    """Threads of a running loop that broke out, and how many unknown conditions lie outside its body."""

    __slots__ = ("broken", "num_unknown")

    def __init__(self, nobody: Lanes) -> None:
        self.broken = nobody
        self.num_unknown = 0


class Tracer(Evaluation):
    """Statements; expressions are in the base class."""

    def __init__(self, program: Program, scenario: Scenario) -> None:
        super().__init__(program, scenario)
        self._loops: list[_LoopState] = []

    def run(self, kernel: ir.Function) -> bool:
        """Trace the kernel; False if it was too long to follow to its end."""
        for parameter in kernel.parameters:
            self.scopes[-1][parameter.name] = self._argument(parameter)
        try:
            self.execute(kernel.body)
        except OutOfSteps:
            return False
        return True

    def _argument(self, parameter: ir.Parameter) -> Known:
        if parameter.is_pointer:
            region = Region(parameter.name, "global", parameter.type.element_bytes)
            size = parameter.type.element_bytes
            return Pointer(region, Value(0, 0), size, (None,), parameter.type.is_volatile)
        return Value(self.scenario.parameters.get(parameter.name), DIMENSION)

    def execute(self, statement: ir.Statement) -> None:
        """One statement for the threads that are active."""
        self.step()
        if self.active is not self.nobody:
            _STATEMENTS[type(statement)](self, statement)

    def run_function(self, function: ir.Function, arguments: list[Known]) -> Known:
        """A call: the body with its own variables, after which all its threads go on."""
        saved = self.enter_function(function, arguments)
        loops, self._loops = self._loops, []
        self.call_stack.append(function.name)
        self.execute(function.body)
        self.call_stack.pop()
        self._loops = loops
        results = self.leave_function(saved)
        if len(results) == 1:
            return results[0]
        taint = DATA
        for result in results:
            taint |= result.taint if isinstance(result, Value) else 0
        return Value(None, taint)

    def _block(self, block: ir.Block) -> None:
        self.scopes.append({})
        for statement in block.statements:
            self.execute(statement)
        self.scopes.pop()

    def _evaluate(self, statement: ir.Evaluate) -> None:
        self.evaluate(statement.expression)

    def _if(self, statement: ir.If) -> None:
        self.line = statement.line
        condition = self.number(statement.condition)
        data = condition.data
        if statement.returns and not self.call_stack:
            self.exit_taint |= condition.taint | self.condition_taint()
        if data is None:
            number = self.new_guard()
            self._under(statement.first, self.active, condition.taint, (number, 0))
            if statement.second is not None:
                self._under(statement.second, self.active, condition.taint, (number, 1))
            return
        if isinstance(data, int):
            self.took_a_side |= condition.taint != 0
            chosen = statement.first if data else statement.second
            if chosen is not None:
                self._under(chosen, self.active, condition.taint, None)
            return
        lanes = data != 0
        self.events.append(
            Branch(lanes, self.active, condition.taint, statement.line, statement.text, self.loop_depth)
        )
        taken, rest = self.active & lanes, self.active & ~lanes
        if taken.any():
            self._under(statement.first, taken, condition.taint, None)
            taken = self.active
        if statement.second is not None and rest.any():
            self._under(statement.second, rest, condition.taint, None)
            rest = self.active
        self.active = self.some(taken | rest)

    def _under(
        self, statement: ir.Statement, active: Lanes, taint: int, guard: tuple[int, int] | None
    ) -> None:
        """A statement under a condition; what stays active afterwards is left in `active`."""
        self.active = active
        self.enter(taint, guard)
        self.execute(statement)
        self.leave(guard)

    def _cases(self, statement: ir.Cases) -> None:
        condition = self.number(statement.condition)
        for arm in statement.arms:
            self._under(arm, self.active, condition.taint, (self.new_guard(), 0))

    def _loop(self, loop: ir.Loop) -> None:
        self.scopes.append({})
        if loop.start is not None:
            for part in loop.start.statements if isinstance(loop.start, ir.Block) else (loop.start,):
                self.execute(part)
        before = self.active
        self._loops.append(_LoopState(self.nobody))
        self.loop_depth += 1
        ended, taint = self._rounds(loop, self._loops[-1])
        self.loop_depth -= 1
        self._loops.pop()
        if not ended:
            for name in loop.effects.assigned:
                self.forget(name, taint)
        self.active = self.some(before & ~self.returned)
        self.scopes.pop()

    def _rounds(self, loop: ir.Loop, state: _LoopState) -> tuple[bool, int]:
        """Whether every thread came to the loop's end, and what that depended on."""
        number, taint = self.new_guard(), 0
        going = self.active
        num_rounds = MAX_ROUNDS if self._matters_twice(loop.effects) else 1
        for at in range(num_rounds + 1):
            condition = UNKNOWN if loop.condition is None else Value(1, 0)
            if loop.condition is not None and (at > 0 or loop.tests_first):
                condition = self.number(loop.condition)
            taint |= condition.taint
            guard = (number, 0) if condition.data is None and loop.condition is not None else None
            if condition.data is not None:
                going = going & (np.asarray(condition.data) != 0)
            if at == 0 and taint:
                self.retaint(loop.effects.counters, taint)
            if not going.any():
                return True, taint
            if at == num_rounds:
                return False, taint
            going = self._round(loop, state, going, taint, guard)
            if not going.any():
                return True, taint
        return False, taint

    def _matters_twice(self, effects: ir.LoopEffects) -> bool:
        """Whether a second round could meet what the first one left in shared memory."""
        if any(name in BARRIERS or self.program.has_function(name) for name in effects.called):
            return True
        for name in effects.stored:
            at = self.find(name)
            value = self.scopes[at][name] if at is not None else None
            if not isinstance(value, Pointer) or value.region.space == "shared":
                return True
        return any(name.startswith("atomic") for name in effects.called)

    def _round(
        self, loop: ir.Loop, state: _LoopState, going: Lanes, taint: int, guard: tuple[int, int] | None
    ) -> Lanes:
        """One pass through the body and the update; the threads that come to the next test."""
        state.num_unknown = len(self.unknown) + (guard is not None)
        self._under(loop.body, going, taint, guard)
        going = going & ~state.broken & ~self.returned
        self.active = going
        if loop.update is not None and going.any():
            self.enter(taint, guard)
            self.evaluate(loop.update)
            self.leave(guard)
        return going

    def _jump(self, statement: ir.Jump) -> None:
        """Under a condition that is not known, a jump is taken by nobody."""
        if statement.word == "goto":
            raise OutOfSteps
        if self._loops and len(self.unknown) == self._loops[-1].num_unknown:
            if statement.word == "break":
                self._loops[-1].broken = self._loops[-1].broken | self.active
            self.active = self.nobody

    def _return(self, statement: ir.Return) -> None:
        self.line = statement.line
        if statement.value is not None:
            self.results.append(self.evaluate(statement.value))
        if len(self.unknown) > self.unknown_at_call:
            self.exit_doubt |= 0 if self.call_stack else self.doubt()
            return
        self.returned = self.returned | self.active
        if not self.call_stack:
            self.exited = self.returned
        self.active = self.nobody


_STATEMENTS: dict[type, Callable[[Tracer, Any], None]] = {
    ir.Declaration: Tracer.declare,
    ir.Evaluate: Tracer._evaluate,
    ir.Block: Tracer._block,
    ir.If: Tracer._if,
    ir.Loop: Tracer._loop,
    ir.Cases: Tracer._cases,
    ir.Return: Tracer._return,
    ir.Jump: Tracer._jump,
}
