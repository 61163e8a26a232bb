"""The nouns of a PTX module. Names of scoped registers and parameters are already unique here."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_BYTES = {
    "pred": 1,
    "b8": 1, "u8": 1, "s8": 1,
    "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8,
    "b128": 16,
}  # fmt: skip
"""Bytes of every fundamental type."""


@dataclass(frozen=True)
class Register:
    """A register, `%r5`, or a special one, `%tid.x`; `negated` for `!%p1`."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Immediate:
    """A literal: an integer, or a float given by value."""

    value: int | float
    float_bits: int | None = None
    """Raw bits of a `0f…` or `0d…` literal."""


@dataclass(frozen=True)
class Symbol:
    """The address of a variable, a label or a function."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`; base is a register, a variable, or nothing."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True)
class Vector:
    """`{%f1, %f2}`; a None stands for `_`. `%r1|%p1` is a vector too, marked `pair`."""

    items: tuple[Register | Immediate | Symbol | None, ...]
    pair: bool = False


@dataclass(frozen=True)
class NameList:
    """`(param0, param1)` of a call."""

    names: tuple[str, ...]


Operand = Register | Immediate | Symbol | Address | Vector | NameList


@dataclass(frozen=True)
class Instruction:
    """One instruction with the line of the candidate's source it came from."""

    parts: tuple[str, ...]
    """The opcode split at its dots: `mad.lo.s32` is `("mad", "lo", "s32")`."""
    operands: tuple[Operand, ...]
    guard: Register | None
    line: int | None
    text: str

    @property
    def name(self) -> str:
        return self.parts[0]


@dataclass(frozen=True)
class Label:
    """A place to branch to."""

    name: str


@dataclass(frozen=True)
class BranchTargets:
    """The table of a `brx.idx`."""

    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """A declared variable or parameter."""

    name: str
    space: str
    type: str
    count: int | None
    """Elements of an array; None for a scalar; 0 for an `extern` one of unknown size."""
    alignment: int
    initializer: tuple[int | float | str, ...] = ()

    @property
    def num_bytes(self) -> int:
        return TYPE_BYTES[self.type] * (1 if self.count is None else self.count)


@dataclass(frozen=True)
class Demands:
    """What a kernel's directives ask of its launch."""

    max_threads: int | None = None
    """From `__launch_bounds__`."""
    block: tuple[int, int, int] | None = None
    """From `__block_size__`: no other will do."""
    cluster: tuple[int, int, int] | None = None
    """From `__cluster_dims__`: blocks that run together."""
    needs_cluster: bool = False
    """Whether it does not run without one."""
    grid_counts_clusters: bool = False
    """Whether a launch's grid is in clusters."""


NO_DEMANDS = Demands()


@dataclass(frozen=True)
class Function:
    """A kernel (`entry`) or a device function with its flat body."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: dict[str, str]
    """Type by name; a range `%r<5>` is one entry `%r*`."""
    variables: tuple[Variable, ...]
    """Shared, local and call-parameter variables declared in the body."""
    body: tuple[Instruction | Label | BranchTargets, ...]
    demands: Demands = NO_DEMANDS


@dataclass(frozen=True)
class Module:
    """A whole PTX text."""

    functions: dict[str, Function]
    variables: tuple[Variable, ...]
