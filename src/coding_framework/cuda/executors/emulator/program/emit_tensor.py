"""Handlers of `wmma`: loads, stores and products of small matrices by whole warps.

Only the shapes m16n16k16 with float16 or bfloat16 factors and m16n16k8 with tf32 ones. `mma`, whose
arrangement of lanes is fixed, has a handler of its own (`emit_mma`).
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.emit_memory import space_of
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.fragment import (
    DEPTHS,
    Fragment,
    depth_of,
    fragment_of,
    fragment_registers,
)
from coding_framework.cuda.executors.emulator.program.matrix_registers import (
    register_type,
    registers_of,
)
from coding_framework.cuda.executors.emulator.ptx.model import Operand

_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",)}
"""Types of what is added and of what comes out."""


def matrix(e: Emitter) -> None:
    """wmma.load, wmma.mma and wmma.store."""
    ins = e.instruction
    if depth_of(ins.parts) is None or e.guard is not None:
        raise e.unsupported("form")
    {"load": _load, "mma": _multiply, "store": _store}[ins.parts[1]](e)


def _place(e: Emitter, address: Operand) -> tuple[str, str, Fragment]:
    """Address, distance between lines in elements, and what is moved."""
    ins = e.instruction
    fragment = fragment_of(ins.parts, space_of(ins), ins.line, ins.text)
    has_stride = len(ins.operands) > 2
    packed = e.context.constant(fragment.line_length, "i32")
    stride = e.read_dtype(ins.operands[2], "i32") if has_stride else packed
    return e.address(address), stride, fragment


def _load(e: Emitter) -> None:
    ins = e.instruction
    address, stride, fragment = _place(e, ins.operands[1])
    values = e.assign(f"m.tensor.load(L, {address}, {stride}, {e.context.bind(fragment)})")
    for position, destination in enumerate(registers_of(e, ins.operands[0], fragment.num_registers)):
        e.write(destination, f"{values}[{position}]", register_type(fragment.kind))


def _store(e: Emitter) -> None:
    ins = e.instruction
    address, stride, fragment = _place(e, ins.operands[0])
    registers = registers_of(e, ins.operands[1], fragment.num_registers)
    values = ", ".join(e.read_dtype(o, register_type(fragment.kind)) for o in registers)
    e.run(f"m.tensor.store(L, {address}, {stride}, ({values},), {e.context.bind(fragment)})")


def _multiply(e: Emitter) -> None:
    """d = a * b + c; the layouts of a and b stand before the shape, the types behind it."""
    ins = e.instruction
    start = ins.parts.index("aligned") + 1
    layouts, shape, types = ins.parts[start : start + 2], ins.parts[start + 2], ins.parts[start + 3 :]
    depth = DEPTHS[shape]
    factor = next((kind for kind in ("bf16", "tf32") if kind in types), "f16")
    if types not in _known_types(depth, factor, (types[0], types[-1])):
        raise e.unsupported("type")
    results, *operands = ins.operands
    sources = [
        ", ".join(e.read_dtype(o, register_type(kind)) for o in registers_of(e, operand, number))
        for operand, (kind, number) in zip(operands, _registers(depth, factor, types[-1]), strict=True)
    ]
    form = e.context.bind((layouts, depth, factor, types[-1], types[0]))
    groups = ", ".join(f"({group},)" for group in sources)
    values = e.assign(f"m.tensor.multiply(L, {groups}, {form})")
    number = _registers(depth, factor, types[0])[-1][1]
    for position, destination in enumerate(registers_of(e, results, number)):
        e.write(destination, f"{values}[{position}]", register_type(types[0]))


def _registers(depth: int, factor: str, total: str) -> list[tuple[str, int]]:
    """Type and number of the registers of both factors and of a sum."""
    held = [("factor", factor), ("factor", factor), ("sum", total)]
    return [(kind, fragment_registers(depth, role, kind)) for role, kind in held]


def _known_types(depth: int, factor: str, sums: tuple[str, str]) -> tuple[tuple[str, ...], ...]:
    """How the types of a product may be written; those of float16 factors may be left out."""
    if (factor == "tf32") != (depth == 8) or any(kind not in _SUMS[factor] for kind in sums):
        return ()
    whole = (sums[0], factor, factor, sums[1])
    return (sums, whole) if factor == "f16" else (whole,)
