"""Handlers of instructions in which lanes of a warp or a block take part together."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.ptx import Vector
from coding_framework.cuda.executors.emulator.ptx.model import Operand

_NAMES = {
    "vote": "a vote (__ballot_sync, __any_sync, __all_sync)",
    "match": "__match_*_sync",
    "redux": "__reduce_*_sync",
    "bar": "__syncwarp",
    "elect": "elect.sync",
}


def members_text(e: Emitter) -> str:
    """The member mask of a warp-wide instruction; those on matrices have none and mean everybody."""
    if e.instruction.name in ("mma", "wmma", "ldmatrix"):
        return "ALL_LANES"
    return e.read_dtype(e.instruction.operands[-1], "u32")


def checked_members(e: Emitter) -> str:
    """The same, looked at when it runs: whether it names those that take part; a literal full mask does."""
    text = members_text(e)
    if text != e.context.constant(0xFFFFFFFF, "u32"):
        what = e.context.bind((e.instruction.line, _NAMES.get(e.instruction.name, "__shfl_*_sync")))
        e.run(f"m.warp.require_named({_lanes(e)}, {text}, {what})")
    return text


def _lanes(e: Emitter) -> str:
    return "L" if e.guard is None else f"L.narrowed({e.guard})"


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
    pair = e.assign(f"m.warp.shuffle(L, '{mode}', {a}, {b}, {c}, {checked_members(e)}, {ins.line!r})")
    e.write(value, f"{pair}[0]", "i32")
    if predicate is not None:
        e.write(predicate, f"{pair}[1]", "bool")


def vote(e: Emitter) -> None:
    ins = e.instruction
    mode = ins.parts[2] if ins.parts[1] == "sync" else ins.parts[1]
    members = checked_members(e) if "sync" in ins.parts else "ALL_LANES"
    text = f"m.warp.vote(L, '{mode}', {e.read(ins.operands[1], 'pred')}, {members})"
    e.write(ins.operands[0], text, "u32" if mode == "ballot" else "bool")


def match(e: Emitter) -> None:
    ins = e.instruction
    kind = ins.parts[-1]
    value, predicate = _pair(ins.operands[0])
    a = e.read_dtype(ins.operands[1], f"i{kind[1:]}")
    pair = e.assign(f"m.warp.match(L, '{ins.parts[1]}', {a}, {checked_members(e)})")
    e.write(value, f"{pair}[0]", "u32")
    if predicate is not None:
        e.write(predicate, f"{pair}[1]", "bool")


def reduce(e: Emitter) -> None:
    ins = e.instruction
    kind, operation = ins.parts[-1], ins.parts[2]
    if kind == "f32":
        raise e.unsupported("type")
    a = e.read(ins.operands[1], kind)
    text = f"m.warp.reduce(L, '{operation}', {a}, {checked_members(e)})"
    e.write(ins.operands[0], text, ACCESS[kind])


def elect(e: Emitter) -> None:
    """elect.sync: one of the named lanes, and who it is."""
    value, predicate = _pair(e.instruction.operands[0])
    pair = e.assign(f"m.warp.elect(L, {checked_members(e)})")
    e.write(value, f"{pair}[0]", "u32")
    if predicate is not None:
        e.write(predicate, f"{pair}[1]", "bool")


def active_mask(e: Emitter) -> None:
    e.write(e.instruction.operands[0], "m.warp.active_mask(L)", "u32")


def nothing(e: Emitter) -> None:
    """Hints and sleeps change nothing."""


def fence(e: Emitter) -> None:
    """Memory is always up to date here; who looks for races wants to know."""
    e.run(f"m.fence({_lanes(e)})")


def sync_warp(e: Emitter) -> None:
    """bar.warp.sync: the scheduler has brought the named lanes together."""
    e.run(f"m.sync_lanes({_lanes(e)}, {checked_members(e)})")


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
