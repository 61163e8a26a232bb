"""Integer, bit and conversion instructions against Python's own integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emulator_support import launch, run_ok

RANDOM = np.random.default_rng(11)
EDGES = np.array([0, 1, 2, 31, 32, 33, 255, 2**31 - 1, 2**31, 2**32 - 1, 0x12345678, 0x80000001], np.uint32)
A = np.concatenate([np.repeat(EDGES, 12), RANDOM.integers(0, 2**32, 112, dtype=np.uint32)])
B = np.concatenate([np.tile(EDGES, 12), RANDOM.integers(0, 2**32, 112, dtype=np.uint32)])
C = np.concatenate(
    [RANDOM.integers(0, 40, 144, dtype=np.uint32), RANDOM.integers(0, 2**32, 112, dtype=np.uint32)]
)
M32, M64 = 2**32 - 1, 2**64 - 1


def s32(x: int) -> int:
    return x - 2**32 if x & 2**31 else x


def s64(x: int) -> int:
    return x - 2**64 if x & 2**63 else x


def _trunc_div(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _bfe(a: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    return (a >> position) & ((1 << length) - 1) if position < 64 else 0


def _bfe_signed(a: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    if length == 0:
        return 0
    sign = a >> min(position + length - 1, 31) & 1
    bits = [(a >> (position + i) & 1) if i < length and position + i < 32 else sign for i in range(32)]
    return sum(bit << i for i, bit in enumerate(bits))


def _bfi(a: int, b: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    for i in range(length):
        if position + i < 32:
            b = b & ~(1 << (position + i)) | ((a >> i & 1) << (position + i))
    return b


def _prmt(a: int, b: int, selector: int) -> int:
    data = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for i in range(4):
        nibble = selector >> (4 * i) & 15
        byte = data[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        out |= byte << (8 * i)
    return out


CASES: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("add.s32 %0, %1, %2", lambda a, b, c: a + b),
    ("sub.u32 %0, %1, %2", lambda a, b, c: a - b),
    ("add.sat.s32 %0, %1, %2", lambda a, b, c: max(-(2**31), min(2**31 - 1, s32(a) + s32(b)))),
    ("mul.lo.s32 %0, %1, %2", lambda a, b, c: a * b),
    ("mul.hi.s32 %0, %1, %2", lambda a, b, c: s32(a) * s32(b) >> 32),
    ("mul.hi.u32 %0, %1, %2", lambda a, b, c: a * b >> 32),
    ("mul24.lo.u32 %0, %1, %2", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("mad.lo.u32 %0, %1, %2, %3", lambda a, b, c: a * b + c),
    ("mad.hi.u32 %0, %1, %2, %3", lambda a, b, c: (a * b >> 32) + c),
    ("mad24.lo.u32 %0, %1, %2, %3", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    ("div.s32 %0, %1, %2", lambda a, b, c: _trunc_div(s32(a), s32(b)) if b else M32),
    ("div.u32 %0, %1, %2", lambda a, b, c: a // b if b else M32),
    ("rem.s32 %0, %1, %2", lambda a, b, c: s32(a) - _trunc_div(s32(a), s32(b)) * s32(b) if b else a),
    ("rem.u32 %0, %1, %2", lambda a, b, c: a % b if b else a),
    ("shl.b32 %0, %1, %3", lambda a, b, c: a << min(c, 32)),
    ("shr.u32 %0, %1, %3", lambda a, b, c: a >> min(c, 32)),
    ("shr.s32 %0, %1, %3", lambda a, b, c: s32(a) >> min(c, 32)),
    ("shl.b32 %0, %1, 5", lambda a, b, c: a << 5),
    ("not.b32 %0, %1", lambda a, b, c: ~a),
    ("neg.s32 %0, %1", lambda a, b, c: -a),
    ("abs.s32 %0, %1", lambda a, b, c: abs(s32(a))),
    ("min.s32 %0, %1, %2", lambda a, b, c: min(s32(a), s32(b))),
    ("max.u32 %0, %1, %2", lambda a, b, c: max(a, b)),
    ("bfe.u32 %0, %1, %2, %3", lambda a, b, c: _bfe(a, b, c)),
    ("bfe.s32 %0, %1, %2, %3", lambda a, b, c: _bfe_signed(a, b, c)),
    ("bfi.b32 %0, %1, %2, %3, 7", lambda a, b, c: _bfi(a, b, c, 7)),
    ("brev.b32 %0, %1", lambda a, b, c: int(f"{a:032b}"[::-1], 2)),
    ("popc.b32 %0, %1", lambda a, b, c: a.bit_count()),
    ("clz.b32 %0, %1", lambda a, b, c: 32 - a.bit_length()),
    ("bfind.u32 %0, %1", lambda a, b, c: a.bit_length() - 1),
    ("bfind.shiftamt.u32 %0, %1", lambda a, b, c: 32 - a.bit_length() if a else M32),
    ("bfind.s32 %0, %1", lambda a, b, c: (a if s32(a) >= 0 else ~a & M32).bit_length() - 1),
    ("prmt.b32 %0, %1, %2, %3", lambda a, b, c: _prmt(a, b, c)),
    ("lop3.b32 %0, %1, %2, %3, 0xE8", lambda a, b, c: (a & b) | (a & c) | (b & c)),
    ("lop3.b32 %0, %1, %2, %3, 0x96", lambda a, b, c: a ^ b ^ c),
    ("shf.l.wrap.b32 %0, %1, %2, %3", lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
    ("shf.r.clamp.b32 %0, %1, %2, %3", lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ("sad.s32 %0, %1, %2, %3", lambda a, b, c: abs(s32(a) - s32(b)) + c),
    ("sad.u32 %0, %1, %2, %3", lambda a, b, c: abs(a - b) + c),
    ("slct.u32.s32 %0, %1, %2, %3", lambda a, b, c: a if s32(c) >= 0 else b),
    ("set.lt.u32.s32 %0, %1, %2", lambda a, b, c: M32 if s32(a) < s32(b) else 0),
    ("{.reg .pred p; setp.ge.and.u32 p, %1, %2, 1; selp.b32 %0, %3, 7, p;}", None),
    ("{.reg .pred p, q; setp.lo.u32 p|q, %1, %2; selp.b32 %0, 1, 0, q;}", lambda a, b, c: int(a >= b)),
    (
        "{.reg .pred p, q; setp.hi.u32 p, %1, %2; setp.ls.or.u32 q, %3, 9, p; selp.b32 %0, 1, 0, q;}",
        lambda a, b, c: int(c <= 9 or a > b),
    ),
    ("{.reg .pred p; setp.hs.u32 p, %1, %2; @p mov.u32 %0, 5; @!p mov.u32 %0, 6;}", lambda a, b, c: 5 if a >= b else 6),  # noqa: E501
    (
        "{.reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0;}",
        lambda a, b, c: c + (a + b >> 32),
    ),
    (
        "{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0;}",
        lambda a, b, c: c - (1 if a < b else 0),
    ),
    (
        "{.reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, 0;}",
        lambda a, b, c: (a * b + c) >> 32,
    ),
    ("dp4a.u32.u32 %0, %1, %2, %3", lambda a, b, c: c + sum((a >> s & 255) * (b >> s & 255) for s in (0, 8, 16, 24))),  # noqa: E501
    ("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l};}", lambda a, b, c: (a >> 16 | a << 16)),
    ("cvt.u32.u8 %0, %1", lambda a, b, c: a & 255),
    ("cvt.s32.s8 %0, %1", lambda a, b, c: (a & 255) - 256 if a & 128 else a & 255),
    ("cvt.sat.u8.s32 %0, %1", lambda a, b, c: max(0, min(255, s32(a)))),
    ("{.reg .u16 t; cvt.u16.u32 t, %1; mul.wide.u16 %0, t, t;}", lambda a, b, c: (a & 65535) ** 2),
    ("{.reg .u16 t; cvt.u16.u32 t, %1; shr.u16 t, t, 3; cvt.u32.u16 %0, t;}", lambda a, b, c: (a & 65535) >> 3),  # noqa: E501
    ("{.reg .pred p, q; setp.ne.s32 p, %1, 0; not.pred q, p; xor.pred p, p, q; selp.u32 %0, 1, 0, p;}", lambda a, b, c: 1),  # noqa: E501
    ("fns.b32 %0, %1, 0, 2", lambda a, b, c: ([i for i in range(32) if a >> i & 1] + [M32] * 2)[1]),
]  # fmt: skip
CASES = [
    (text, (lambda a, b, c: c if a >= b else 7) if function is None else function) for text, function in CASES
]


@pytest.mark.parametrize(("text", "reference"), CASES, ids=[text[:40] for text, _ in CASES])
def test_a_32_bit_instruction(text: str, reference: Callable[[int, int, int], int]) -> None:
    source = f"""
extern "C" __global__ void k(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* o) {{
  int i = threadIdx.x;
  unsigned d = 0;
  asm volatile("{text.replace("%p", "%%p")};" : "+r"(d) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
  o[i] = d;
}}"""
    out = run_ok(
        source,
        launch("k", 1, 256, "a", "b", "c", "o"),
        buffers={"a": A, "b": B, "c": C, "o": np.zeros(256, np.uint32)},
    )
    expected = [reference(int(a), int(b), int(c)) & M32 for a, b, c in zip(A, B, C, strict=True)]
    np.testing.assert_array_equal(out["o"], np.array(expected, dtype=np.uint32))


WIDE: list[tuple[str, Callable[[int, int], int]]] = [
    ("add.s64 %0, %1, %2", lambda a, b: a + b),
    ("mul.lo.u64 %0, %1, %2", lambda a, b: a * b),
    ("mul.hi.u64 %0, %1, %2", lambda a, b: a * b >> 64),
    ("mul.hi.s64 %0, %1, %2", lambda a, b: s64(a) * s64(b) >> 64),
    ("div.s64 %0, %1, %2", lambda a, b: _trunc_div(s64(a), s64(b)) if b else M64),
    ("rem.u64 %0, %1, %2", lambda a, b: a % b if b else a),
    ("brev.b64 %0, %1", lambda a, b: int(f"{a:064b}"[::-1], 2)),
    ("{.reg .u32 t; clz.b64 t, %1; cvt.u64.u32 %0, t;}", lambda a, b: 64 - a.bit_length()),
    ("{.reg .u32 t; popc.b64 t, %1; cvt.u64.u32 %0, t;}", lambda a, b: a.bit_count()),
    ("{.reg .u32 t; cvt.u32.u64 t, %2; shl.b64 %0, %1, t;}", lambda a, b: a << min(b & M32, 64)),
    ("{.reg .u32 t; cvt.u32.u64 t, %2; shr.s64 %0, %1, t;}", lambda a, b: s64(a) >> min(b & M32, 64)),
    ("min.s64 %0, %1, %2", lambda a, b: min(s64(a), s64(b))),
    ("bfe.u64 %0, %1, 5, 40", lambda a, b: a >> 5 & (1 << 40) - 1),
    ("bfi.b64 %0, %1, %2, 8, 40", lambda a, b: b & ~(((1 << 40) - 1) << 8) | (a & (1 << 40) - 1) << 8),
    ("{.reg .b32 l, h; mov.b64 {l, h}, %1; mov.b64 %0, {h, l};}", lambda a, b: a >> 32 | a << 32),
    ("{.reg .s32 t; cvt.u32.u64 t, %1; mul.wide.s32 %0, t, -7;}", lambda a, b: s32(a & M32) * -7),
]


@pytest.mark.parametrize(("text", "reference"), WIDE, ids=[text[:40] for text, _ in WIDE])
def test_a_64_bit_instruction(text: str, reference: Callable[[int, int], int]) -> None:
    a = np.concatenate(
        [RANDOM.integers(0, 2**64, 50, dtype=np.uint64), np.array([0, 1, 2**63, M64, 2**32, 77], np.uint64)]
    )
    b = np.concatenate(
        [RANDOM.integers(0, 2**20, 28, dtype=np.uint64), RANDOM.integers(0, 2**64, 28, dtype=np.uint64)]
    )
    source = f"""
extern "C" __global__ void k(const unsigned long long* a, const unsigned long long* b,
                             unsigned long long* o) {{
  int i = threadIdx.x;
  unsigned long long d = 0;
  asm volatile("{text}; " : "+l"(d) : "l"(a[i]), "l"(b[i]));
  o[i] = d;
}}"""
    out = run_ok(
        source, launch("k", 1, 56, "a", "b", "o"), buffers={"a": a, "b": b, "o": np.zeros(56, np.uint64)}
    )
    expected = [reference(int(x), int(y)) & M64 for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(out["o"], np.array(expected, dtype=np.uint64))


@pytest.mark.parametrize(
    ("conversion", "reference"),
    [
        ("__float2int_rn", lambda x: np.rint(x)),
        ("__float2int_rz", lambda x: np.trunc(x)),
        ("__float2int_rd", lambda x: np.floor(x)),
        ("__float2int_ru", lambda x: np.ceil(x)),
    ],
)
def test_float_to_integer_rounds_and_saturates(
    conversion: str, reference: Callable[[np.ndarray], np.ndarray]
) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, np.inf, np.nan, 1e-9], np.float32)
    source = f'extern "C" __global__ void k(const float* a, int* o) {{ o[threadIdx.x] = {conversion}(a[threadIdx.x]); }}'  # noqa: E501
    out = run_ok(source, launch("k", 1, 10, "a", "o"), buffers={"a": x, "o": np.zeros(10, np.int32)})
    expected = np.clip(np.nan_to_num(reference(x.astype(float)), nan=0.0, posinf=3e9), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(out["o"], expected.astype(np.int32))


def test_integers_to_floats_in_every_rounding() -> None:
    x = np.array([2**24 + 1, -(2**24) - 1, 2**31 - 1, 3, -7, 2**30 + 65], np.int32)
    source = """extern "C" __global__ void k(const int* a, float* o, unsigned long long* q) {
  int i = threadIdx.x;
  o[4 * i] = __int2float_rn(a[i]); o[4 * i + 1] = __int2float_rz(a[i]);
  o[4 * i + 2] = __int2float_rd(a[i]); o[4 * i + 3] = __int2float_ru(a[i]);
  q[i] = __float2ull_rz(1e30f) + __double2ull_rn((double)a[i]) * 0;
}"""
    buffers = {"a": x, "o": np.zeros(24, np.float32), "q": np.zeros(6, np.uint64)}
    out = run_ok(source, launch("k", 1, 6, "a", "o", "q"), buffers=buffers)
    got = out["o"].reshape(6, 4).astype(np.float64)
    np.testing.assert_array_equal(got[:, 0], x.astype(np.float32).astype(float))
    assert (np.abs(got[:, 1]) <= np.abs(x.astype(float))).all()
    assert (got[:, 2] <= x).all()
    assert (got[:, 3] >= x).all()
    assert (np.abs(got - x[:, None]) < 256).all()
    assert (out["q"] == np.uint64(M64)).all()
