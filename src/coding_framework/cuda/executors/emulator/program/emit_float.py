"""Handlers of floating-point instructions, halves included."""

from __future__ import annotations

from functools import partial

from coding_framework.cuda.executors.emulator.ops import half as half_ops
from coding_framework.cuda.executors.emulator.program.emitter import Emitter

HALF_TYPES = {
    "f16": ("f16", False),
    "bf16": ("bf16", False),
    "f16x2": ("f16", True),
    "bf16x2": ("bf16", True),
}
_DIRECTED = ("rz", "rm", "rp")
_INFIX = {"add": "+", "sub": "-", "mul": "*"}
_APPROXIMATE = {
    "sin": "np.sin({a})",
    "cos": "np.cos({a})",
    "lg2": "np.log2({a})",
    "ex2": "np.exp2({a})",
    "tanh": "hardware_tanh({a})",
    "rsqrt": "reciprocal_root({a})",
    "rcp": "reciprocal({a})",
    "sqrt": "np.sqrt({a})",
}


def rounding(parts: tuple[str, ...]) -> str:
    """The rounding mode of an instruction; rn where none is given."""
    return next((p for p in parts if p in ("rn", *_DIRECTED)), "rn")


def finish(e: Emitter, text: str, kind: str) -> None:
    """Apply .ftz and .sat and write the result."""
    parts = e.instruction.parts
    if "ftz" in parts:
        text = f"flush({text})"
    if "sat" in parts:
        text = f"saturate({text})"
    e.write(e.instruction.operands[0], text, kind)


def operands(e: Emitter, kind: str) -> list[str]:
    """The sources in the instruction's type, subnormals flushed where asked."""
    sources = [e.read(o, kind) for o in e.instruction.operands[1:]]
    return [f"flush({s})" for s in sources] if "ftz" in e.instruction.parts else sources


def binary(e: Emitter) -> None:
    """add, sub, mul."""
    ins, kind, mode = e.instruction, e.instruction.parts[-1], rounding(e.instruction.parts)
    a, b = operands(e, kind)
    if mode in _DIRECTED:
        return finish(e, f"directed('{ins.name}', '{mode}', {a}, {b})", kind)
    return finish(e, f"({a} {_INFIX[ins.name]} {b})", kind)


def fused(e: Emitter) -> None:
    """fma, and mad which is fma on floats."""
    kind, mode = e.instruction.parts[-1], rounding(e.instruction.parts)
    a, b, c = operands(e, kind)
    if mode in _DIRECTED:
        return finish(e, f"directed('fma', '{mode}', {a}, {b}, {c})", kind)
    return finish(e, f"fma_{kind}({a}, {b}, {c})", kind)


def divide(e: Emitter) -> None:
    kind, mode = e.instruction.parts[-1], rounding(e.instruction.parts)
    a, b = operands(e, kind)
    if mode in _DIRECTED:
        return finish(e, f"directed_quotient('{mode}', {a}, {b})", kind)
    return finish(e, f"({a} / {b})", kind)


def unary_function(e: Emitter) -> None:
    """rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh."""
    ins, kind, mode = e.instruction, e.instruction.parts[-1], rounding(e.instruction.parts)
    if kind in HALF_TYPES:
        return half(e)
    (a,) = operands(e, kind)
    if mode in _DIRECTED and ins.name == "sqrt":
        return finish(e, f"directed_root('{mode}', {a})", kind)
    if mode in _DIRECTED and ins.name == "rcp":
        return finish(e, f"directed_quotient('{mode}', np.ones_like({a}), {a})", kind)
    return finish(e, _APPROXIMATE[ins.name].format(a=a), kind)


def sign(e: Emitter) -> None:
    """neg, abs, copysign, testp."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    if ins.name == "testp":
        text = f"test_property({e.read(ins.operands[1], kind)}, '{ins.parts[1]}')"
        return e.write(ins.operands[0], text, "bool")
    sources = operands(e, kind)
    if ins.name == "copysign":
        return finish(e, f"np.copysign({sources[1]}, {sources[0]})", kind)
    return finish(e, f"-{sources[0]}" if ins.name == "neg" else f"np.abs({sources[0]})", kind)


def minimum_maximum(e: Emitter) -> None:
    ins, kind = e.instruction, e.instruction.parts[-1]
    sources = operands(e, kind)
    name = "minimum" if ins.name == "min" else "maximum"
    function = f"np.{name}" if "NaN" in ins.parts else f"float_{name}"
    if "abs" in ins.parts:
        sources = [f"np.abs({s})" for s in sources]
    text = f"{function}({sources[0]}, {sources[1]})"
    if len(sources) == 3:
        text = f"{function}({text}, {sources[2]})"
    finish(e, text, kind)


def half(e: Emitter) -> None:
    """Every arithmetic instruction on f16, bf16 and their pairs."""
    ins = e.instruction
    kind, paired = HALF_TYPES[next(p for p in reversed(ins.parts) if p in HALF_TYPES)]
    name = "fma" if ins.name == "mad" else ins.name
    if name in ("min", "max") and "NaN" in ins.parts:
        name += ".NaN"
    raw = "i32" if paired else "i16"
    sources = ", ".join(e.read_dtype(o, raw) for o in ins.operands[1:])
    saturated = "sat" in ins.parts
    function = e.context.bind(_half_function(name, kind, "relu" in ins.parts, saturated))
    text = f"on_pairs({function}, {sources})" if paired else f"{function}({sources})"
    e.write(ins.operands[0], text, raw)


def _half_function(name: str, kind: str, relu: bool, saturated: bool) -> object:
    if relu and name == "fma":
        return partial(half_ops.fused_relu, kind)
    if saturated:
        return partial(half_ops.saturated, name, kind)
    return partial(half_ops.arithmetic, name, kind)
