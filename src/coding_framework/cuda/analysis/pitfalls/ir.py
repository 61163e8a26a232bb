"""The small language that kernels are read into before they are traced.

Tuples rather than tree-sitter nodes, because a loop's body is visited several times and a field of a
tuple costs a tenth of a field of a node. Guarantees: every node is immutable and typed. It keeps no
types but sizes, and whatever it has no word for becomes `Opaque`, whose parts are still visited.
"""

from __future__ import annotations

from typing import NamedTuple


class Number(NamedTuple):
    """A literal; None stands for a floating-point one, whose value no rule needs."""

    value: int | None


class Name(NamedTuple):
    """A variable, parameter, constant or macro."""

    name: str


class Builtin(NamedTuple):
    """`threadIdx.x` and its kin."""

    key: str


class Binary(NamedTuple):
    """An operation of two operands."""

    operator: str
    left: Expression
    right: Expression
    line: int
    text: str


class Unary(NamedTuple):
    """`-x`, `!x`, `~x`."""

    operator: str
    operand: Expression


class Choice(NamedTuple):
    """`condition ? first : second`."""

    condition: Expression
    first: Expression
    second: Expression


class Call(NamedTuple):
    """A call; a method's object comes as the first argument."""

    name: str
    arguments: tuple[Expression, ...]
    is_method: bool
    line: int
    text: str


class Index(NamedTuple):
    """`base[place]`, and `*base` with place 0."""

    base: Expression
    place: Expression
    line: int
    text: str


class AddressOf(NamedTuple):
    """`&operand`."""

    operand: Expression


class Cast(NamedTuple):
    """A conversion; `element_bytes` is the size behind a pointer type, 0 where it is not known."""

    operand: Expression
    is_pointer: bool
    element_bytes: int
    is_float: bool


class Assign(NamedTuple):
    """`target operator= value`; plain assignment has no operator; `++` adds one."""

    target: Expression
    operator: str
    value: Expression
    line: int
    text: str


class Member(NamedTuple):
    """`operand.name`: a part of a vector or struct."""

    operand: Expression
    name: str


class Opaque(NamedTuple):
    """Something with parts that matter and a value that is not known."""

    parts: tuple[Expression, ...]


Expression = (
    Number
    | Name
    | Builtin
    | Binary
    | Unary
    | Choice
    | Call
    | Index
    | AddressOf
    | Cast
    | Assign
    | Member
    | Opaque
)


class TypeWords(NamedTuple):
    """What a declaration says of the type."""

    element_bytes: int
    """Size of the type; 0 where it is not known."""
    is_float: bool
    is_shared: bool
    is_volatile: bool
    is_const: bool


class Declaration(NamedTuple):
    """One declared name."""

    name: str
    type: TypeWords
    is_pointer: bool
    extents: tuple[Expression | None, ...] | None
    """Of an array, outermost first; None for a scalar; an extent of None is `[]`."""
    value: Expression | None
    line: int


class Evaluate(NamedTuple):
    """An expression for its effect."""

    expression: Expression


class Block(NamedTuple):
    """Statements with a scope of their own."""

    statements: tuple[Statement, ...]


class If(NamedTuple):
    """A branch."""

    condition: Expression
    first: Statement
    second: Statement | None
    returns: bool
    """A `return` lies inside: those who go on have passed a check."""
    line: int
    text: str


class LoopEffects(NamedTuple):
    """What a loop changes, read off its tree."""

    assigned: frozenset[str]
    """Plain names that are assigned anywhere in it."""
    stored: frozenset[str]
    """Names through which it stores to memory."""
    called: frozenset[str]
    """Functions that it calls."""
    counters: frozenset[str]
    """Names that its update assigns."""


class Loop(NamedTuple):
    """Any loop; a `condition` of None never ends it."""

    start: Statement | None
    condition: Expression | None
    update: Expression | None
    body: Statement
    tests_first: bool
    effects: LoopEffects
    line: int


class Cases(NamedTuple):
    """The arms of a switch; which of them run is not known."""

    condition: Expression
    arms: tuple[Block, ...]


class Return(NamedTuple):
    """Leave the function."""

    value: Expression | None
    line: int


class Jump(NamedTuple):
    """`break`, `continue`; `goto` ends the tracing."""

    word: str


Statement = Declaration | Evaluate | Block | If | Loop | Cases | Return | Jump


class Parameter(NamedTuple):
    """A parameter of a function."""

    name: str
    type: TypeWords
    is_pointer: bool
    is_restrict: bool
    is_reference: bool


class Function(NamedTuple):
    """A function of the source, or a macro with arguments read as one."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    line: int
    has_error: bool
    """The tree has errors inside: nothing is claimed about it."""
