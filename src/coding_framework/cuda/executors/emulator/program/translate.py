"""A PTX module into runnable kernels: the whole way from text to generated Python, cached by text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import NUMPY
from coding_framework.cuda.executors.emulator.ops import convert, floating, half, integer, tf32
from coding_framework.cuda.executors.emulator.program.analysis import (
    accesses_device_memory,
    counts_barriers,
    find_liveness,
    has_flags,
    is_strong,
    may_hand_over,
    orders_by_flags,
    read_names,
    smallest_access,
    uses_fences,
    written_parameters,
)
from coding_framework.cuda.executors.emulator.program.blocks import BlockBuilder, is_warp_sync
from coding_framework.cuda.executors.emulator.program.code import (
    Block,
    Ending,
    FlatInstruction,
    Kernel,
    UnsupportedPtx,
)
from coding_framework.cuda.executors.emulator.program.emit_warp import barrier_arguments, members_text
from coding_framework.cuda.executors.emulator.program.emitter import Context, Emitter
from coding_framework.cuda.executors.emulator.program.flatten import Flattener
from coding_framework.cuda.executors.emulator.program.handlers import class_of, handler_of
from coding_framework.cuda.executors.emulator.program.layout import Layout, parameter_offsets
from coding_framework.cuda.executors.emulator.program.registers import RegisterTable
from coding_framework.cuda.executors.emulator.ptx import Function, Module, parse_module


def _namespace() -> dict[str, Any]:
    names: dict[str, Any] = {"np": np, "FALSE": np.bool_(False), "ALL_LANES": np.uint32(0xFFFFFFFF)}
    names.update({name: dtype.type for name, dtype in NUMPY.items()})
    for module in (integer, floating, convert):
        names.update({n: f for n, f in vars(module).items() if callable(f) and not n.startswith("_")})
    names["float_minimum"], names["float_maximum"] = floating.minimum, floating.maximum
    names["half_decode"], names["half_encode"] = half.decode, half.encode
    names["half_pack"], names["half_unpack"], names["on_pairs"] = half.pack, half.unpack, half.on_pairs
    names["tf32_encode"] = tf32.encode
    return names


@lru_cache(maxsize=128)
def load_module(ptx: str) -> Program:
    """Parse a PTX text once; its kernels are translated when first asked for."""
    return Program(parse_module(ptx))


class Program:
    """A parsed module and the kernels translated so far."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._kernels: dict[str, Kernel] = {}

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return tuple(name for name, f in self.module.functions.items() if f.is_entry)

    def kernel(self, name: str) -> Kernel:
        """The runnable kernel; raises `UnsupportedPtx` for what cannot be run."""
        if name not in self._kernels:
            self._kernels[name] = _translate(self.module, self.module.functions[name])
        return self._kernels[name]


def _translate(module: Module, function: Function) -> Kernel:
    code = Flattener(module)
    code.flatten(function)
    blocks = BlockBuilder(code.items, code.tables).build()
    offsets, num_bytes = parameter_offsets(function.parameters)
    context = Context(
        code=code,
        layout=Layout(module, code),
        registers=RegisterTable(code.instances),
        parameter_offsets={(0, p.name): o for p, o in zip(function.parameters, offsets, strict=True)},
        namespace=_namespace(),
        read_names=read_names(blocks),
    )
    _generate(blocks, context)
    instructions = [f for b in blocks for f in _all_instructions(b)]
    classes = tuple(sorted({kind for block in blocks for kind in block.classes}))
    return Kernel(
        name=function.name,
        parameters=function.parameters,
        parameter_offsets=offsets,
        parameter_bytes=num_bytes,
        blocks=tuple(blocks),
        register_types=tuple(context.registers.types),
        static_shared_bytes=context.layout.static_shared_bytes,
        dynamic_shared_offset=context.layout.dynamic_shared_offset,
        local_bytes=context.layout.local_bytes,
        shared_granule=smallest_access(instructions, "shared"),
        global_granule=smallest_access(instructions, "global"),
        uses_fences=uses_fences(instructions),
        may_hand_over=may_hand_over(instructions),
        may_wait=may_hand_over(instructions) or has_flags(instructions, "shared"),
        orders_warps=counts_barriers(instructions) or orders_by_flags(instructions),
        written_parameters=written_parameters(instructions, function.parameters, code),
        classes=classes,
        issued=np.array([[block.classes.get(kind, 0) for kind in classes] for block in blocks], np.int64),
        demands=function.demands,
    )


def _all_instructions(block: Block) -> Iterable[FlatInstruction]:
    yield from block.instructions
    if block.last is not None:
        yield block.last


def _generate(blocks: list[Block], context: Context) -> None:
    emitters, source = [], []
    for block in blocks:
        emitter = Emitter(context)
        _emit_block(emitter, block)
        emitters.append(emitter)
        if block.is_warp_sync:
            masks = _members_emitter(context, block)
            emitter.used |= masks.used
            source.append(masks.function(f"members_{block.index}", frozenset()))
    find_liveness(blocks, emitters)
    for block, emitter in zip(blocks, emitters, strict=True):
        source.append(emitter.function(f"block_{block.index}", block.live_out))
    exec(compile("\n".join(source), "<generated from PTX>", "exec"), context.namespace)
    for block in blocks:
        block.run = context.namespace[f"block_{block.index}"]
        block.members = context.namespace.get(f"members_{block.index}")


def _emit_block(e: Emitter, block: Block) -> None:
    for flat in block.instructions:
        _emit_instruction(e, flat)
        kind = class_of(flat.instruction)
        block.classes[kind] = block.classes.get(kind, 0) + 1
    block.num_issued = len(block.instructions) + (block.last is not None)
    first = block.instructions[0] if block.instructions else block.last
    block.line = first.instruction.line if first else None
    block.is_warp_sync = bool(block.instructions) and is_warp_sync(block.instructions[0].instruction.parts)
    block.accesses_memory = accesses_device_memory(block.instructions)
    block.polls = any(is_strong(flat) for flat in block.instructions)
    block.quick_exit = block.ending is Ending.EXIT and not block.instructions
    _emit_ending(e, block)


def _emit_ending(e: Emitter, block: Block) -> None:
    if block.last is not None:
        kind = "barrier" if block.ending is Ending.BARRIER else "control"
        block.classes[kind] = block.classes.get(kind, 0) + 1
    if block.last is None:
        return
    e.flat, e.guard = block.last, None
    if block.ending is Ending.BRANCH:
        e.result = e.read(block.last.instruction.guard, "pred")
    elif block.ending is Ending.SWITCH:
        e.result = e.read_dtype(block.last.instruction.operands[0], "i32")
    elif block.ending is Ending.BARRIER:
        if block.last.instruction.guard is not None:
            raise e.unsupported("predicated barrier")
        e.result = barrier_arguments(e)
        if "red" in block.last.instruction.parts:
            block.barrier_result = e.register(block.last.instruction.operands[0].name)  # type: ignore[union-attr]


def _emit_instruction(e: Emitter, flat: FlatInstruction) -> None:
    e.flat, e.guard = flat, None
    ins = flat.instruction
    handler = handler_of(ins)
    if handler is None:
        raise e.unsupported()
    if ins.guard is not None:
        e.guard = e.assign(e.read(ins.guard, "pred"))
    try:
        handler(e)
    except (KeyError, IndexError, StopIteration, ValueError, AttributeError) as error:
        raise UnsupportedPtx(f"instruction `{ins.text}`", ins.line) from error
    e.guard = None


def _members_emitter(context: Context, block: Block) -> Emitter:
    """Reads the mask that the scheduler goes by, whatever the instruction itself makes of it."""
    e = Emitter(context)
    e.flat = block.instructions[0]
    e.result = members_text(e)
    return e
