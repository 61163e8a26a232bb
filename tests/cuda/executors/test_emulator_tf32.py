"""tf32 on the emulator: conversions, `wmma` m16n16k8 and `mma` m16n8k4 and m16n8k8, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run, run_ok

from coding_framework.cuda.executors.base import FaultKind

RANDOM = np.random.default_rng(13)
F32, U32 = np.float32, np.uint32
HEAD = "#include <mma.h>\nusing namespace nvcuda;\n"


def cut(values: np.ndarray) -> np.ndarray:
    """What the hardware sees of a factor: the lower 13 bits do not count."""
    return (values.astype(F32).view(U32) & U32(0xFFFFE000)).view(F32).astype(np.float64)


def rounded(values: np.ndarray) -> np.ndarray:
    """Eleven significant bits, ties away from zero."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.copysign(np.floor(np.abs(mantissa) * 2**11 + 0.5), mantissa) / 2**11, exponent)


def turned(matrix: np.ndarray, layout: str) -> np.ndarray:
    return matrix if layout == "row" else matrix.T


CONVERSION = """extern "C" __global__ void k(const float* x, unsigned* o) {
  unsigned r;
  asm("cvt.MODE.tf32.f32 %0, %1;" : "=r"(r) : "f"(x[threadIdx.x]));
  o[threadIdx.x] = r;
}"""


def converted(values: np.ndarray, mode: str) -> np.ndarray:
    data = {"x": values.astype(F32), "o": np.zeros(values.size, U32)}
    text = CONVERSION.replace("MODE", mode)
    return run_ok(text, launch("k", 1, values.size, "x", "o"), buffers=data)["o"].view(F32)


def test_rna_rounds_to_nearest_and_ties_away_from_zero() -> None:
    ties = np.array([1 + 2.0**-11, -1 - 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 - 2.0**-23, 0.0, -0.0])
    values = np.concatenate([RANDOM.normal(size=58) * 100, ties]).astype(F32)
    got = converted(values, "rna")
    np.testing.assert_array_equal(got, rounded(values))
    assert np.signbit(got[-1])
    assert got[-6] == 1 + 2.0**-10


def test_rn_takes_the_even_one_of_two_and_rz_the_one_nearer_zero() -> None:
    values = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, 1.5, 1 + 2.0**-11 + 2.0**-23])
    np.testing.assert_array_equal(
        converted(values, "rn"), np.array([1, 1 + 2.0**-9, -1, 1.5, 1 + 2.0**-10], F32)
    )
    np.testing.assert_array_equal(converted(values, "rz"), cut(values))


def test_large_numbers_become_infinite_and_nan_stays_nan() -> None:
    largest = float(np.finfo(F32).max)
    got = converted(np.array([largest, -largest, np.inf, np.nan]), "rna")
    np.testing.assert_array_equal(got, np.array([np.inf, -np.inf, np.inf, np.nan], F32))


@pytest.mark.parametrize("mode", ["rna.satfinite", "rn.relu"])
def test_other_conversions_are_unsupported_and_quoted(mode: str) -> None:
    data = {"x": np.zeros(1, F32), "o": np.zeros(1, U32)}
    fault = run(CONVERSION.replace("MODE", mode), launch("k", 1, 1, "x", "o"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert f"cvt.{mode}.tf32.f32" in fault.message


def product(left: str, right: str, stored: str, rounds: bool, through_shared: bool = False) -> str:
    """c = a * b + c, lines of a 20 apart, of b 24 and of c 28; a optionally by way of shared memory."""
    loop = "for (int i = 0; i < {0}.num_elements; ++i) {0}.x[i] = wmma::__float_to_tf32({0}.x[i]);"
    stage = (
        "__shared__ float tile[320]; for (int i = threadIdx.x; i < 320; i += 32) tile[i] = a[i];\n"
        "__syncwarp(); wmma::load_matrix_sync(x, tile, 20);"
        if through_shared
        else "wmma::load_matrix_sync(x, a, 20);"
    )
    return (
        f'{HEAD}extern "C" __global__ void k(const float* a, const float* b, float* c) {{\n'
        f"wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::{left}_major> x;\n"
        f"wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::{right}_major> y;\n"
        "wmma::fragment<wmma::accumulator, 16, 16, 8, float> z;\n"
        f"{stage}\nwmma::load_matrix_sync(y, b, 24);\n"
        f"wmma::load_matrix_sync(z, c, 28, wmma::mem_{stored}_major);\n"
        f"{(loop.format('x') + loop.format('y')) if rounds else ''}\n"
        "wmma::mma_sync(z, x, y, z);\n"
        f"wmma::store_matrix_sync(c, z, 28, wmma::mem_{stored}_major); }}"
    )


def matrix_data() -> dict[str, np.ndarray]:
    return {
        name: RANDOM.normal(size=16 * pitch).astype(F32) for name, pitch in (("a", 20), ("b", 24), ("c", 28))
    }


def part(flat: np.ndarray, pitch: int, layout: str, lines: int, columns: int) -> np.ndarray:
    """The matrix of so many lines and columns that lies in a layout."""
    extents = (lines, columns) if layout == "row" else (columns, lines)
    return turned(flat.reshape(16, pitch)[: extents[0], : extents[1]], layout)


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("through_shared", [False, True])
@pytest.mark.parametrize(
    ("left", "right", "stored"),
    [("row", "row", "row"), ("col", "row", "col"), ("row", "col", "row"), ("col", "col", "col")],
)
def test_a_product_of_wmma_is_that_of_numpy_in_every_layout(
    left: str, right: str, stored: str, through_shared: bool, rounds: bool
) -> None:
    data = matrix_data()
    text = product(left, right, stored, rounds, through_shared)
    out = run_ok(text, launch("k", 1, 32, "a", "b", "c"), buffers={n: v.copy() for n, v in data.items()})
    seen = rounded if rounds else cut
    a, b = part(data["a"], 20, left, 16, 8), part(data["b"], 24, right, 8, 16)
    want = (seen(a) @ seen(b) + part(data["c"], 28, stored, 16, 16)).astype(F32)
    np.testing.assert_array_equal(part(out["c"], 28, stored, 16, 16), want)
    np.testing.assert_array_equal(out["c"].reshape(16, 28)[:, 16:], data["c"].reshape(16, 28)[:, 16:])


def test_a_matrix_without_a_stride_is_packed() -> None:
    text = """extern "C" __global__ void k(const float* a, float* o) {
      unsigned r[4];
      asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(a));
      for (int i = 0; i < 4; i++) o[threadIdx.x * 4 + i] = __uint_as_float(r[i]);
    }"""
    a = np.arange(128, dtype=F32)
    out = run_ok(text, launch("k", 1, 32, "a", "o"), buffers={"a": a, "o": np.zeros(128, F32)})["o"]
    assert sorted(out.tolist()) == a.tolist()


def test_a_product_counts_as_one_instruction_and_its_accesses_as_memory() -> None:
    text = product("row", "col", "row", False)
    outcome = run(compile_ptx(text), launch("k", 1, 32, "a", "b", "c"), buffers=matrix_data())
    counters = outcome.counters[0]
    assert counters.by_class["tensor"] == 1
    assert counters.by_class["global"] == 4
    assert counters.global_useful_bytes == 4 * (128 + 128 + 2 * 256)


@pytest.mark.parametrize("short", ["a", "b", "c"])
def test_a_matrix_that_reaches_beyond_its_buffer_is_out_of_bounds(short: str) -> None:
    needed = {"a": 15 * 20 + 8, "b": 15 * 24 + 8, "c": 15 * 28 + 16}
    data = {name: np.zeros(size - (name == short), F32) for name, size in needed.items()}
    text = compile_ptx(product("row", "col", "row", False))
    fault = run(text, launch("k", 1, 32, "a", "b", "c"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    exact = {name: np.zeros(size, F32) for name, size in needed.items()}
    assert run(text, launch("k", 1, 32, "a", "b", "c"), buffers=exact).fault is None


def test_a_matrix_of_shared_memory_races_with_another_warps_store() -> None:
    text = product("row", "row", "row", False, through_shared=True)
    text = text.replace("i < 320; i += 32", "i < 320; i += 64").replace("__syncwarp();", "")
    fault = run(compile_ptx(text), launch("k", 1, 64, "a", "b", "c"), buffers=matrix_data()).fault
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE


def small_product(depth: int, lanes: str = "") -> str:
    """d = a * b + c for row-major a (16 x depth), column-major b (depth x 8), row-major c and d (16 x 8)."""
    left = [f"a[(g + {down}) * K + t + {right}]" for right in range(0, depth, 4) for down in (0, 8)]
    right = [f"b[g * K + t + {down}]" for down in range(0, depth, 4)]
    factors = ", ".join(f'"r"(__float_as_uint({place}))' for place in left + right)
    names = [f"%{number}" for number in range(4, 4 + len(left) + len(right))]
    a, b = ", ".join(names[: len(left)]), ", ".join(names[len(left) :])
    places = [f"(g + {down}) * 8 + 2 * t + {e}" for down in (0, 8) for e in (0, 1)]
    return f"""
extern "C" __global__ void k(const float* a, const float* b, float* c) {{
  const int K = {depth};
  int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, w = threadIdx.x / 32;
  a += w * 16 * K; b += w * 8 * K; c += w * 128;
  {lanes}
  float z[4] = {{{", ".join(f"c[{place}]" for place in places)}}};
  asm volatile("mma.sync.aligned.m16n8k{depth}.row.col.f32.tf32.tf32.f32 {{%0, %1, %2, %3}},"
    "{{{a}}}, {{{b}}}, {{%0, %1, %2, %3}};"
    : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3]) : {factors});
  {" ".join(f"c[{place}] = z[{e}];" for e, place in enumerate(places))}
}}"""


@pytest.mark.parametrize("depth", [4, 8])
def test_two_warps_multiply_by_mma_what_hardware_sees_of_their_factors(depth: int) -> None:
    a, b, c = (RANDOM.normal(size=(2, *e)).astype(F32) for e in ((16, depth), (8, depth), (16, 8)))
    data = {"a": a.reshape(-1), "b": b.reshape(-1), "c": c.reshape(-1).copy()}
    out = run_ok(small_product(depth), launch("k", 1, 64, "a", "b", "c"), buffers=data)["c"]
    want = (cut(a) @ cut(b).swapaxes(1, 2) + c).astype(F32)
    np.testing.assert_array_equal(out.reshape(want.shape), want)


def test_a_nan_in_a_factor_is_never_cut_to_an_infinity() -> None:
    a = np.zeros((16, 8), F32)
    a.view(U32)[3, 5] = 0x7F800001
    data = {"a": a.reshape(-1), "b": np.ones(64, F32), "c": np.zeros(128, F32)}
    out = run_ok(small_product(8), launch("k", 1, 32, "a", "b", "c"), buffers=data)["c"].reshape(16, 8)
    assert np.isnan(out[3]).all()
    assert np.isnan(out).sum() == 8


def test_a_warp_with_a_missing_lane_gets_no_number() -> None:
    text = small_product(8, "if (threadIdx.x == 63) return;")
    data = {"a": np.zeros(256, F32), "b": np.zeros(128, F32), "c": np.ones(256, F32)}
    out = run_ok(text, launch("k", 1, 64, "a", "b", "c"), buffers=data)["c"]
    assert (out[:128] == 1).all()
    assert np.isnan(out[128:]).sum() == 124


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k16.row.col.f32.tf32.tf32.f32"),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k8.row.col.f16.tf32.tf32.f16"),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k8.row.col.f32.tf32.bf16.f32"),
    ],
)
def test_products_that_do_not_exist_are_unsupported_and_quoted(old: str, new: str) -> None:
    text = compile_ptx(small_product(8)).replace(old, new)
    data = {"a": np.zeros(128, F32), "b": np.zeros(64, F32), "c": np.zeros(128, F32)}
    fault = run(text, launch("k", 1, 32, "a", "b", "c"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert new in fault.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m16n16k8.tf32", "m16n16k16.tf32"),
        ("m16n16k8.f32.tf32.tf32.f32", "m16n16k16.f32.tf32.tf32.f32"),
        ("m16n16k8.f32.tf32.tf32.f32", "m16n16k8.f32.f16.f16.f32"),
        ("m16n16k8.f32.tf32.tf32.f32", "m16n16k8.f32.f32"),
    ],
)
def test_fragments_that_do_not_exist_are_unsupported(old: str, new: str) -> None:
    text = compile_ptx(product("row", "row", "row", False)).replace(old, new)
    fault = run(text, launch("k", 1, 32, "a", "b", "c"), buffers=matrix_data()).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert new in fault.message
