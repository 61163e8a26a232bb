"""The body of a function: instructions, labels, branch tables and declarations, with scopes resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from coding_framework.cuda.executors.emulator.ptx.declarations import parse_variable
from coding_framework.cuda.executors.emulator.ptx.lines import LineTracker
from coding_framework.cuda.executors.emulator.ptx.model import (
    BranchTargets,
    Instruction,
    Label,
    Register,
    Variable,
)
from coding_framework.cuda.executors.emulator.ptx.operands import OperandParser, parse_integer, split_operands
from coding_framework.cuda.executors.emulator.ptx.statements import statements

_GUARD = re.compile(r"@(!?)\s*([%$\w]+)\s+")
_OPCODE = re.compile(r"([a-z_][\w]*(?:(?:\.|::)[\w]+)*)\s*(.*)$", re.S)
_REGISTERS = re.compile(r"\.reg\s*\.(\w+)\s+(.*)$", re.S)
_REGISTER_RANGE = re.compile(r"^(.*)<(\d+)>$")
_NUMBER = re.compile(r"0|[1-9]\d*", re.ASCII)
_MAX_DIGITS = 9
"""Of a register's number in its range; the assembler takes no longer ones."""


@dataclass
class _Scope:
    """The names that were declared between two braces, inside the outermost ones."""

    number: int
    names: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, int] = field(default_factory=dict)
    """`%f<3>` by `%f`: how many registers there are."""

    def unique(self, name: str) -> str | None:
        """What a name stands for that was declared here."""
        if name in self.names:
            return self.names[name]
        for length in range(1, _MAX_DIGITS + 1) if self.ranges else ():
            prefix, digits = name[:-length], name[-length:]
            if prefix in self.ranges and _NUMBER.fullmatch(digits) and int(digits) < self.ranges[prefix]:
                return self.unique_prefix(prefix) + digits
        return None

    def unique_prefix(self, prefix: str) -> str:
        return f"{prefix}.s{self.number}."


@dataclass
class Body:
    """What was read so far."""

    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    items: list[Instruction | Label | BranchTargets] = field(default_factory=list)


class _BodyParser:
    def __init__(self, own_file: int | None) -> None:
        self.body = Body()
        self._lines = LineTracker(own_file)
        self._inner_scopes: list[_Scope] = []
        self._num_scopes = 0
        self._plain_registers: set[str] = set()
        self._operands = OperandParser(self._unique, self._plain_registers)
        self._pending_label: str | None = None

    def read(self, text: str) -> Body:
        found = list(statements(text))
        for position, statement in enumerate(found):
            self._statement(statement)
            if statement == "{":
                self._declare_labels(found[position + 1 :])
        self._flush_label()
        return self.body

    def _statement(self, text: str) -> None:
        if text == "{":
            self._num_scopes += 1
            self._inner_scopes.append(_Scope(self._num_scopes))
        elif text == "}":
            self._inner_scopes.pop()
        elif text.endswith(":") and " " not in text:
            self._flush_label()
            self._pending_label = self._unique(text[:-1])
        elif text.startswith("."):
            self._directive(text)
        else:
            self._flush_label()
            self.body.items.append(self._instruction(text))

    def _declare_labels(self, following: list[str]) -> None:
        """Labels of a scope are known before it is read, because branches may go forward."""
        depth = 1
        for statement in following:
            depth += {"{": 1, "}": -1}.get(statement, 0)
            if depth == 0:
                return
            if depth == 1 and statement.endswith(":") and " " not in statement:
                self._declare(statement[:-1])

    def _flush_label(self) -> None:
        if self._pending_label is not None:
            self.body.items.append(Label(self._pending_label))
            self._pending_label = None

    def _directive(self, text: str) -> None:
        if text.startswith((".loc ", ".loc\t")):
            self._lines.see(text)
        elif text.startswith(".reg"):
            self._registers(text)
        elif text.startswith(".branchtargets"):
            targets = tuple(split_operands(text.removeprefix(".branchtargets")))
            self.body.items.append(BranchTargets(self._pending_label or "", targets))
            self._pending_label = None
        elif text.startswith((".shared", ".local", ".param", ".global", ".const")):
            variable = parse_variable(text)
            unique = self._declare(variable.name)
            self.body.variables.append(
                Variable(
                    unique,
                    variable.space,
                    variable.type,
                    variable.count,
                    variable.alignment,
                    variable.initializer,
                )
            )

    def _registers(self, text: str) -> None:
        declared = _REGISTERS.match(text)
        if declared is None:
            raise ValueError(f"unreadable declaration: {text[:80]!r}")
        kind = declared[1]
        for name in split_operands(declared[2]):
            if match := _REGISTER_RANGE.match(name):
                self.body.registers[self._declare_range(match[1].strip(), parse_integer(match[2])) + "*"] = (
                    kind
                )
            else:
                unique = self._declare(name)
                self._plain_registers.add(unique)
                self.body.registers[unique] = kind

    def _declare(self, name: str) -> str:
        """Names in the outermost scope stay; those in inner braces get a suffix."""
        if not self._inner_scopes:
            return name
        scope = self._inner_scopes[-1]
        scope.names[name] = f"{name}.s{scope.number}"
        return scope.names[name]

    def _declare_range(self, prefix: str, count: int) -> str:
        """The same for many registers at once; returns what the names of all of them begin with."""
        if not self._inner_scopes:
            return prefix
        scope = self._inner_scopes[-1]
        scope.ranges[prefix] = count
        return scope.unique_prefix(prefix)

    def _unique(self, name: str) -> str:
        for scope in reversed(self._inner_scopes):
            unique = scope.unique(name)
            if unique is not None:
                return unique
        return name

    def _instruction(self, text: str) -> Instruction:
        guard, rest = None, text
        if match := _GUARD.match(text):
            name = self._unique(match[2])
            guard, rest = Register(name, negated=match[1] == "!"), text[match.end() :]
        opcode = _OPCODE.match(rest)
        if opcode is None:
            raise ValueError(f"unreadable instruction: {text[:80]!r}")
        return Instruction(
            parts=tuple(opcode[1].replace("::", ":").split(".")),
            operands=tuple(self._operands.parse(piece) for piece in split_operands(opcode[2])),
            guard=guard,
            line=self._lines.line,
            text=text,
        )


def parse_body(text: str, own_file: int | None) -> Body:
    """Parse what lies between a function's braces."""
    return _BodyParser(own_file).read(text)
