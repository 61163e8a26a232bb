"""Generates the Python of one basic block: locals for registers, NumPy calls for instructions.

Only text made here is ever compiled: names come from register numbers, literals become constants in
the namespace. A register is read from the frame at its first use and written back at the end if it
is live afterwards, so temporaries cost nothing outside the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coding_framework.cuda.executors.emulator.dtypes import ACCESS, STORAGE, constant, size_of
from coding_framework.cuda.executors.emulator.program.code import FlatInstruction, Name, UnsupportedPtx
from coding_framework.cuda.executors.emulator.program.flatten import Flattener
from coding_framework.cuda.executors.emulator.program.layout import Layout
from coding_framework.cuda.executors.emulator.program.registers import RegisterTable
from coding_framework.cuda.executors.emulator.ptx import (
    Address,
    Immediate,
    Instruction,
    Register,
    Symbol,
    Vector,
)
from coding_framework.cuda.executors.emulator.ptx.model import Operand


@dataclass
class Context:
    """What all blocks of a kernel share while they are generated."""

    code: Flattener
    layout: Layout
    registers: RegisterTable
    parameter_offsets: dict[Name, int]
    """Kernel parameters by name."""
    namespace: dict[str, Any]
    read_names: frozenset[Name]
    """Registers that some instruction reads."""
    constants: dict[tuple[str, str, bytes], str] = field(default_factory=dict)

    def constant(self, value: int | float, dtype: str, float_bits: int | None = None) -> str:
        """The name of a constant of a dtype."""
        scalar = constant(value, dtype, float_bits)
        key = ("constant", dtype, scalar.tobytes())
        if key not in self.constants:
            name = f"k{len(self.constants)}"
            self.constants[key] = name
            self.namespace[name] = scalar
        return self.constants[key]

    def bind(self, thing: Any) -> str:
        """Make an object reachable from generated code."""
        name = f"o{len(self.namespace)}"
        self.namespace[name] = thing
        return name


class Emitter:
    """The text of one block as it grows."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lines: list[str] = []
        self._current: dict[int, str] = {}
        self._views: dict[tuple[str, str], str] = {}
        self._defined: set[int] = set()
        self._num_names = 0
        self.flat: FlatInstruction
        self.guard: str | None = None
        self.result = "None"
        """What the generated function returns."""
        self.used: set[int] = set()
        """Registers that the block reads before it writes them."""

    @property
    def instance(self) -> int:
        return self.flat.instance

    @property
    def instruction(self) -> Instruction:
        return self.flat.instruction

    def unsupported(self, why: str = "") -> UnsupportedPtx:
        text = f"instruction `{self.instruction.text}`" + (f" ({why})" if why else "")
        return UnsupportedPtx(text, self.instruction.line)

    def assign(self, expression: str) -> str:
        """Give an expression a fresh local name."""
        name = f"t{self._num_names}"
        self._num_names += 1
        self.lines.append(f"{name} = {expression}")
        return name

    def run(self, statement: str) -> None:
        self.lines.append(statement)

    def register(self, name: str) -> int:
        return self.context.registers.index((self.instance, name), self.instruction.line)

    def is_read_somewhere(self, operand: Operand | None) -> bool:
        """Whether any instruction of the kernel reads a destination."""
        return isinstance(operand, Register) and (self.instance, operand.name) in self.context.read_names

    def load(self, index: int) -> str:
        """The local that holds a register."""
        if index not in self._current:
            self.used.add(index)
            self._current[index] = self.assign(f"r[{index}]")
        return self._current[index]

    def store(self, index: int, expression: str) -> None:
        """Bind a register to an expression of its storage type, under the guard if there is one."""
        if self.guard is not None:
            expression = f"select({self.guard}, {expression}, {self.load(index)})"
        self._current[index] = self.assign(expression)
        self._defined.add(index)

    def read(self, operand: Operand | None, kind: str) -> str:
        """An operand as the NumPy type of a PTX type."""
        return self.read_dtype(operand, ACCESS[kind])

    def read_dtype(self, operand: Operand | None, dtype: str) -> str:
        context = self.context
        if isinstance(operand, Immediate):
            return context.constant(operand.value, dtype, operand.float_bits)
        if isinstance(operand, Symbol):
            return context.constant(self.symbol_address(operand), dtype)
        if isinstance(operand, Register):
            return self._read_register(operand, dtype)
        raise self.unsupported("operand form")

    def _read_register(self, operand: Register, dtype: str) -> str:
        special = self.context.registers.special(operand.name)
        if special is not None:
            name, stored = self.assign(special), "i32"
            if operand.name in ("%clock64", "%globaltimer"):
                stored = "i64"
        else:
            index = self.register(operand.name)
            name, stored = self.load(index), STORAGE[self.context.registers.types[index]]
        if operand.negated:
            return f"(~{name})"
        return self.as_dtype(name, stored, dtype)

    def as_dtype(self, name: str, stored: str, wanted: str) -> str:
        """Reinterpret at equal size; cut or extend otherwise."""
        if stored == wanted:
            return name
        if size_of(stored) == size_of(wanted) and "bool" not in (stored, wanted):
            key = (name, wanted)
            if key not in self._views:
                self._views[key] = self.assign(f"{name}.view({wanted})")
            return self._views[key]
        if stored.startswith("f"):
            name = self.as_dtype(name, stored, f"i{size_of(stored) * 8}")
        if wanted.startswith("f"):
            integer = f"i{size_of(wanted) * 8}"
            return f"{name}.astype({integer}).view({wanted})"
        return f"{name}.astype({wanted})"

    def symbol_address(self, symbol: Symbol) -> int:
        resolved = self.context.code.resolve((self.instance, symbol.name))
        address = self.context.layout.address(resolved)
        if address is None:
            raise self.unsupported(f"unknown variable {symbol.name}")
        return address + symbol.offset

    def write(self, operand: Operand | None, expression: str, dtype: str) -> None:
        """Put an expression of a NumPy type into a destination register."""
        if operand is None or (isinstance(operand, Vector) and operand.items == (None,)):
            return
        if not isinstance(operand, Register):
            raise self.unsupported("destination form")
        index = self.register(operand.name)
        stored = STORAGE[self.context.registers.types[index]]
        if stored != dtype:
            if size_of(stored) == size_of(dtype):
                expression = f"({expression}).view({stored})"
            else:
                integer = f"i{size_of(stored) * 8}"
                expression = f"({expression}).astype({integer})"
                if stored != integer:
                    expression += f".view({stored})"
        self.store(index, expression)

    def address(self, operand: Operand | None) -> str:
        """The i64 address of `[base + offset]`."""
        if not isinstance(operand, Address):
            raise self.unsupported("address form")
        if operand.base is None:
            return self.context.constant(operand.offset, "i64")
        if isinstance(operand.base, Symbol):
            return self.context.constant(self.symbol_address(operand.base) + operand.offset, "i64")
        index = self.register(operand.base.name)
        if STORAGE[self.context.registers.types[index]] == "i32":
            base = f"{self.load(index)}.view(u32).astype(i64)"
        else:
            base = self.load(index)
        if operand.offset == 0:
            return base
        return f"({base} + {self.context.constant(operand.offset, 'i64')})"

    @property
    def defined(self) -> set[int]:
        return self._defined

    def function(self, name: str, live_out: frozenset[int]) -> str:
        """The whole function; registers that later blocks read are written back."""
        back = [f"r[{index}] = {self._current[index]}" for index in sorted(self._defined & live_out)]
        body = "\n    ".join([*self.lines, *back, f"return {self.result}"])
        return f"def {name}(r, m, L):\n    {body}\n"
