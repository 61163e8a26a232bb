"""Handlers of `wmma`: loads, stores and products of 16 x 16 matrices by whole warps.

Only the shape m16n16k16 with float16 or bfloat16 factors. `mma`, whose arrangement of lanes is fixed, has a
handler of its own (`emit_mma`).
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.emit_memory import space_of
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.fragment import EDGE, Fragment, fragment_of
from coding_framework.cuda.executors.emulator.ptx import Vector
from coding_framework.cuda.executors.emulator.ptx.model import Operand


def matrix(e: Emitter) -> None:
    """wmma.load, wmma.mma and wmma.store."""
    ins = e.instruction
    if "m16n16k16" not in ins.parts or e.guard is not None:
        raise e.unsupported("form")
    {"load": _load, "mma": _multiply, "store": _store}[ins.parts[1]](e)


def _items(operand: Operand) -> tuple[Operand | None, ...]:
    assert isinstance(operand, Vector)
    return operand.items


def _register_type(kind: str) -> str:
    return "f32" if kind == "f32" else "i32"


def _place(e: Emitter, address: Operand) -> tuple[str, str, Fragment]:
    """Address, distance between lines in elements, and what is moved."""
    ins = e.instruction
    fragment = fragment_of(ins.parts, space_of(ins), ins.line, ins.text)
    has_stride = len(ins.operands) > 2
    stride = e.read_dtype(ins.operands[2], "i32") if has_stride else e.context.constant(EDGE, "i32")
    return e.address(address), stride, fragment


def _load(e: Emitter) -> None:
    ins = e.instruction
    address, stride, fragment = _place(e, ins.operands[1])
    values = e.assign(f"m.tensor.load(L, {address}, {stride}, {e.context.bind(fragment)})")
    for position, destination in enumerate(_items(ins.operands[0])):
        e.write(destination, f"{values}[{position}]", _register_type(fragment.kind))


def _store(e: Emitter) -> None:
    ins = e.instruction
    address, stride, fragment = _place(e, ins.operands[0])
    values = ", ".join(e.read_dtype(o, _register_type(fragment.kind)) for o in _items(ins.operands[1]))
    e.run(f"m.tensor.store(L, {address}, {stride}, ({values},), {e.context.bind(fragment)})")


def _multiply(e: Emitter) -> None:
    """d = a * b + c; the layouts of a and b stand before the shape, the types behind it."""
    ins = e.instruction
    types = ins.parts[ins.parts.index("m16n16k16") + 1 :]
    factor = "bf16" if "bf16" in types else "f16"
    if types not in ((types[0], types[-1]), (types[0], factor, factor, types[-1])) or "satfinite" in types:
        raise e.unsupported("type")
    layouts = ins.parts[ins.parts.index("aligned") + 1 :][:2]
    sources = [
        ", ".join(e.read_dtype(o, _register_type(kind)) for o in _items(operand))
        for operand, kind in zip(ins.operands[1:], (factor, factor, types[-1]), strict=True)
    ]
    form = e.context.bind((layouts, factor, types[-1], types[0]))
    groups = ", ".join(f"({group},)" for group in sources)
    values = e.assign(f"m.tensor.multiply(L, {groups}, {form})")
    for position, destination in enumerate(_items(ins.operands[0])):
        e.write(destination, f"{values}[{position}]", _register_type(types[0]))
