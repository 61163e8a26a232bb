"""Handlers of integer and logic instructions."""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS, size_of
from coding_framework.cuda.executors.emulator.program.emitter import Emitter
from coding_framework.cuda.executors.emulator.program.registers import CARRY
from coding_framework.cuda.executors.emulator.ptx import Immediate

_INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_COMPARE = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip


def _signed_type(kind: str) -> str:
    """Wrap-around arithmetic is the same signed, and signed is the storage."""
    return "s" + kind[1:] if kind[0] == "u" else kind


def binary(e: Emitter) -> None:
    """add, sub, and, or, xor, mul.lo on integers; and, or, xor on predicates."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    if "cc" in ins.parts or ins.name in ("addc", "subc"):
        return _with_carry(e)
    destination, a, b = ins.operands
    if "sat" in ins.parts:
        wide = f"{e.read(a, kind)}.astype(i64) {_INFIX[ins.name]} {e.read(b, kind)}.astype(i64)"
        return e.write(destination, f"saturate_s32({wide})", "i32")
    if kind == "pred":
        return e.write(destination, f"{e.read(a, kind)} {_INFIX[ins.name]} {e.read(b, kind)}", "bool")
    kind = _signed_type(kind)
    return e.write(destination, f"{e.read(a, kind)} {_INFIX[ins.name]} {e.read(b, kind)}", ACCESS[kind])


def _with_carry(e: Emitter) -> None:
    ins, kind = e.instruction, "u" + e.instruction.parts[-1][1:]
    destination, a, b = ins.operands
    adds = ins.name in ("add", "addc")
    carry = e.load(e.context.registers.index(CARRY)) if ins.name in ("addc", "subc") else "FALSE"
    function = "carry_add" if adds else "borrow_subtract"
    pair = e.assign(f"{function}({e.read(a, kind)}, {e.read(b, kind)}, {carry})")
    e.write(destination, f"{pair}[0]", ACCESS[kind])
    if "cc" in ins.parts:
        e.store(e.context.registers.index(CARRY), f"{pair}[1]")


def unary(e: Emitter) -> None:
    """not, neg, abs on integers."""
    ins, kind = e.instruction, _signed_type(e.instruction.parts[-1])
    a = e.read(ins.operands[1], kind)
    text = {"not": f"~{a}", "neg": f"-{a}", "abs": f"np.abs({a})"}[ins.name]
    e.write(ins.operands[0], text, ACCESS[kind])


def product_text(e: Emitter, kind: str, form: str, a: str, b: str) -> tuple[str, str]:
    """The text and dtype of a product: lo, hi or wide; a and b in the type itself."""
    dtype, wide = ACCESS[kind], {2: 4, 4: 8}.get(size_of(ACCESS[kind]), 8) * 8
    letter = "u" if kind[0] == "u" else "i"
    if form == "wide":
        return f"(({a}).astype({letter}{wide}) * {b})", f"{letter}{wide}"
    if form == "hi" and size_of(dtype) == 8:
        return f"mul_hi_{'u64' if letter == 'u' else 's64'}({a}, {b})", dtype
    if form == "hi":
        shift = e.context.constant(size_of(dtype) * 8, f"{letter}{wide}")
        return f"((({a}).astype({letter}{wide}) * {b}) >> {shift}).astype({dtype})", dtype
    return f"({a} * {b})", dtype


def multiply(e: Emitter) -> None:
    """mul.lo, mul.hi, mul.wide, mul24."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    form = next(p for p in ins.parts if p in ("lo", "hi", "wide"))
    if ins.name == "mul24":
        return _multiply_24(e, kind, form)
    if form == "lo":
        kind = _signed_type(kind)
    a, b = e.read(ins.operands[1], kind), e.read(ins.operands[2], kind)
    text, dtype = product_text(e, kind, form, a, b)
    return e.write(ins.operands[0], text, dtype)


def _multiply_24(e: Emitter, kind: str, form: str) -> None:
    letter = "u" if kind[0] == "u" else "i"
    shift = e.context.constant(8, ACCESS[kind])
    pieces = [
        f"(({e.read(o, kind)} << {shift}) >> {shift}).astype({letter}64)" for o in e.instruction.operands[1:3]
    ]
    product = f"({pieces[0]} * {pieces[1]})"
    if form == "hi":
        product = f"({product} >> {e.context.constant(16, f'{letter}64')})"
    total = f"{product}.astype({ACCESS[kind]})"
    if e.instruction.name == "mad24":
        total = f"({total} + {e.read(e.instruction.operands[3], kind)})"
    e.write(e.instruction.operands[0], total, ACCESS[kind])


def multiply_add(e: Emitter) -> None:
    """mad.lo, mad.hi, mad.wide, with and without carry."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    if ins.name == "mad24":
        return _multiply_24(e, kind, "hi" if "hi" in ins.parts else "lo")
    form = next(p for p in ins.parts if p in ("lo", "hi", "wide"))
    carries = "cc" in ins.parts or ins.name == "madc"
    if form == "lo" and not carries:
        kind = _signed_type(kind)
    text, dtype = product_text(e, kind, form, e.read(ins.operands[1], kind), e.read(ins.operands[2], kind))
    if not carries:
        return e.write(ins.operands[0], f"{text} + {e.read_dtype(ins.operands[3], dtype)}", dtype)
    unsigned = "u" + dtype[1:]
    product = e.assign(f"{text}.view({unsigned})")
    carry = e.load(e.context.registers.index(CARRY)) if ins.name == "madc" else "FALSE"
    pair = e.assign(f"carry_add({product}, {e.read_dtype(ins.operands[3], unsigned)}, {carry})")
    e.write(ins.operands[0], f"{pair}[0]", unsigned)
    if "cc" in ins.parts:
        e.store(e.context.registers.index(CARRY), f"{pair}[1]")
    return None


def divide(e: Emitter) -> None:
    """div and rem on integers."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    function = "divide" if ins.name == "div" else "remainder"
    a, b = e.read(ins.operands[1], kind), e.read(ins.operands[2], kind)
    e.write(ins.operands[0], f"{function}({a}, {b})", ACCESS[kind])


def shift(e: Emitter) -> None:
    """shl and shr: NumPy clamps the amount as PTX does when both sides have one width."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    dtype = ACCESS[kind]
    if ins.name == "shr" and kind[0] == "b":
        dtype = "u" + dtype[1:]
    a, amount = e.read_dtype(ins.operands[1], dtype), ins.operands[2]
    if isinstance(amount, Immediate):
        by = e.context.constant(min(int(amount.value) & 0xFFFFFFFF, 64), dtype)
    else:
        by = e.read_dtype(amount, "u32")
        by = f"np.minimum({by}, u32(64)).astype({dtype})" if size_of(dtype) != 4 else f"({by}).view({dtype})"
    e.write(ins.operands[0], f"{a} {'<<' if ins.name == 'shl' else '>>'} {by}", dtype)


def minimum_maximum(e: Emitter) -> None:
    ins, kind = e.instruction, e.instruction.parts[-1]
    function = "np.minimum" if ins.name == "min" else "np.maximum"
    text = f"{function}({e.read(ins.operands[1], kind)}, {e.read(ins.operands[2], kind)})"
    if "relu" in ins.parts:
        text = f"np.maximum({text}, {e.context.constant(0, ACCESS[kind])})"
    e.write(ins.operands[0], text, ACCESS[kind])


def compare_text(e: Emitter, relation: str, kind: str, a: str, b: str) -> str:
    """A comparison of two read operands; floats know unordered relations."""
    if kind in ("f32", "f64"):
        if relation in ("num", "nan"):
            unordered = f"(np.isnan({a}) | np.isnan({b}))"
            return unordered if relation == "nan" else f"(~{unordered})"
        if relation == "ne":
            return f"(({a} < {b}) | ({a} > {b}))"
        if relation == "neu":
            return f"({a} != {b})"
        if relation.endswith("u") and relation != "neu":
            opposite = {"equ": None, "ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}[relation]
            if opposite is None:
                return f"(~(({a} < {b}) | ({a} > {b})))"
            return f"(~({a} {opposite} {b}))"
    if relation not in _COMPARE:
        raise e.unsupported("relation")
    return f"({a} {_COMPARE[relation]} {b})"


def bit_field(e: Emitter) -> None:
    """bfe and bfi."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    if ins.name == "bfe":
        a = e.read(ins.operands[1], kind)
        position, length = (e.read(o, "b32") for o in ins.operands[2:4])
        return e.write(ins.operands[0], f"extract_field({a}, {position}, {length})", ACCESS[kind])
    dtype = "u" + kind[1:]
    a, b = (e.read_dtype(o, dtype) for o in ins.operands[1:3])
    position, length = (e.read(o, "b32") for o in ins.operands[3:5])
    return e.write(ins.operands[0], f"insert_field({a}, {b}, {position}, {length})", dtype)


def bit_count(e: Emitter) -> None:
    """popc, clz, brev, bfind."""
    ins, kind = e.instruction, e.instruction.parts[-1]
    if ins.name == "bfind":
        text = f"find_leading({e.read(ins.operands[1], kind)}, {'shiftamt' in ins.parts})"
        return e.write(ins.operands[0], text, "i32")
    dtype = "u" + kind[1:]
    a = e.read_dtype(ins.operands[1], dtype)
    function = {"popc": "population_count", "clz": "count_leading_zeros", "brev": "reverse_bits"}[ins.name]
    return e.write(ins.operands[0], f"{function}({a})", dtype if ins.name == "brev" else "i32")


def three_operands(e: Emitter) -> None:
    """prmt, lop3, shf, sad, dp4a, fns."""
    ins = e.instruction
    if ins.name == "prmt":
        if len(ins.parts) > 2:
            raise e.unsupported("mode")
        a, b, c = (e.read_dtype(o, "u32") for o in ins.operands[1:4])
        e.write(ins.operands[0], f"permute_bytes({a}, {b}, {c})", "u32")
    elif ins.name == "lop3":
        a, b, c = (e.read_dtype(o, "i32") for o in ins.operands[1:4])
        table = ins.operands[4]
        if not isinstance(table, Immediate):
            raise e.unsupported("table")
        e.write(ins.operands[0], f"logic3({a}, {b}, {c}, {int(table.value)})", "i32")
    elif ins.name == "shf":
        a, b, c = (e.read_dtype(o, "u32") for o in ins.operands[1:4])
        text = f"funnel_shift({a}, {b}, {c}, {'l' in ins.parts}, {'clamp' in ins.parts})"
        e.write(ins.operands[0], text, "u32")
    elif ins.name == "sad":
        kind = ins.parts[-1]
        a, b, c = (e.read(o, kind) for o in ins.operands[1:4])
        e.write(ins.operands[0], f"{c} + (np.maximum({a}, {b}) - np.minimum({a}, {b}))", ACCESS[kind])
    elif ins.name == "dp4a":
        a, b, c = (e.read_dtype(o, "i32") for o in ins.operands[1:4])
        e.write(ins.operands[0], f"dot_bytes({a}, {b}, {c}, '{ins.parts[1]}', '{ins.parts[2]}')", "i32")
    else:
        a = e.read_dtype(ins.operands[1], "u32")
        b, c = (e.read_dtype(o, "i32") for o in ins.operands[2:4])
        e.write(ins.operands[0], f"nth_set_bit({a}, {b}, {c})", "i32")
