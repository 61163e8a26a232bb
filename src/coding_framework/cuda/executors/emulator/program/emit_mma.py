"""Handler of `mma.sync`: the products m16n8k8 and m16n8k16 of halves, m16n8k4 and m16n8k8 of tf32 factors.

Other shapes and types, sparse factors and `wgmma` are not supported.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.machine.mma import COLUMNS, ROWS, Product
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.matrix_registers import (
    num_registers,
    register_type,
    registers_of,
)

_WARP = 32
_HALVES = {"m16n8k8": 8, "m16n8k16": 16}
_DEPTHS = {"f16": _HALVES, "bf16": _HALVES, "tf32": {"m16n8k4": 4, "m16n8k8": 8}}
"""Extent that is summed over, by type of the factors and shape."""


def product(e: Emitter) -> None:
    """d = a * b + c, e.g. `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`."""
    ins = e.instruction
    form = _form(ins.parts)
    if form is None or e.guard is not None:
        raise e.unsupported("form")
    results, *sources = ins.operands
    arguments = ", ".join(
        f"({', '.join(e.read_dtype(o, register_type(kind)) for o in registers_of(e, operand, number))},)"
        for operand, (kind, number) in zip(sources, _registers(form), strict=True)
    )
    values = e.assign(f"{e.context.bind(form)}.multiply(L, {arguments})")
    kind, number = _registers(form)[-1]
    for position, destination in enumerate(registers_of(e, results, number)):
        e.write(destination, f"{values}[{position}]", register_type(kind))


def _registers(form: Product) -> list[tuple[str, int]]:
    """Type and number of the registers of a, b and c; those of d are as those of c."""
    sizes = (
        (form.factor, ROWS * form.depth),
        (form.factor, form.depth * COLUMNS),
        (form.total, ROWS * COLUMNS),
    )
    return [(kind, num_registers(size // _WARP, kind)) for kind, size in sizes]


def _form(parts: tuple[str, ...]) -> Product | None:
    """The product that the opcode names; None for one that is not known."""
    if parts[:3] != ("mma", "sync", "aligned") or parts[4:6] != ("row", "col") or len(parts) != 10:
        return None
    result, factor, other, added = parts[6:]
    sums = ("f32", "f16") if factor == "f16" else ("f32",)
    depth = _DEPTHS.get(factor, {}).get(parts[3])
    if depth is None or factor != other or result not in sums or result != added:
        return None
    return Product(depth, factor, result)
