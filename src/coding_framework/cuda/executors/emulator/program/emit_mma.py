"""Handler of `mma.sync`: the products m16n8k8 and m16n8k16 of halves, m16n8k4 and m16n8k8 of tf32 factors.

Other shapes and types, sparse factors and `wgmma` are not supported.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.machine.mma import Product
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.ptx import Vector
from coding_framework.cuda.executors.emulator.ptx.model import Operand

_HALVES = {"m16n8k8": 8, "m16n8k16": 16}
_DEPTHS = {"f16": _HALVES, "bf16": _HALVES, "tf32": {"m16n8k4": 4, "m16n8k8": 8}}
"""Extent that is summed over, by type of the factors and shape."""


def product(e: Emitter) -> None:
    """d = a * b + c, e.g. `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`."""
    ins = e.instruction
    form = _form(ins.parts)
    if form is None or e.guard is not None:
        raise e.unsupported("form")
    kinds = (form.factor, form.factor, form.total)
    groups = [
        ", ".join(e.read_dtype(o, _register_type(kind)) for o in _items(operand))
        for operand, kind in zip(ins.operands[1:], kinds, strict=True)
    ]
    arguments = ", ".join(f"({group},)" for group in groups)
    values = e.assign(f"{e.context.bind(form)}.multiply(L, {arguments})")
    for position, destination in enumerate(_items(ins.operands[0])):
        e.write(destination, f"{values}[{position}]", _register_type(form.total))


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


def _items(operand: Operand) -> tuple[Operand | None, ...]:
    assert isinstance(operand, Vector)
    return operand.items


def _register_type(kind: str) -> str:
    return "f32" if kind == "f32" else "i32"
