"""Which handler an instruction goes to, and which class it counts as."""

from __future__ import annotations

from collections.abc import Callable

from coding_framework.cuda.executors.emulator.program import (
    emit_atomic,
    emit_data,
    emit_float,
    emit_integer,
    emit_ldmatrix,
    emit_memory,
    emit_mma,
    emit_tensor,
    emit_warp,
)
from coding_framework.cuda.executors.emulator.program.emit_memory import space_of
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.ptx import Instruction

Handler = Callable[[Emitter], None]

_FLOATS = ("f32", "f64")
_ANY_TYPE: dict[str, Handler] = {
    "mov": emit_data.move,
    "setp": emit_data.compare,
    "set": emit_data.compare,
    "selp": emit_data.choose,
    "slct": emit_data.choose,
    "cvt": emit_data.convert,
    "cvta": emit_data.convert_address,
    "isspacep": emit_data.is_space,
    "ld": emit_memory.load,
    "ldu": emit_memory.load,
    "st": emit_memory.store,
    "atom": emit_atomic.atomic,
    "red": emit_atomic.atomic,
    "createpolicy": emit_memory.make_policy,
    "call": emit_memory.builtin_call,
    "mma": emit_mma.product,
    "wmma": emit_tensor.matrix,
    "ldmatrix": emit_ldmatrix.load_matrices,
    "shfl": emit_warp.shuffle,
    "vote": emit_warp.vote,
    "match": emit_warp.match,
    "redux": emit_warp.reduce,
    "activemask": emit_warp.active_mask,
    "trap": emit_warp.trap,
    "brkpt": emit_warp.nothing,
    "elect": emit_warp.elect,
    "membar": emit_warp.fence,
    "fence": emit_warp.fence,
    "nanosleep": emit_warp.nothing,
    "prefetch": emit_warp.nothing,
    "prefetchu": emit_warp.nothing,
    "bar": emit_warp.sync_warp,
    "discard": emit_warp.nothing,
    "applypriority": emit_warp.nothing,
    "pmevent": emit_warp.nothing,
    "griddepcontrol": emit_warp.nothing,
}
_FLOAT: dict[str, Handler] = {
    **dict.fromkeys(("add", "sub", "mul"), emit_float.binary),
    **dict.fromkeys(("fma", "mad"), emit_float.fused),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), emit_float.unary_function),
    **dict.fromkeys(("neg", "abs", "copysign", "testp"), emit_float.sign),
    **dict.fromkeys(("min", "max"), emit_float.minimum_maximum),
    "div": emit_float.divide,
}
_INTEGER: dict[str, Handler] = {
    **dict.fromkeys(("add", "sub", "addc", "subc", "and", "or", "xor"), emit_integer.binary),
    **dict.fromkeys(("not", "neg", "abs"), emit_integer.unary),
    **dict.fromkeys(("mul", "mul24"), emit_integer.multiply),
    **dict.fromkeys(("mad", "madc", "mad24"), emit_integer.multiply_add),
    **dict.fromkeys(("div", "rem"), emit_integer.divide),
    **dict.fromkeys(("shl", "shr"), emit_integer.shift),
    **dict.fromkeys(("min", "max"), emit_integer.minimum_maximum),
    **dict.fromkeys(("bfe", "bfi"), emit_integer.bit_field),
    **dict.fromkeys(("popc", "clz", "brev", "bfind"), emit_integer.bit_count),
    **dict.fromkeys(("prmt", "lop3", "shf", "sad", "dp4a", "fns"), emit_integer.three_operands),
}
_SPECIAL = frozenset({"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "div"})
_CONTROL = frozenset({"bra", "brx", "ret", "exit", "call", "trap", "brkpt", "nanosleep", "pmevent"})
_FENCES = frozenset({"membar", "fence"})
_MATRIX_ACCESSES = frozenset({("wmma", "load"), ("wmma", "store")})


def handler_of(ins: Instruction) -> Handler | None:
    """The handler of an instruction; None if there is none."""
    name = ins.name
    if name == "cp" and "async" in ins.parts:
        return emit_memory.copy_async
    if name == "bar" and "warp" not in ins.parts:
        return None
    if name in _ANY_TYPE:
        return _ANY_TYPE[name]
    if any(part in emit_float.HALF_TYPES for part in ins.parts[1:]):
        return emit_float.half
    return _FLOAT.get(name) if ins.parts[-1] in _FLOATS else _INTEGER.get(name)


def class_of(ins: Instruction) -> str:
    """The class under which `LaunchCounters.by_class` counts an instruction."""
    name, parts = ins.name, ins.parts
    if name in _CONTROL:
        return "control"
    if name in ("bar", "barrier") or name in _FENCES:
        return "barrier"
    if name in ("shfl", "vote", "match", "redux", "elect", "activemask"):
        return "shuffle"
    if name in ("atom", "red"):
        return "atomic"
    if name in ("ld", "ldu", "st", "cp", "prefetch") or parts[:2] in _MATRIX_ACCESSES:
        return _memory_class(ins)
    if name == "cvt":
        return "convert"
    if name in ("mov", "cvta", "selp", "slct", "isspacep"):
        return "move"
    if name in ("mma", "wmma", "wgmma"):
        return "tensor"
    if name == "ldmatrix":
        return "shared"
    if name in _SPECIAL and not (name == "div" and parts[-1] not in _FLOATS):
        return "special"
    if any(part in emit_float.HALF_TYPES for part in parts[1:]):
        return "fp16"
    return {"f32": "fp32", "f64": "fp64"}.get(parts[-1], "int")


def _memory_class(ins: Instruction) -> str:
    space = space_of(ins)
    return {"global": "global", "generic": "global", "shared": "shared", "local": "local"}.get(space, "move")
