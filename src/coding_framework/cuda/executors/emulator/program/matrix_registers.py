"""The registers in which the lanes of a warp hold a matrix, as `mma`, `wmma` and `ldmatrix` write them."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.ptx import Vector
from coding_framework.cuda.executors.emulator.ptx.model import Operand


def registers_of(e: Emitter, operand: Operand, number: int) -> tuple[Operand | None, ...]:
    """So many registers in braces, one too; any other number is no such instruction."""
    if not isinstance(operand, Vector) or len(operand.items) != number:
        raise e.unsupported("number of registers")
    return operand.items


def register_type(kind: str) -> str:
    """Halves and tf32 are raw bits."""
    return "f32" if kind == "f32" else "i32"


def num_registers(num_elements: int, kind: str) -> int:
    """Registers of a lane for so many elements: two halves share one."""
    return num_elements // 2 if kind in ("f16", "bf16") else num_elements
