"""Handlers of loads and stores; atomics have a file of their own (`emit_atomic`)."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.flatten import call_results, call_target
from coding_framework.cuda.executors.emulator.ptx import (
    Address,
    Immediate,
    Instruction,
    Register,
    Symbol,
    Vector,
)
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES, Operand

_SPACES = ("global", "shared", "local", "const", "param")
_ORDERED = ("relaxed", "acquire", "release", "acq_rel", "mmio")
"""Between warps of a block, who only says `volatile` has forgotten a barrier."""
STRONG = ("volatile", *_ORDERED)
_NO_POLICY = 0x7FF1DEAD7FE1DEAD
"""NaN as two float32 and as float64: whoever computes with a policy must not pass by luck."""


def space_of(ins: Instruction) -> str:
    """The state space of a memory instruction; `shared:cta` is shared."""
    for part in ins.parts[1:]:
        if part.split(":")[0] in _SPACES:
            return part.split(":")[0]
    return "generic"


def access_of(ins: Instruction, kind: str, operation: str = "") -> Access:
    count = next((int(p[1]) for p in ins.parts if p in ("v2", "v4", "v8")), 1)
    return Access(
        space=space_of(ins),
        dtype=ACCESS[kind],
        count=count,
        line=ins.line,
        text=ins.text,
        is_strong=any(p in STRONG for p in ins.parts[1:]),
        is_ordered=any(p in _ORDERED for p in ins.parts[1:]),
        is_release=any(p in ("release", "acq_rel") for p in ins.parts[1:]),
        read_only="nc" in ins.parts,
        operation=operation,
    )


def _kind(e: Emitter) -> str:
    kind = e.instruction.parts[-1]
    if kind not in ACCESS:
        raise e.unsupported("type")
    return kind


def elements_of(operand: Operand) -> tuple[Operand | None, ...]:
    """The parts of a vector, or the one operand."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def operands_of(e: Emitter) -> tuple[Operand, ...]:
    """Without the policy of a `.L2::cache_hint`, which changes nothing but how long lines are kept."""
    ins = e.instruction
    return ins.operands[:-1] if "L2:cache_hint" in ins.parts else ins.operands


def load(e: Emitter) -> None:
    """ld and ldu, from every space."""
    ins, kind = e.instruction, _kind(e)
    destinations, source = operands_of(e)
    if space_of(ins) == "param" and isinstance(source, Address) and isinstance(source.base, Symbol):
        return _load_parameter(e, source.base, source.offset, kind)
    access = access_of(ins, kind)
    values = e.assign(
        f"m.load_{access.space}(L, {e.address(source)}, {e.context.bind(access)}, {e.guard or 'None'})"
    )
    for position, destination in enumerate(elements_of(destinations)):
        e.write(destination, f"{values}[{position}]", access.dtype)
    return None


def store(e: Emitter) -> None:
    """st, to every space."""
    ins, kind = e.instruction, _kind(e)
    target, sources = operands_of(e)
    if space_of(ins) == "param" and isinstance(target, Address) and isinstance(target.base, Symbol):
        return _store_parameter(e, target.base, target.offset, kind)
    access = access_of(ins, kind)
    values = ", ".join(e.read(o, kind) for o in elements_of(sources))
    e.run(
        f"m.store_{access.space}(L, {e.address(target)}, ({values},), "
        f"{e.context.bind(access)}, {e.guard or 'None'})"
    )
    return None


def _load_parameter(e: Emitter, base: Symbol, offset: int, kind: str) -> None:
    """Kernel parameters are constants of the launch; a callee's are its caller's variables."""
    name = e.context.code.resolve((e.instance, base.name))
    for position, destination in enumerate(elements_of(e.instruction.operands[0])):
        at = offset + base.offset + position * TYPE_BYTES[kind]
        if name in e.context.parameter_offsets:
            at += e.context.parameter_offsets[name]
            e.write(destination, f"m.parameter({at}, '{ACCESS[kind]}')", ACCESS[kind])
        else:
            slot = e.context.registers.add((name[0], f"{name[1]}+{at}"), _slot_type(kind))
            e.write(
                destination, e.as_dtype(e.load(slot), ACCESS[_slot_type(kind)], ACCESS[kind]), ACCESS[kind]
            )


def _store_parameter(e: Emitter, base: Symbol, offset: int, kind: str) -> None:
    name = e.context.code.resolve((e.instance, base.name))
    for position, source in enumerate(elements_of(e.instruction.operands[1])):
        at = offset + base.offset + position * TYPE_BYTES[kind]
        slot = e.context.registers.add((name[0], f"{name[1]}+{at}"), _slot_type(kind))
        stored = ACCESS[_slot_type(kind)]
        if e.context.registers.types[slot] != _slot_type(kind):
            raise e.unsupported("parameter written in two sizes")
        e.store(slot, e.as_dtype(e.read(source, kind), ACCESS[kind], stored))


def _slot_type(kind: str) -> str:
    """Slots hold raw bits, so that a value may be written as one type and read as another."""
    return f"b{max(8 * TYPE_BYTES[kind], 16)}"


def make_policy(e: Emitter) -> None:
    """createpolicy: what it makes is for `.L2::cache_hint` alone, so it is no number that means anything."""
    ins = e.instruction
    if ins.parts[1] not in ("fractional", "range", "cvt") or ins.parts[-1] != "b64":
        raise e.unsupported("form")
    e.write(ins.operands[0], e.context.constant(_NO_POLICY, "i64"), "i64")


def copy_async(e: Emitter) -> None:
    """cp.async: what it copies is in shared memory after the wait that covers it."""
    ins = e.instruction
    lanes = "L" if e.guard is None else f"L.narrowed({e.guard})"
    if "bulk" in ins.parts or "mbarrier" in ins.parts:
        raise e.unsupported("form")
    if "commit_group" in ins.parts or "wait_all" in ins.parts:
        e.run(f"m.copies.commit({lanes})")
    if "wait_group" in ins.parts or "wait_all" in ins.parts:
        num_left = 0 if "wait_all" in ins.parts else _whole_number(e, *ins.operands)
        e.run(f"m.copies.wait({lanes}, {num_left})")
    elif "commit_group" not in ins.parts:
        _begin_copy(e, lanes)


def _begin_copy(e: Emitter, lanes: str) -> None:
    """`[target], [source], bytes`, then the bytes to read or a predicate to read none."""
    ins, operands = e.instruction, operands_of(e)
    if len(operands) not in (3, 4):
        raise e.unsupported("form")
    target, source, num_bytes, *extra = operands
    size = _whole_number(e, num_bytes)
    if size not in (4, 8, 16):
        raise e.unsupported("size")
    count, dtype = (size // 8, "i64") if size >= 8 else (1, "i32")
    accesses = tuple(Access(space, dtype, count, ins.line, ins.text) for space in ("global", "shared"))
    e.run(
        f"m.copies.begin({lanes}, {e.address(target)}, {e.address(source)}, "
        f"{_bytes_read(e, extra[0], size) if extra else None}, {e.context.bind(accesses)})"
    )


def _bytes_read(e: Emitter, operand: Operand, size: int) -> str:
    if isinstance(operand, Register) and e.context.registers.types[e.register(operand.name)] == "pred":
        none, every = e.context.constant(0, "i64"), e.context.constant(size, "i64")
        return f"select({e.read(operand, 'pred')}, {none}, {every})"
    return e.read(operand, "u32")


def _whole_number(e: Emitter, *operands: Operand) -> int:
    """The value of the only operand."""
    if len(operands) != 1 or not isinstance(operands[0], Immediate):
        raise e.unsupported("operand form")
    return int(operands[0].value)


def builtin_call(e: Emitter) -> None:
    """vprintf is consumed; a failed assertion is a fault."""
    ins = e.instruction
    if call_target(ins) == "vprintf":
        for name in call_results(ins):
            variable = e.context.code.resolve((e.instance, name))
            slot = e.context.registers.add((variable[0], f"{variable[1]}+0"), "b32")
            e.store(slot, e.context.constant(0, "i32"))
        return
    e.run(f"m.trap(L, {ins.line!r}, 'an assertion failed', {e.guard or 'None'})")
