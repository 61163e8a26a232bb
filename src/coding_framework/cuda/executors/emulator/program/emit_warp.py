"""Handlers of instructions in which lanes of a warp or a block take part together."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.ptx import Vector
from coding_framework.cuda.executors.emulator.ptx.model import Operand


def members_text(e: Emitter) -> str:
    """The member mask of a warp-wide instruction; those on matrices have none and mean everybody."""
    if e.instruction.name in ("mma", "wmma", "ldmatrix"):
        return "ALL_LANES"
    return e.read_dtype(e.instruction.operands[-1], "u32")


def _pair(operand: Operand) -> tuple[Operand | None, Operand | None]:
    if isinstance(operand, Vector):
        return operand.items[0], operand.items[1]
    return operand, None


def shuffle(e: Emitter) -> None:
    ins = e.instruction
    mode = next((p for p in ins.parts if p in ("up", "down", "bfly", "idx")), None)
    if mode is None or "sync" not in ins.parts:
        raise e.unsupported("form")
    value, predicate = _pair(ins.operands[0])
    a, b, c = (e.read_dtype(o, "i32") for o in ins.operands[1:4])
    pair = e.assign(f"m.warp.shuffle(L, '{mode}', {a}, {b}, {c}, {members_text(e)})")
    e.write(value, f"{pair}[0]", "i32")
    if predicate is not None:
        e.write(predicate, f"{pair}[1]", "bool")


def vote(e: Emitter) -> None:
    ins = e.instruction
    mode = ins.parts[2] if ins.parts[1] == "sync" else ins.parts[1]
    members = members_text(e) if "sync" in ins.parts else "ALL_LANES"
    text = f"m.warp.vote(L, '{mode}', {e.read(ins.operands[1], 'pred')}, {members})"
    e.write(ins.operands[0], text, "u32" if mode == "ballot" else "bool")


def match(e: Emitter) -> None:
    ins = e.instruction
    kind = ins.parts[-1]
    value, predicate = _pair(ins.operands[0])
    a = e.read_dtype(ins.operands[1], f"i{kind[1:]}")
    pair = e.assign(f"m.warp.match(L, '{ins.parts[1]}', {a}, {members_text(e)})")
    e.write(value, f"{pair}[0]", "u32")
    if predicate is not None:
        e.write(predicate, f"{pair}[1]", "bool")


def reduce(e: Emitter) -> None:
    ins = e.instruction
    kind, operation = ins.parts[-1], ins.parts[2]
    if kind == "f32":
        raise e.unsupported("type")
    a = e.read(ins.operands[1], kind)
    text = f"m.warp.reduce(L, '{operation}', {a}, {members_text(e)})"
    e.write(ins.operands[0], text, ACCESS[kind])


def active_mask(e: Emitter) -> None:
    e.write(e.instruction.operands[0], "m.warp.active_mask(L)", "u32")


def nothing(e: Emitter) -> None:
    """Fences, hints and sleeps have no effect on lanes that run in step."""


def trap(e: Emitter) -> None:
    e.run(f"m.trap(L, {e.instruction.line!r}, 'the kernel executed a trap', {e.guard or 'None'})")


def barrier_arguments(e: Emitter) -> str:
    """What the scheduler needs to know of a barrier: name, count, kind and predicate."""
    ins = e.instruction
    if e.guard is not None:
        raise e.unsupported("predicated barrier")
    operands = list(ins.operands)
    reduction = "None"
    if "red" in ins.parts:
        operation = next(p for p in ins.parts if p in ("popc", "and", "or"))
        operands.pop(0)
        reduction = f"('{operation}', {e.read(operands.pop(), 'pred')})"
    number = e.read_dtype(operands[0], "i32") if operands else e.context.constant(0, "i32")
    count = e.read_dtype(operands[1], "i32") if len(operands) > 1 else "None"
    return f"({number}, {count}, {'arrive' in ins.parts}, {reduction})"
