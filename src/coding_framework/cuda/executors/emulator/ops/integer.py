"""Integer instructions. Operands come in the instruction's own type unless a docstring says else."""

from __future__ import annotations

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Value

U32, U64, I32, I64 = np.uint32, np.uint64, np.int32, np.int64


def select(condition: Value, if_true: Value, if_false: Value) -> Value:
    """`np.where` that keeps scalars scalar and arrays shared."""
    if condition.ndim == 0:
        return if_true if condition else if_false
    return np.where(condition, if_true, if_false)


def divide(a: Value, b: Value) -> Value:
    """Truncating division; by zero gives all ones, as the hardware does."""
    zero = b == 0
    safe = select(zero, np.ones_like(b), b) if np.any(zero) else b
    quotient = (a - np.fmod(a, safe)) // safe
    return select(zero, ~np.zeros_like(quotient), quotient) if np.any(zero) else quotient


def remainder(a: Value, b: Value) -> Value:
    """Remainder with the sign of the dividend; by zero gives the dividend."""
    zero = b == 0
    if not np.any(zero):
        return np.fmod(a, b)
    return select(zero, a + np.zeros_like(b), np.fmod(a, select(zero, np.ones_like(b), b)))


def mul_wide_s32(a: Value, b: Value) -> Value:
    return np.multiply(a.astype(I64), b, dtype=I64)


def mul_wide_u32(a: Value, b: Value) -> Value:
    return np.multiply(a.astype(U64), b, dtype=U64)


def mul_hi_u64(a: Value, b: Value) -> Value:
    """Upper half of a 64×64 product, by 32-bit pieces."""
    low, shift = U64(0xFFFFFFFF), U64(32)
    a_low, a_high, b_low, b_high = a & low, a >> shift, b & low, b >> shift
    middle = a_high * b_low + ((a_low * b_low) >> shift)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> shift) + (other >> shift)


def mul_hi_s64(a: Value, b: Value) -> Value:
    high = mul_hi_u64(a.view(U64), b.view(U64)).view(I64)
    zero = I64(0)
    return high - select(a < 0, b, zero + b * zero) - select(b < 0, a, zero + a * zero)


def count_leading_zeros(a: Value) -> Value:
    """Operand u32 or u64; result i32."""
    if a.dtype.itemsize == 8:
        high, low = (a >> U64(32)).astype(U32), a.astype(U32)
        return select(high != 0, count_leading_zeros(high), I32(32) + count_leading_zeros(low))
    exponent = np.frexp(a.astype(np.float64))[1]
    return (I32(32) - exponent).astype(I32)


def population_count(a: Value) -> Value:
    return np.bitwise_count(a).astype(I32)


def find_leading(a: Value, shift_amount: bool) -> Value:
    """bfind: position of the highest one (of the highest non-sign bit when signed), or -1."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    bits = select(a < 0, ~a, a).view(unsigned) if a.dtype.kind == "i" else a
    width = I32(8 * a.dtype.itemsize)
    zeros = count_leading_zeros(bits)
    return select(zeros == width, I32(-1), zeros if shift_amount else width - I32(1) - zeros)


def reverse_bits(a: Value) -> Value:
    """Operand u32 or u64."""
    kind = a.dtype.type
    for shift, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        full = kind(int.from_bytes(bytes([mask]) * a.dtype.itemsize, "little"))
        a = ((a >> kind(shift)) & full) | ((a & full) << kind(shift))
    return a.byteswap()


def extract_field(a: Value, position: Value, length: Value) -> Value:
    """bfe: `length` bits from `position`; sign-extended when the operand is signed."""
    width = 8 * a.dtype.itemsize
    unsigned = np.dtype(f"u{a.dtype.itemsize}").type
    position, length = position & I32(0xFF), length & I32(0xFF)
    mask = _low_mask(length, unsigned, width)
    field = (a >> position.astype(a.dtype)).view(unsigned) & mask
    if a.dtype.kind == "u":
        return field
    top = np.minimum(position + length - I32(1), I32(width - 1))
    sign = ((a.view(unsigned) >> top.astype(unsigned)) & unsigned(1)) != 0
    return select(sign & (length != 0), field | ~mask, field).view(a.dtype)


def insert_field(a: Value, b: Value, position: Value, length: Value) -> Value:
    """bfi: the low `length` bits of a put into b at `position`; unsigned operands."""
    kind, width = b.dtype.type, 8 * b.dtype.itemsize
    position, length = position & I32(0xFF), length & I32(0xFF)
    shift = position.astype(kind)
    mask = _low_mask(length, kind, width) << shift
    return (b & ~mask) | ((a << shift) & mask)


def _low_mask(length: Value, kind: Value, width: int) -> Value:
    full = ~kind(0)
    return select(length >= I32(width), full, (kind(1) << length.astype(kind)) - kind(1))


def permute_bytes(a: Value, b: Value, selector: Value) -> Value:
    """prmt without a mode; operands u32."""
    both = a.astype(U64) | (b.astype(U64) << U64(32))
    result = U32(0)
    for byte in range(4):
        nibble = (selector >> U32(4 * byte)) & U32(15)
        picked = ((both >> ((nibble & U32(7)).astype(U64) * U64(8))) & U64(255)).astype(U32)
        sign = select((picked & U32(128)) != 0, U32(255), U32(0))
        result = result | (select((nibble & U32(8)) != 0, sign, picked) << U32(8 * byte))
    return result


def logic3(a: Value, b: Value, c: Value, table: int) -> Value:
    """lop3: any bitwise function of three operands by its truth table."""
    result = a & a.dtype.type(0)
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b)
            result = result | (term & (c if row & 1 else ~c))
    return result


def funnel_shift(low: Value, high: Value, amount: Value, left: bool, clamp: bool) -> Value:
    """shf: shift the 64-bit pair and keep one half; u32 operands."""
    amount = np.minimum(amount, U32(32)) if clamp else amount & U32(31)
    both = (high.astype(U64) << U64(32)) | low.astype(U64)
    if left:
        return ((both << amount.astype(U64)) >> U64(32)).astype(U32)
    return (both >> amount.astype(U64)).astype(U32)


def saturate_s32(wide: Value) -> Value:
    """From i64 into the range of i32."""
    return np.clip(wide, -(2**31), 2**31 - 1).astype(I32)


def dot_bytes(a: Value, b: Value, c: Value, a_type: str, b_type: str) -> Value:
    """dp4a: four byte products added to c; i32 operands and result."""
    total = c.astype(I64)
    for byte in range(4):
        total = total + _byte(a, byte, a_type) * _byte(b, byte, b_type)
    return total.astype(I32)


def _byte(a: Value, byte: int, kind: str) -> Value:
    picked = (a.view(U32) >> U32(8 * byte)).astype(np.int8 if kind == "s32" else np.uint8)
    return picked.astype(I64)


def carry_add(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    """Unsigned a + b + carry, and the carry out."""
    partial = a + b
    total = partial + carry.astype(a.dtype)
    return total, (partial < a) | (total < partial)


def borrow_subtract(a: Value, b: Value, borrow: Value) -> tuple[Value, Value]:
    """Unsigned a - b - borrow, and the borrow out."""
    partial = a - b
    total = partial - borrow.astype(a.dtype)
    return total, (a < b) | (partial < total)


def nth_set_bit(mask: Value, base: Value, offset: Value) -> Value:
    """fns: the position of the n-th set bit from a base; u32 mask, i32 others."""
    mask, base, offset = np.broadcast_arrays(*(np.atleast_1d(v) for v in (mask, base, offset)))
    found = [
        _nth_set(int(m), int(b), int(n)) for m, b, n in zip(mask.flat, base.flat, offset.flat, strict=True)
    ]
    return np.array(found, dtype=np.int64).astype(U32).view(I32).reshape(mask.shape)


def _nth_set(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    positions = range(base, 32) if offset > 0 else range(base, -1, -1)
    hits = [position for position in positions if mask >> position & 1]
    return hits[abs(offset) - 1] if len(hits) >= abs(offset) else 0xFFFFFFFF
