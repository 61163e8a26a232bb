"""Scalar formulas as small trees: one source for the prompt, the CUDA code and the oracle.

Guarantees: what the prompt says, what the kernel computes and what the oracle checks are the same
formula, because all three are rendered from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

Notation = Literal["cuda", "prompt"]

_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}
_CUDA_NAMES = {
    "abs": "fabsf",
    "exp": "expf",
    "tanh": "tanhf",
    "sqrt": "sqrtf",
    "max": "fmaxf",
    "min": "fminf",
}
_PREFIX_LEVEL, _ATOM_LEVEL, _CHOICE_LEVEL = 3, 4, 0

_COMPUTE: dict[str, Callable[..., Any]] = {
    "add": lambda xp, a, b: a + b,
    "sub": lambda xp, a, b: a - b,
    "mul": lambda xp, a, b: a * b,
    "div": lambda xp, a, b: a / b,
    "neg": lambda xp, a: -a,
    "abs": lambda xp, a: xp.abs(a),
    "exp": lambda xp, a: xp.exp(a),
    "tanh": lambda xp, a: xp.tanh(a),
    "sqrt": lambda xp, a: xp.sqrt(a),
    "max": lambda xp, a, b: xp.where(a > b, a, b),
    "min": lambda xp, a, b: xp.where(a < b, a, b),
    "if_positive": lambda xp, test, a, b: xp.where(test > 0, a, b),
}


@dataclass(frozen=True)
class Formula:
    """A node: an argument by index, a constant, or an operation on operands."""

    operation: str
    operands: tuple[Formula, ...] = ()
    index: int = 0
    value: float = 0.0

    def __add__(self, other: Formula | float) -> Formula:
        return call("add", self, other)

    def __radd__(self, other: float) -> Formula:
        return call("add", other, self)

    def __sub__(self, other: Formula | float) -> Formula:
        return call("sub", self, other)

    def __rsub__(self, other: float) -> Formula:
        return call("sub", other, self)

    def __mul__(self, other: Formula | float) -> Formula:
        return call("mul", self, other)

    def __rmul__(self, other: float) -> Formula:
        return call("mul", other, self)

    def __truediv__(self, other: Formula | float) -> Formula:
        return call("div", self, other)

    def __rtruediv__(self, other: float) -> Formula:
        return call("div", other, self)

    def __neg__(self) -> Formula:
        return call("neg", self)

    def walk(self) -> Iterator[Formula]:
        yield self
        for operand in self.operands:
            yield from operand.walk()

    def compute(self, xp: ModuleType, arguments: Sequence[Any]) -> Any:
        """The value over arrays; constants become arrays, so that every library takes them."""
        if self.operation == "argument":
            return arguments[self.index]
        if self.operation == "constant":
            return xp.full_like(arguments[0], self.value)
        return _COMPUTE[self.operation](xp, *(operand.compute(xp, arguments) for operand in self.operands))

    def render(self, notation: Notation, names: Sequence[str]) -> str:
        """The formula as text, with `names` in place of the arguments."""
        return self._render(notation, names)[0]

    def _render(self, notation: Notation, names: Sequence[str]) -> tuple[str, int]:
        """Text, and how tightly it binds."""
        if self.operation == "argument":
            return names[self.index], _ATOM_LEVEL
        if self.operation == "constant":
            text = f"{float(self.value)!r}f" if notation == "cuda" else f"{self.value:.10g}"
            return text, _ATOM_LEVEL if self.value >= 0 else _PREFIX_LEVEL
        parts = [operand._render(notation, names) for operand in self.operands]
        if self.operation in _INFIX:
            return self._render_infix(parts)
        if self.operation == "neg":
            return f"-{_wrap(parts[0], _ATOM_LEVEL)}", _PREFIX_LEVEL
        if self.operation == "if_positive":
            zero = "0.0f" if notation == "cuda" else "0"
            return (
                f"{_wrap(parts[0], 1)} > {zero} ? {_wrap(parts[1], 1)} : {_wrap(parts[2], 1)}",
                _CHOICE_LEVEL,
            )
        name = _CUDA_NAMES[self.operation] if notation == "cuda" else self.operation
        return f"{name}({', '.join(text for text, _ in parts)})", _ATOM_LEVEL

    def _render_infix(self, parts: Sequence[tuple[str, int]]) -> tuple[str, int]:
        symbol, level = _INFIX[self.operation]
        chain = self.operation in ("add", "mul") and self.operands[1].operation == self.operation
        right_level = level if chain else level + 1
        if parts[1][1] == _PREFIX_LEVEL:
            right_level = _ATOM_LEVEL
        return f"{_wrap(parts[0], level)} {symbol} {_wrap(parts[1], right_level)}", level

    @property
    def arity(self) -> int:
        """Number of different arguments."""
        return len({node.index for node in self.walk() if node.operation == "argument"})


def argument(index: int) -> Formula:
    return Formula("argument", index=index)


def call(operation: str, *operands: Formula | float) -> Formula:
    """An operation on formulas; plain numbers become constants, without the noise of binary products."""
    nodes = (o if isinstance(o, Formula) else Formula("constant", value=round(o, 10)) for o in operands)
    return Formula(operation, tuple(nodes))


def _wrap(part: tuple[str, int], least: int) -> str:
    text, level = part
    return text if level >= least else f"({text})"
