"""Fragments: how the lanes of a warp share a matrix between `wmma` instructions.

Guarantees: a lane holds neighbouring elements of one row (of one column, for a factor that lies column
by column in memory), lane after lane: eight of a matrix of 16 x 16, four of one of 16 x 8. Two halves
share a register; factors of float16 hold each pair twice, because the instruction gives them eight
registers. CUDA leaves the arrangement open, so a kernel that counts on one is wrong on hardware and here.
"""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.matrix_registers import num_registers

EDGE = 16
"""Rows and columns of a result, and of everything else but the extent that is summed over."""
DEPTHS = {"m16n16k16": 16, "m16n16k8": 8}
"""The extent that is summed over, by shape."""
_WARP = 32
_COPIES = {
    (16, "factor", "f16"): 2, (16, "factor", "bf16"): 1, (16, "sum", "f16"): 1, (16, "sum", "f32"): 1,
    (8, "factor", "tf32"): 1, (8, "sum", "f32"): 1,
}  # fmt: skip
"""What there is, by depth."""


@dataclass(frozen=True)
class Fragment:
    """One load or store of a matrix by a warp."""

    kind: str
    """f16, bf16, tf32 or f32."""
    num_copies: int
    """How often the registers repeat the elements."""
    by_lines: bool
    """Whether the elements of a lane are neighbours in memory."""
    accesses: tuple[Access, ...]
    """What a lane does: one or two wide accesses, or eight single ones."""
    line_length: int
    """Elements of a row, or of a column where the matrix lies column by column."""
    per_lane: int
    """Elements that a lane holds."""
    num_registers: int
    """Registers of a lane."""

    @property
    def element_bytes(self) -> int:
        return 2 if self.kind in ("f16", "bf16") else 4


def depth_of(parts: tuple[str, ...]) -> int | None:
    """The extent that is summed over; None where the shape is not known."""
    return next((DEPTHS[part] for part in parts if part in DEPTHS), None)


def line_length(role: str, layout: str, depth: int) -> int:
    """Elements of a line in memory: a row of `a` and a column of `b` are as long as the depth."""
    return depth if (role, layout) in (("a", "row"), ("b", "col")) else EDGE


def fragment_registers(depth: int, role: str, kind: str) -> int:
    """Registers of a lane for a factor or a sum, copies included; KeyError where there is no such thing."""
    per_lane = EDGE * (depth if role == "factor" else EDGE) // _WARP
    return num_registers(per_lane, kind) * _COPIES[depth, role, kind]


def fragment_of(parts: tuple[str, ...], space: str, line: int | None, text: str) -> Fragment:
    """The fragment of `wmma.load.*` or `wmma.store.d`; KeyError where there is none of the kind."""
    depth = next(DEPTHS[part] for part in parts if part in DEPTHS)
    role, kind = ("factor" if parts[2] in ("a", "b") else "sum"), parts[-1]
    layout = "row" if "row" in parts else "col"
    by_lines = role == "factor" or layout == "row"
    per_lane = EDGE * (depth if role == "factor" else EDGE) // _WARP
    if not by_lines:
        dtype, count, number = ("f32" if kind == "f32" else "i16"), 1, per_lane
    elif kind in ("f32", "tf32"):
        dtype, count, number = ("f32" if kind == "f32" else "i32"), 4, per_lane // 4
    else:
        dtype, count, number = "i32", 4, 1
    access = Access(space=space, dtype=dtype, count=count, line=line, text=text)
    return Fragment(
        kind=kind,
        num_copies=_COPIES[depth, role, kind],
        by_lines=by_lines,
        accesses=(access,) * number,
        line_length=line_length(parts[2], layout, depth),
        per_lane=per_lane,
        num_registers=fragment_registers(depth, role, kind),
    )
