"""Fragments: how the lanes of a warp share a 16 x 16 matrix between `wmma` instructions.

Guarantees: a lane holds eight neighbouring elements of one row (of one column, for a factor that lies
column by column in memory), lane after lane, two halves a register; factors of float16 hold each pair
twice, because the instruction gives them eight registers. CUDA leaves the arrangement open, so a kernel
that counts on one is wrong on hardware and here.
"""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.executors.emulator.program.access import Access

EDGE = 16
"""Rows and columns of the one shape that is supported, m16n16k16."""
PER_LANE = 8
"""Elements of a matrix that a lane holds."""
_COPIES = {("factor", "f16"): 2, ("factor", "bf16"): 1, ("sum", "f16"): 1, ("sum", "f32"): 1}


@dataclass(frozen=True)
class Fragment:
    """One load or store of a matrix by a warp."""

    kind: str
    """f16, bf16 or f32."""
    num_copies: int
    """How often the registers repeat the elements."""
    by_lines: bool
    """Whether the elements of a lane are neighbours in memory."""
    accesses: tuple[Access, ...]
    """What a lane does: one or two wide accesses, or eight single ones."""

    @property
    def element_bytes(self) -> int:
        return 4 if self.kind == "f32" else 2


def fragment_of(parts: tuple[str, ...], space: str, line: int | None, text: str) -> Fragment:
    """The fragment of `wmma.load.*` or `wmma.store.d`; KeyError where there is none of the kind."""
    role, kind = ("factor" if parts[2] in ("a", "b") else "sum"), parts[-1]
    by_lines = role == "factor" or "row" in parts
    if not by_lines:
        dtype, count, number = ("f32" if kind == "f32" else "i16"), 1, PER_LANE
    elif kind == "f32":
        dtype, count, number = "f32", 4, 2
    else:
        dtype, count, number = "i32", 4, 1
    access = Access(space=space, dtype=dtype, count=count, line=line, text=text)
    return Fragment(kind, _COPIES[role, kind], by_lines, (access,) * number)
