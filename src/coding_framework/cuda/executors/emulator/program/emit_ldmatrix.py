"""Handler of `ldmatrix`: one, two or four 8 x 8 matrices of 16-bit elements out of shared memory.

The shapes and element types that came with later architectures, and `stmatrix`, are not supported.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.machine.ldmatrix import EDGE, MatrixLoad
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.layout import SHARED_BASE
from coding_framework.cuda.executors.emulator.program.matrix_registers import registers_of

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_SPACES = ("shared", "shared:cta")


def load_matrices(e: Emitter) -> None:
    """`ldmatrix.sync.aligned.m8n8.x4{.trans}{.shared}.b16 {r, r, r, r}, [p]`."""
    ins = e.instruction
    head, tail = ins.parts[:4], ins.parts[5:-1]
    transposed, space = "trans" in tail, tuple(part for part in tail if part != "trans")
    known = head == ("ldmatrix", "sync", "aligned", "m8n8") and ins.parts[-1] == "b16"
    if not known or len(space) > 1 or any(part not in _SPACES for part in space) or e.guard is not None:
        raise e.unsupported("form")
    num_matrices = _COUNTS[ins.parts[4]]
    destinations, source = ins.operands
    items = registers_of(e, destinations, num_matrices)
    access = Access("shared", "i32", 4, ins.line, ins.text, num_lanes=EDGE * num_matrices)
    form = e.context.bind(MatrixLoad(access, num_matrices, transposed))
    address = e.address(source)
    if not space:
        address = f"({address} - {e.context.constant(SHARED_BASE, 'i64')})"
    values = e.assign(f"{form}.load(m.shared_space, L, {address})")
    for position, destination in enumerate(items):
        e.write(destination, f"{values}[{position}]", "i32")
