"""Inline every call, so that the machine needs no stack; recursion and indirect calls are refused."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.code import (
    FlatInstruction,
    FlatLabel,
    Name,
    UnsupportedPtx,
)
from coding_framework.cuda.executors.emulator.ptx import (
    BranchTargets,
    Function,
    Instruction,
    Label,
    Module,
    Symbol,
)
from coding_framework.cuda.executors.emulator.ptx.model import NameList, Operand

BUILTINS = frozenset({"vprintf", "__assertfail", "__assert_fail"})
MAX_INSTANCES = 4000


class Flattener:
    """Turns a kernel and what it calls into one list of instructions and labels."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.items: list[FlatInstruction | FlatLabel] = []
        self.instances: list[Function] = []
        self.aliases: dict[Name, Name] = {}
        """A callee's parameter or result, and the caller's variable that it is."""
        self.tables: dict[Name, tuple[str, ...]] = {}

    def flatten(self, kernel: Function) -> None:
        self._expand(kernel, ())

    def _expand(self, function: Function, chain: tuple[str, ...]) -> int:
        instance = len(self.instances)
        if instance >= MAX_INSTANCES:
            raise UnsupportedPtx("too many nested calls to inline", None)
        self.instances.append(function)
        for item in function.body:
            if isinstance(item, Label):
                self.items.append(FlatLabel((instance, item.name)))
            elif isinstance(item, BranchTargets):
                self.tables[(instance, item.name)] = item.targets
            elif item.name == "call":
                self._call(item, instance, (*chain, function.name))
            else:
                self.items.append(FlatInstruction(item, instance))
        self.items.append(FlatLabel((instance, "$return")))
        return instance

    def _call(self, call: Instruction, instance: int, chain: tuple[str, ...]) -> None:
        results, target, arguments = _call_operands(call)
        if target in BUILTINS:
            self.items.append(FlatInstruction(call, instance))
            return
        callee = self._module.functions.get(target)
        if callee is None:
            raise UnsupportedPtx(f"call to `{target}`, which is not in the PTX", call.line)
        if target in chain:
            raise UnsupportedPtx(f"recursive device function `{target}`", call.line)
        if call.guard is not None:
            raise UnsupportedPtx(f"predicated call: {call.text}", call.line)
        inner = len(self.instances)
        for variable, name in zip(callee.parameters, arguments, strict=True):
            self.aliases[(inner, variable.name)] = self.resolve((instance, name))
        for variable, name in zip(callee.results, results, strict=True):
            self.aliases[(inner, variable.name)] = self.resolve((instance, name))
        self._expand(callee, chain)

    def resolve(self, name: Name) -> Name:
        """The variable itself, through any number of calls."""
        while name in self.aliases:
            name = self.aliases[name]
        return name


def _call_operands(call: Instruction) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    operands: list[Operand] = list(call.operands)
    results: tuple[str, ...] = ()
    if operands and isinstance(operands[0], NameList):
        results = operands.pop(0).names  # type: ignore[union-attr]
    if not operands or not isinstance(operands[0], Symbol):
        raise UnsupportedPtx(f"indirect call: {call.text}", call.line)
    target = operands[0].name
    arguments = operands[1].names if len(operands) > 1 and isinstance(operands[1], NameList) else ()
    return results, target, arguments


def call_target(call: Instruction) -> str:
    """The name of the function that a call names."""
    return _call_operands(call)[1]


def call_results(call: Instruction) -> tuple[str, ...]:
    """The names of the variables that receive a call's results."""
    return _call_operands(call)[0]
