"""What can be known about a kernel before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.cuda.executors.emulator.program.code import Block, FlatInstruction, Name
from coding_framework.cuda.executors.emulator.program.emit_memory import STRONG, space_of
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.flatten import Flattener
from coding_framework.cuda.executors.emulator.ptx import Address, Register, Symbol, Variable, Vector
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES, Operand

_MEMORY = ("ld", "st", "atom", "red", "ldu", "cp", "wmma")


def find_liveness(blocks: Sequence[Block], emitters: Sequence[Emitter]) -> None:
    """Which registers are read later, at the start and the end of every block."""
    uses = [_bits(e.used) for e in emitters]
    defines = [_bits(e.defined) for e in emitters]
    live_in = list(uses)
    live_out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            i = block.index
            out = 0
            for target in block.targets:
                out |= live_in[target]
            own = 0 if block.barrier_result is None else 1 << block.barrier_result
            new = uses[i] | (out & ~defines[i] & ~own)
            if out != live_out[i] or new != live_in[i]:
                live_out[i], live_in[i], changed = out, new, True
    for block in blocks:
        block.live_in, block.live_out = _members(live_in[block.index]), _members(live_out[block.index])


def _bits(indices: set[int]) -> int:
    total = 0
    for index in indices:
        total |= 1 << index
    return total


def _members(bits: int) -> frozenset[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return frozenset(found)


def read_names(blocks: Sequence[Block]) -> frozenset[Name]:
    """Every register that appears as a source, an address or a guard."""
    found: set[Name] = set()
    for block in blocks:
        for flat in (*block.instructions, *([block.last] if block.last else [])):
            ins = flat.instruction
            sources = (
                ins.operands
                if ins.name in ("st", "red", "cp", "bra", "brx", "bar", "barrier", "wmma")
                else ins.operands[1:]
            )
            guard = () if ins.guard is None else (ins.guard,)
            for operand in (*sources, *guard):
                found.update(_registers(flat.instance, operand))
    return frozenset(found)


def _registers(instance: int, operand: Operand) -> list[Name]:
    if isinstance(operand, Address):
        return [] if operand.base is None else _registers(instance, operand.base)
    if isinstance(operand, Vector):
        return [name for item in operand.items if item is not None for name in _registers(instance, item)]
    return [(instance, operand.name)] if isinstance(operand, Register) else []


def smallest_access(instructions: Sequence[FlatInstruction], space: str) -> int:
    """Bytes of the smallest access that may touch a space, four at the most."""
    smallest = 4
    for flat in instructions:
        ins = flat.instruction
        if ins.name in _MEMORY and space_of(ins) in (space, "generic"):
            smallest = min(smallest, _element_bytes(ins.parts))
    return smallest


def accesses_device_memory(instructions: Sequence[FlatInstruction]) -> bool:
    """Whether any of them may read or write device memory."""
    return any(
        flat.instruction.name in _MEMORY and space_of(flat.instruction) in ("global", "generic")
        for flat in instructions
    )


def _element_bytes(parts: tuple[str, ...]) -> int:
    """Bytes of the type, which stands last but in atomics that name it before their operation."""
    return next((TYPE_BYTES[part] for part in reversed(parts) if part in TYPE_BYTES), 4)


def uses_fences(instructions: Sequence[FlatInstruction]) -> bool:
    """Whether blocks may hand data to each other through memory, ordered by a fence."""
    for flat in instructions:
        parts = flat.instruction.parts
        if parts[0] in ("membar", "fence") and any(p in parts for p in ("gl", "sys", "gpu", "acq_rel", "sc")):
            return True
        if parts[0] in ("ld", "atom", "red") and any(p in parts for p in ("acquire", "release", "acq_rel")):
            return True
    return False


def may_hand_over(instructions: Sequence[FlatInstruction]) -> bool:
    """Whether a block could read what another wrote by accesses that are not both plain."""
    return any(uses_fences([flat]) for flat in instructions) or has_flags(instructions, "global")


def has_flags(instructions: Sequence[FlatInstruction], space: str) -> bool:
    """Whether threads could wait for each other by accesses to a space that are not plain."""
    return any(is_strong(flat) and space_of(flat.instruction) in (space, "generic") for flat in instructions)


def is_strong(flat: FlatInstruction) -> bool:
    """Whether it accesses memory in a way that is not plain."""
    ins = flat.instruction
    if ins.name not in _MEMORY:
        return False
    return ins.name in ("atom", "red") or any(part in STRONG for part in ins.parts[1:])


def orders_by_flags(instructions: Sequence[FlatInstruction]) -> bool:
    """Whether warps of a block may be put in order by flags or locks in shared memory, behind fences."""
    has_fence = any(
        flat.instruction.name in ("membar", "fence") or _is_ordered(flat) for flat in instructions
    )
    return has_fence and has_flags(instructions, "shared")


def _is_ordered(flat: FlatInstruction) -> bool:
    return any(part in ("acquire", "release", "acq_rel") for part in flat.instruction.parts[1:])


def counts_barriers(instructions: Sequence[FlatInstruction]) -> bool:
    """Whether a barrier says how many threads it is for: `bar.sync 1, 64`, `bar.arrive 1, 64`."""
    for flat in instructions:
        ins = flat.instruction
        num_plain = 3 if "red" in ins.parts else 1
        if ins.name in ("bar", "barrier") and "warp" not in ins.parts and len(ins.operands) > num_plain:
            return True
    return False


def written_parameters(
    instructions: Sequence[FlatInstruction], parameters: tuple[Variable, ...], code: Flattener
) -> frozenset[int]:
    """Kernel parameters that may flow into the address of a store, by arithmetic of any kind.

    A guess: pointers that went through memory are lost sight of.
    """
    position = {(0, p.name): i for i, p in enumerate(parameters)}
    taint: dict[Name, set[int]] = {}
    changed = True
    while changed:
        changed = False
        for flat in instructions:
            sources = _taint_in(flat, taint, position, code)
            if sources:
                for target in _destinations(flat, code):
                    known = taint.setdefault(target, set())
                    if not sources <= known:
                        known |= sources
                        changed = True
    written: set[int] = set()
    for flat in instructions:
        if flat.instruction.name in ("st", "atom", "red") or flat.instruction.parts[:2] == ("wmma", "store"):
            address = flat.instruction.operands[1 if flat.instruction.name == "atom" else 0]
            for name in _names(flat, address, code):
                written |= taint.get(name, set())
    return frozenset(written)


def _taint_in(
    flat: FlatInstruction, taint: dict[Name, set[int]], position: dict[Name, int], code: Flattener
) -> set[int]:
    ins = flat.instruction
    if ins.name in _MEMORY and space_of(ins) != "param":
        return set()
    found: set[int] = set()
    for operand in ins.operands[1:]:
        for name in _names(flat, operand, code):
            if name in position:
                found.add(position[name])
            found |= taint.get(name, set())
    return found


def _destinations(flat: FlatInstruction, code: Flattener) -> list[Name]:
    return _names(flat, flat.instruction.operands[0], code) if flat.instruction.operands else []


def _names(flat: FlatInstruction, operand: Operand, code: Flattener) -> list[Name]:
    if isinstance(operand, Address):
        return [] if operand.base is None else _names(flat, operand.base, code)
    if isinstance(operand, Vector):
        return [n for item in operand.items if item is not None for n in _names(flat, item, code)]
    if isinstance(operand, Register):
        return [(flat.instance, operand.name)]
    if isinstance(operand, Symbol):
        return [code.resolve((flat.instance, operand.name))]
    return []
