"""`wmma` on the emulator: loads, products and stores of 16 x 16 matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run, run_ok

from coding_framework.cuda.elements import decode_elements, encode_elements, poison
from coding_framework.cuda.executors.base import FaultKind

RANDOM = np.random.default_rng(5)
NAMES = {"float16": "half", "bfloat16": "__nv_bfloat16", "float32": "float"}
POISON = 0x7FC0DEAD
HEAD = "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda;\n"


def product(factor: str, total: str, left: str, right: str, stored: str, through_shared: bool = False) -> str:
    """c = 2 * (a * b + c), each matrix in a layout of its own, a optionally by way of shared memory."""
    stage = (
        "__shared__ T tile[16 * 24]; for (int i = threadIdx.x; i < 384; i += 32) tile[i] = a[i];\n"
        "__syncwarp(); wmma::load_matrix_sync(x, tile, 24);"
        if through_shared
        else "wmma::load_matrix_sync(x, a, 24);"
    )
    return (
        f'{HEAD}extern "C" __global__ void k(const {NAMES[factor]}* a, const {NAMES[factor]}* b,'
        f" {NAMES[total]}* c, int n) {{ typedef {NAMES[factor]} T;\n"
        f"wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::{left}_major> x;\n"
        f"wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::{right}_major> y;\n"
        f"wmma::fragment<wmma::accumulator, 16, 16, 16, {NAMES[total]}> z;\n"
        f"{stage}\nwmma::load_matrix_sync(y, b, n);\n"
        f"wmma::load_matrix_sync(z, c, 32, wmma::mem_{stored}_major);\n"
        "wmma::mma_sync(z, x, y, z);\n"
        "for (int i = 0; i < z.num_elements; ++i) z.x[i] = z.x[i] + z.x[i];\n"
        f"wmma::store_matrix_sync(c, z, 32, wmma::mem_{stored}_major); }}"
    )


def drawn(dtype: str, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Elements of 16 lines, and the numbers in the first 16 of each."""
    raw = encode_elements(RANDOM.normal(size=16 * stride), dtype)
    return raw, decode_elements(raw, dtype).reshape(16, stride)[:, :16]


def turned(matrix: np.ndarray, layout: str) -> np.ndarray:
    return matrix if layout == "row" else matrix.T


@pytest.mark.parametrize(
    ("factor", "total"), [("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32")]
)
@pytest.mark.parametrize(
    ("left", "right", "stored"), [("row", "row", "row"), ("col", "row", "col"), ("row", "col", "row")]
)
@pytest.mark.parametrize("through_shared", [False, True])
def test_a_product_is_that_of_numpy_in_every_type_and_layout(
    factor: str, total: str, left: str, right: str, stored: str, through_shared: bool
) -> None:
    (raw_a, a), (raw_b, b), (raw_c, c) = drawn(factor, 24), drawn(factor, 40), drawn(total, 32)
    buffers = {"a": raw_a, "b": raw_b, "c": raw_c.copy()}
    source = product(factor, total, left, right, stored, through_shared)
    out = run_ok(source, launch("k", 1, 32, "a", "b", "c", 40), buffers=buffers)
    got = decode_elements(out["c"], total).reshape(16, 32)
    want = 2 * (turned(a, left) @ turned(b, right) + turned(c, stored))
    unit = 2.0**-10 if total == "float16" else 1e-6
    np.testing.assert_allclose(turned(got[:, :16], stored), want, rtol=unit, atol=unit)
    untouched = decode_elements(raw_c, total).reshape(16, 32)[:, 16:]
    np.testing.assert_array_equal(got[:, 16:], untouched)


TILED = (
    HEAD
    + """extern "C" __global__ void k(const half* a, const half* b, float* c, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
    wmma::fill_fragment(z, 0.0f);
    int row = blockIdx.y * 16, col = (blockIdx.x * 2 + threadIdx.y) * 16;
    for (int p = 0; p < n; p += 16) {
        wmma::load_matrix_sync(x, a + row * n + p, n);
        wmma::load_matrix_sync(y, b + p * n + col, n);
        wmma::mma_sync(z, x, y, z);
    }
    wmma::store_matrix_sync(c + row * n + col, z, n, wmma::mem_row_major);
}"""
)


def test_two_warps_a_block_and_many_blocks_multiply_large_matrices() -> None:
    a, b = (encode_elements(RANDOM.normal(size=64 * 64), "float16") for _ in range(2))
    buffers = {"a": a, "b": b, "c": poison("float32", 64 * 64, POISON)}
    out = run_ok(TILED, launch("k", (2, 4), (32, 2), "a", "b", "c", 64), buffers=buffers)
    want = decode_elements(a, "float16").reshape(64, 64) @ decode_elements(b, "float16").reshape(64, 64)
    np.testing.assert_allclose(out["c"].reshape(64, 64), want, rtol=1e-5, atol=1e-5)


def test_a_product_counts_as_one_instruction_of_a_warp_and_its_accesses_as_memory() -> None:
    a, b = (encode_elements(RANDOM.normal(size=64 * 64), "float16") for _ in range(2))
    buffers = {"a": a, "b": b, "c": poison("float32", 64 * 64, POISON)}
    outcome = run(compile_ptx(TILED), launch("k", (2, 4), (32, 2), "a", "b", "c", 64), buffers=buffers)
    assert outcome.counters[0].by_class["tensor"] == 16 * 4
    assert outcome.counters[0].by_class["global"] == 16 * (4 + 4 + 1)
    assert outcome.counters[0].unique_sectors == (2 * 2 + 4) * 64 * 64 // 32


def test_a_warp_with_a_missing_lane_gets_no_number() -> None:
    source = TILED.replace("wmma::fill_fragment", "if (threadIdx.x == 31) return;\n    wmma::fill_fragment")
    a, b = (encode_elements(RANDOM.normal(size=64 * 64), "float16") for _ in range(2))
    buffers = {"a": a, "b": b, "c": np.zeros(64 * 64, np.float32)}
    out = run_ok(source, launch("k", (2, 4), (32, 2), "a", "b", "c", 64), buffers=buffers)
    written = out["c"][out["c"] != 0]
    assert np.isnan(written).all()
    assert written.size == 64 * 64 // 32 * 31


def test_a_matrix_that_reaches_beyond_its_buffer_is_out_of_bounds() -> None:
    buffers = {
        "a": np.zeros(64 * 64, np.float16),
        "b": np.zeros(64 * 64 - 1, np.float16),
        "c": np.zeros(64 * 64, np.float32),
    }
    fault = run(compile_ptx(TILED), launch("k", (2, 4), (32, 2), "a", "b", "c", 64), buffers=buffers).fault
    assert fault is not None
    assert fault.kind is FaultKind.OUT_OF_BOUNDS


def test_lines_that_are_not_aligned_are_misaligned() -> None:
    buffers = {name: np.zeros(4096, np.float16) for name in "ab"} | {"c": np.zeros(4096, np.float32)}
    fault = run(compile_ptx(TILED), launch("k", 1, (32, 2), "a", "b", "c", 36), buffers=buffers).fault
    assert fault is not None
    assert fault.kind is FaultKind.MISALIGNED


def test_other_shapes_are_unsupported_and_quoted() -> None:
    source = TILED.replace("16, 16, 16", "32, 8, 16")
    buffers = {name: np.zeros(4096, np.float16) for name in "ab"} | {"c": np.zeros(4096, np.float32)}
    fault = run(compile_ptx(source), launch("k", 1, 32, "a", "b", "c", 64), buffers=buffers).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "m32n8k16" in fault.message
