"""Handlers that move, compare, choose and convert."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS, STORAGE, size_of
from coding_framework.cuda.executors.emulator.program.emit_float import HALF_TYPES
from coding_framework.cuda.executors.emulator.program.emit_integer import compare_text
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.layout import LOCAL_BASE, PARAMETER_BASE, SHARED_BASE
from coding_framework.cuda.executors.emulator.ptx import Symbol, Vector
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES, Operand

_BASES = {"shared": SHARED_BASE, "local": LOCAL_BASE, "param": PARAMETER_BASE}
_ROUNDINGS = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")


def move(e: Emitter) -> None:
    """mov, with packing and unpacking."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    destination, source = ins.operands
    if isinstance(destination, Vector) and destination.items != (None,):
        return _unpack(e, destination, source, kind)
    if isinstance(source, Vector):
        return _pack(e, destination, source, kind)
    if isinstance(source, Symbol) and (key := (e.instance, source.name)) in e.context.parameter_offsets:
        offset = e.context.parameter_offsets[key] + source.offset
        return e.write(destination, e.context.constant(offset, "i64"), "i64")
    return e.write(destination, e.read(source, kind), ACCESS[kind])


def _unpack(e: Emitter, destination: Vector, source: Operand, kind: str) -> None:
    width = 8 * TYPE_BYTES[kind] // len(destination.items)
    whole = e.read_dtype(source, f"u{8 * TYPE_BYTES[kind]}")
    for position, item in enumerate(destination.items):
        if item is not None:
            shift = e.context.constant(width * position, f"u{8 * TYPE_BYTES[kind]}")
            piece = f"({whole} >> {shift})" if position else whole
            e.write(item, f"{piece}.astype(u{width})", f"u{width}")


def _pack(e: Emitter, destination: Operand, source: Vector, kind: str) -> None:
    total = f"u{8 * TYPE_BYTES[kind]}"
    width = 8 * TYPE_BYTES[kind] // len(source.items)
    pieces = []
    for position, item in enumerate(source.items):
        piece = f"{e.read_dtype(item, f'u{width}')}.astype({total})"
        pieces.append(f"({piece} << {e.context.constant(width * position, total)})" if position else piece)
    e.write(destination, "(" + " | ".join(pieces) + ")", total)


def compare(e: Emitter) -> None:
    """setp and set."""
    ins = e.instruction
    kind = ins.parts[-1]
    relation = ins.parts[1]
    a, b = _comparable(e, ins.operands[1], kind), _comparable(e, ins.operands[2], kind)
    if kind in HALF_TYPES and HALF_TYPES[kind][1]:
        return _compare_pairs(e, relation, HALF_TYPES[kind][0])
    wide = "f32" if kind in HALF_TYPES else kind
    if "ftz" in ins.parts and wide == "f32":
        a, b = f"flush({a})", f"flush({b})"
    result = e.assign(compare_text(e, relation, wide, a, b))
    operator = next((p for p in ins.parts[2:4] if p in ("and", "or", "xor")), None)
    other = e.read(ins.operands[3], "pred") if operator else ""
    symbol = {"and": "&", "or": "|", "xor": "^"}.get(operator or "", "")
    if ins.name == "set":
        return _set_result(e, f"({result} {symbol} {other})" if operator else result)
    destinations = ins.operands[0].items if isinstance(ins.operands[0], Vector) else (ins.operands[0],)
    texts = [result, f"~{result}"]
    for destination, text in zip(destinations, texts, strict=False):
        e.write(destination, f"({text}) {symbol} {other}" if operator else text, "bool")
    return None


def _comparable(e: Emitter, operand: Operand, kind: str) -> str:
    if kind in HALF_TYPES and not HALF_TYPES[kind][1]:
        return f"half_decode({e.read_dtype(operand, 'i16')}, '{kind}')"
    return e.read(operand, kind)


def _compare_pairs(e: Emitter, relation: str, kind: str) -> None:
    ins = e.instruction
    a, b = (e.assign(f"half_unpack({e.read_dtype(o, 'i32')})") for o in ins.operands[1:3])
    results = []
    for half in (0, 1):
        left, right = (f"half_decode({v}[{half}], '{kind}')" for v in (a, b))
        results.append(e.assign(compare_text(e, relation, "f32", left, right)))
    if ins.name == "setp":
        if not isinstance(ins.operands[0], Vector):
            raise e.unsupported("one destination for two comparisons")
        for destination, result in zip(ins.operands[0].items, results, strict=True):
            e.write(destination, result, "bool")
        return
    one = {"f16": 0x3C00, "bf16": 0x3F80}[kind] if ins.parts[-2] in HALF_TYPES else 0xFFFF
    value = e.context.constant(one, "i16")
    halves = [f"select({r}, {value}, {e.context.constant(0, 'i16')})" for r in results]
    e.write(ins.operands[0], f"half_pack({halves[0]}, {halves[1]})", "i32")


def _set_result(e: Emitter, condition: str) -> None:
    ins, target = e.instruction, e.instruction.parts[-2]
    constant = e.context.constant
    if target in HALF_TYPES:
        one, dtype = constant({"f16": 0x3C00, "bf16": 0x3F80}[target], "i16"), "i16"
    elif target == "f32":
        one, dtype = constant(1.0, "f32"), "f32"
    else:
        one, dtype = constant(-1, "i32"), "i32"
    e.write(ins.operands[0], f"select({condition}, {one}, {constant(0, dtype)})", dtype)


def choose(e: Emitter) -> None:
    """selp and slct."""
    ins = e.instruction
    if ins.name == "selp":
        kind = ins.parts[-1]
        a, b = e.read(ins.operands[1], kind), e.read(ins.operands[2], kind)
        condition = e.read(ins.operands[3], "pred")
    else:
        kind, by = ins.parts[-2], ins.parts[-1]
        a, b = e.read(ins.operands[1], kind), e.read(ins.operands[2], kind)
        condition = f"({e.read(ins.operands[3], by)} >= {e.context.constant(0, ACCESS[by])})"
    e.write(ins.operands[0], f"select({condition}, {a}, {b})", ACCESS[kind])


def convert(e: Emitter) -> None:
    """cvt between any two types."""
    ins = e.instruction
    target, source = ins.parts[-2], ins.parts[-1]
    if target == "tf32":
        return _convert_to_tf32(e)
    if target not in STORAGE or source not in STORAGE:
        raise e.unsupported("conversion")
    mode = next((p for p in ins.parts if p in _ROUNDINGS), "")
    if target in ("f16x2", "bf16x2"):
        high, low = (e.read(o, "f32") for o in ins.operands[1:3])
        text = f"pack_halves({high}, {low}, '{HALF_TYPES[target][0]}', '{mode}', {'relu' in ins.parts})"
        return e.write(ins.operands[0], text, "i32")
    text, kind = _as_number(e, ins.operands[1], source)
    if "ftz" in ins.parts and kind == "f32":
        text = f"flush({text})"
    if kind.startswith("f"):
        text, dtype = _from_float(e, text, kind, target, source, mode)
    else:
        text, dtype = _from_integer(text, kind, target, mode, "sat" in ins.parts)
    if "relu" in ins.parts:
        raise e.unsupported("relu")
    return e.write(ins.operands[0], text, dtype)


def _convert_to_tf32(e: Emitter) -> None:
    """`cvt.rna.tf32.f32`, and the two other roundings; a tf32 lies in a register of raw bits."""
    ins = e.instruction
    mode = ins.parts[1]
    if ins.parts != ("cvt", mode, "tf32", "f32") or mode not in ("rna", "rn", "rz"):
        raise e.unsupported("conversion")
    e.write(ins.operands[0], f"tf32_encode({e.read(ins.operands[1], 'f32')}, '{mode}')", "i32")


def _as_number(e: Emitter, operand: Operand, source: str) -> tuple[str, str]:
    if source in HALF_TYPES:
        return f"half_decode({e.read_dtype(operand, 'i16')}, '{source}')", "f32"
    return e.read(operand, source), ACCESS[source]


def _from_float(e: Emitter, text: str, kind: str, target: str, source: str, mode: str) -> tuple[str, str]:
    ins = e.instruction
    if target in HALF_TYPES:
        if mode in ("rni", "rzi", "rmi", "rpi"):
            text, mode = f"float_to_float({text}, 'f32', '{mode}')", "rn"
        if "sat" in ins.parts:
            text = f"saturate({text})"
        return f"half_encode({text}, '{target}', '{mode or 'rn'}')", "i16"
    if target in ("f32", "f64"):
        text = f"float_to_float({text}, '{target}', '{mode or 'rn'}')"
        if "ftz" in ins.parts and target == "f32":
            text = f"flush({text})"
        return (f"saturate({text})" if "sat" in ins.parts else text), target
    return f"float_to_integer({text}, '{ACCESS[target]}', '{mode or 'rzi'}')", ACCESS[target]


def _from_integer(text: str, kind: str, target: str, mode: str, saturate: bool) -> tuple[str, str]:
    if target in HALF_TYPES:
        return f"half_encode({text}.astype(f64), '{target}', '{mode or 'rn'}')", "i16"
    if target in ("f32", "f64"):
        converted = f"integer_to_float({text}, '{target}', '{mode or 'rn'}')"
        return (f"saturate({converted})" if saturate else converted), target
    if not saturate:
        return f"{text}.astype({ACCESS[target]})", ACCESS[target]
    return f"integer_to_integer({text}, '{ACCESS[target]}', True)", ACCESS[target]


def convert_address(e: Emitter) -> None:
    """cvta: shared and local addresses gain or lose the base of their space."""
    ins = e.instruction
    to_space = "to" in ins.parts
    space = next(p for p in ins.parts if p in ("global", "shared", "local", "const", "param"))
    dtype = ACCESS["s" + ins.parts[-1][1:]]
    base = _BASES.get(space, 0)
    source = ins.operands[1]
    if isinstance(source, Symbol) and (key := (e.instance, source.name)) in e.context.parameter_offsets:
        value = e.context.constant(e.context.parameter_offsets[key] + source.offset, "i64")
    else:
        value = e.read_dtype(source, dtype)
    if base == 0:
        return e.write(ins.operands[0], value, dtype)
    if size_of(dtype) != 8:
        raise e.unsupported("32-bit generic address")
    constant = e.context.constant(base, "i64")
    return e.write(ins.operands[0], f"{value} {'-' if to_space else '+'} {constant}", dtype)


def is_space(e: Emitter) -> None:
    """isspacep."""
    ins = e.instruction
    address = e.read_dtype(ins.operands[1], "i64")
    base = e.context.constant(_BASES.get(ins.parts[1], 0), "i64")
    if ins.parts[1] in _BASES:
        window = e.context.constant(1 << 48, "i64")
        text = f"(({address} >= {base}) & ({address} < {base} + {window}))"
    elif ins.parts[1] == "global":
        text = f"({address} < {e.context.constant(SHARED_BASE, 'i64')})"
    else:
        text = f"({address} != {address})"
    e.write(ins.operands[0], text, "bool")
