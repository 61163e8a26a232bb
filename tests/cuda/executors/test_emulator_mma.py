"""`mma.sync` on the emulator: fragments laid out by hand as PTX states them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run, run_ok

from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.executors.base import FaultKind

RANDOM = np.random.default_rng(8)
NAMES = {"float16": "f16", "bfloat16": "bf16"}


def source(depth: int, factor: str, total: str = "f32", lanes: str = "") -> str:
    """d = a * b + c for row-major a (16 x depth), column-major b (depth x 8), row-major c and d (16 x 8)."""
    kind = NAMES[factor]
    opcode = f"mma.sync.aligned.m16n8k{depth}.row.col.{total}.{kind}.{kind}.{total}"
    left = [
        "a[g * K + 2 * t]",
        "a[(g + 8) * K + 2 * t]",
        "a[g * K + 2 * t + 8]",
        "a[(g + 8) * K + 2 * t + 8]",
    ]
    right = ["b[g * K + 2 * t]", "b[g * K + 2 * t + 8]"]
    factors = ", ".join(
        f'"r"(*(const unsigned*)&{place})' for place in left[: depth // 4] + right[: depth // 8]
    )
    count = 4 if total == "f32" else 2
    names = [f"%{number}" for number in range(2 * count + depth // 4 + depth // 8)]
    first, second = count + depth // 4, count + depth // 4 + depth // 8
    groups = [names[:count], names[count:first], names[first:second], names[second:]]
    operands = ", ".join("{" + ", ".join(group) + "}" for group in groups)
    element, letter = ("float", "f") if total == "f32" else ("unsigned", "r")
    outputs = ", ".join(f'"={letter}"(z[{i}])' for i in range(count))
    added = ", ".join(f'"{letter}"(z[{i}])' for i in range(count))
    lines = (
        "{0}(c, g * 8 + 2 * t, z[0]); {0}(c, g * 8 + 2 * t + 1, z[1]);"
        "{0}(c, (g + 8) * 8 + 2 * t, z[2]); {0}(c, (g + 8) * 8 + 2 * t + 1, z[3]);"
        if total == "f32"
        else "{0}(c, g * 4 + t, z[0]); {0}(c, (g + 8) * 4 + t, z[1]);"
    )
    return f"""
#define LOAD(from, at, into) into = from[at]
#define STORE(to, at, value) to[at] = value
extern "C" __global__ void k(const unsigned short* a, const unsigned short* b, {element}* c) {{
    const int K = {depth};
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    a += threadIdx.x / 32 * 16 * K; b += threadIdx.x / 32 * 8 * K; c += threadIdx.x / 32 * 32 * {count};
    {lanes}
    {element} z[{count}];
    {lines.format("LOAD")}
    asm volatile("{opcode} {operands};" : {outputs} : {factors}, {added});
    {lines.format("STORE")}
}}"""


def drawn(factor: str, *extents: int) -> tuple[np.ndarray, np.ndarray]:
    raw = encode_elements(RANDOM.normal(size=extents), factor)
    return raw.reshape(-1).view(np.uint16), decode_elements(raw, factor)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("factor", ["float16", "bfloat16"])
def test_two_warps_multiply_and_add_in_float32(depth: int, factor: str) -> None:
    (raw_a, a), (raw_b, b) = drawn(factor, 2, 16, depth), drawn(factor, 2, 8, depth)
    c = RANDOM.normal(size=(2, 16, 8)).astype(np.float32)
    buffers = {"a": raw_a, "b": raw_b, "c": c.reshape(-1).copy()}
    out = run_ok(source(depth, factor), launch("k", 1, 64, "a", "b", "c"), buffers=buffers)
    want = (a @ b.swapaxes(1, 2) + c).astype(np.float32)
    np.testing.assert_array_equal(out["c"].reshape(want.shape), want)


def test_products_of_halves_are_not_rounded_before_they_are_added() -> None:
    """2048 * 2048 + 1.5 needs 24 bits: a product or a sum in half precision would lose the end."""
    a = np.zeros((16, 16))
    a[:, :2] = 2048.0, 1.0
    b = np.zeros((8, 16))
    b[:, :2] = 2048.0, 1.0
    buffers = {
        "a": encode_elements(a, "float16").reshape(-1).view(np.uint16),
        "b": encode_elements(b, "float16").reshape(-1).view(np.uint16),
        "c": np.full(128, 0.5, np.float32),
    }
    out = run_ok(source(16, "float16"), launch("k", 1, 32, "a", "b", "c"), buffers=buffers)
    assert set(out["c"].tolist()) == {2048.0 * 2048.0 + 1.5}


def test_a_sum_in_float16_is_rounded_once() -> None:
    (raw_a, a), (raw_b, b), (raw_c, c) = (drawn("float16", n, 16) for n in (16, 8, 8))
    buffers = {"a": raw_a, "b": raw_b, "c": raw_c.view(np.uint32).copy()}
    out = run_ok(source(16, "float16", "f16"), launch("k", 1, 32, "a", "b", "c"), buffers=buffers)
    want = (a @ b.T + c.reshape(16, 8)).astype(np.float16)
    np.testing.assert_array_equal(out["c"].view(np.float16).reshape(16, 8), want)


def test_a_warp_with_a_missing_lane_gets_no_number() -> None:
    text = source(16, "float16", lanes="if (threadIdx.x == 63) return;")
    buffers = {"a": np.zeros(512, np.uint16), "b": np.zeros(256, np.uint16), "c": np.ones(256, np.float32)}
    out = run_ok(text, launch("k", 1, 64, "a", "b", "c"), buffers=buffers)["c"]
    assert (out[:128] == 1).all()
    assert np.isnan(out[128:]).sum() == 124


def test_a_product_counts_as_one_instruction_of_a_warp() -> None:
    buffers = {"a": np.zeros(512, np.uint16), "b": np.zeros(256, np.uint16), "c": np.ones(256, np.float32)}
    outcome = run(compile_ptx(source(16, "float16")), launch("k", 1, 64, "a", "b", "c"), buffers=buffers)
    assert outcome.counters[0].by_class["tensor"] == 2


def test_other_shapes_are_unsupported_and_quoted() -> None:
    text = compile_ptx(source(16, "float16")).replace("m16n8k16", "m8n8k4")
    buffers = {"a": np.zeros(256, np.uint16), "b": np.zeros(128, np.uint16), "c": np.zeros(128, np.float32)}
    fault = run(text, launch("k", 1, 32, "a", "b", "c"), buffers=buffers).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "m8n8k4" in fault.message
