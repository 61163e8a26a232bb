"""Atomics on vectors, and accesses with a cache policy, on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, counters_of, launch, run, run_ok

from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.program.translate import load_module

RANDOM = np.random.default_rng(17)
F32 = np.float32


def adding(width: int, target: str = "y + i % 5") -> str:
    return f"""extern "C" __global__ void k(float{width}* y, const float{width}* x) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd({target}, x[i]);
}}"""


@pytest.mark.parametrize("width", [2, 4])
def test_every_element_of_a_vector_is_added(width: int) -> None:
    x = RANDOM.integers(-9, 9, (128, width)).astype(F32)
    y = RANDOM.integers(-9, 9, (5, width)).astype(F32)
    want = y.copy()
    np.add.at(want, np.arange(128) % 5, x)
    text = adding(width)
    assert f".add.v{width}.f32" in compile_ptx(text)
    out = run_ok(text, launch("k", 2, 64, "y", "x"), buffers={"y": y.reshape(-1), "x": x.reshape(-1)})
    np.testing.assert_array_equal(out["y"].reshape(want.shape), want)


@pytest.mark.parametrize("width", [2, 4])
def test_each_lane_gets_what_was_there_before_its_own_element(width: int) -> None:
    """Sums of one address are a permutation of the partial sums, element by element."""
    text = f"""extern "C" __global__ void k(float{width}* y, const float{width}* x, float{width}* o) {{
      o[threadIdx.x] = atomicAdd(y + threadIdx.x % 3, x[threadIdx.x]);
    }}"""
    x = RANDOM.integers(1, 9, (64, width)).astype(F32)
    data = {"y": np.zeros(3 * width, F32), "x": x.reshape(-1), "o": np.zeros(64 * width, F32)}
    out = run_ok(text, launch("k", 1, 64, "y", "x", "o"), buffers=data)
    got = out["o"].reshape(64, width)
    for place in range(3):
        mine = x[place::3]
        want = np.concatenate([np.zeros((1, width), F32), np.cumsum(mine, axis=0)])
        np.testing.assert_array_equal(got[place::3], want[:-1])
        np.testing.assert_array_equal(out["y"].reshape(3, width)[place], want[-1])


REDUCTION = """extern "C" __global__ void k(float* y, const float* x) {
  int i = threadIdx.x;
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
    :: "l"(y + i / 8 * 4), "f"(x[4 * i]), "f"(x[4 * i + 1]), "f"(x[4 * i + 2]), "f"(x[4 * i + 3]) : "memory");
}"""


def test_a_reduction_under_a_condition_adds_only_where_it_holds() -> None:
    text = REDUCTION.replace("  asm", "  if (i % 3 == 0) asm")
    x = RANDOM.integers(-9, 9, (64, 4)).astype(F32)
    want = np.zeros((8, 4), F32)
    np.add.at(want, np.arange(64)[::3] // 8, x[::3])
    data = {"y": np.zeros(32, F32), "x": x.reshape(-1)}
    out = run_ok(text, launch("k", 1, 64, "y", "x"), buffers=data)["y"]
    np.testing.assert_array_equal(out.reshape(8, 4), want)


def test_the_type_may_stand_before_the_operation() -> None:
    x = RANDOM.integers(-9, 9, (64, 4)).astype(F32)
    outs = [
        run_ok(text, launch("k", 1, 64, "y", "x"), buffers={"y": np.zeros(32, F32), "x": x.reshape(-1)})["y"]
        for text in (REDUCTION, REDUCTION.replace("add.v4.f32", "v4.f32.add"))
    ]
    np.testing.assert_array_equal(*outs)
    assert outs[0].any()


def half_reduction(kind: str, count: int) -> str:
    vector = f".v{count}" if count > 1 else ""
    values = ", ".join(f"%{e + 1}" for e in range(count))
    group = f"{{{values}}}" if count > 1 else values
    registers = ", ".join(f'"r"(x[{count} * i + {e}])' for e in range(count))
    return f"""extern "C" __global__ void k(unsigned* y, const unsigned* x) {{
      int i = threadIdx.x;
      asm volatile("red.global.add.noftz{vector}.{kind}x2 [%0], {group};"
        :: "l"(y + i % 2 * {count}), {registers} : "memory");
    }}"""


@pytest.mark.parametrize(("kind", "dtype"), [("f16", "float16"), ("bf16", "bfloat16")])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_pairs_of_halves_are_added_alone_and_in_vectors(kind: str, dtype: str, count: int) -> None:
    x = RANDOM.integers(-3, 4, (32, count * 2)).astype(np.float64)
    want = np.stack([x[::2].sum(axis=0), x[1::2].sum(axis=0)])
    raw = encode_elements(x, dtype).reshape(-1).view(np.uint32)
    data = {"y": np.zeros(2 * count, np.uint32), "x": raw}
    out = run_ok(half_reduction(kind, count), launch("k", 1, 32, "y", "x"), buffers=data)["y"]
    got = decode_elements(out.view(encode_elements(x, dtype).dtype), dtype)
    np.testing.assert_array_equal(got.reshape(want.shape), want)


def test_a_vector_is_one_atomic_of_a_warp_and_all_of_its_bytes_are_traffic() -> None:
    data = {"y": np.zeros(512, F32), "x": np.zeros(512, F32)}
    counters = counters_of(adding(4, "y + i"), launch("k", 2, 64, "y", "x"), data)
    assert counters.atomics == counters.by_class["atomic"] == 4
    assert counters.global_store_sectors == 4 * 16
    assert counters.global_useful_bytes == 2 * 128 * 16
    assert counters.hottest_sector_atomics == 1


def test_a_vector_that_reaches_beyond_its_buffer_is_out_of_bounds() -> None:
    data = {"y": np.zeros(511, F32), "x": np.zeros(512, F32)}
    fault = run(adding(4, "y + i"), launch("k", 2, 64, "y", "x"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.OUT_OF_BOUNDS


def test_a_vector_that_is_not_aligned_to_its_size_is_misaligned() -> None:
    text = adding(4, "(float4*)((float*)y + 2)")
    data = {"y": np.zeros(512, F32), "x": np.zeros(512, F32)}
    fault = run(text, launch("k", 2, 64, "y", "x"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.MISALIGNED


@pytest.mark.parametrize("element", range(4))
def test_every_element_of_a_vector_races_with_a_plain_store_of_another_block(element: int) -> None:
    text = adding(4, "y").replace("  atomicAdd", f"  if (i == 0) ((float*)y)[{element}] = 1;\n  atomicAdd")
    data = {"y": np.zeros(4, F32), "x": np.zeros(512, F32)}
    fault = run(text, launch("k", 2, 64, "y", "x"), buffers=data).fault
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE


def test_what_a_vector_is_added_to_counts_as_written() -> None:
    for text in (adding(4), REDUCTION):
        kernel = load_module(compile_ptx(text)).kernel("k")
        assert kernel.written_parameters == {0}
        assert kernel.may_hand_over


def test_vectors_in_shared_memory_are_refused_in_words() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float4 s[4];
      s[threadIdx.x] = make_float4(0, 0, 0, 0);
      float4* at = threadIdx.x < 4 ? s + threadIdx.x : (float4*)y;
      float a, b, c, d;
      asm volatile("atom.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};"
        : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(at), "f"(1.0f) : "memory");
      y[threadIdx.x] = a;
    }"""
    fault = run(text, launch("k", 1, 4, "y"), buffers={"y": np.zeros(4, F32)}).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "in device memory only" in fault.message


@pytest.mark.parametrize(
    "form",
    [
        "red.relaxed.gpu.global.min.v4.f32",
        "red.relaxed.gpu.global.add.v4.u32",
        "red.relaxed.gpu.shared.add.v4.f32",
        "red.relaxed.gpu.global.add.v2.f32",
    ],
)
def test_vectors_that_do_not_exist_are_unsupported_and_quoted(form: str) -> None:
    text = REDUCTION.replace("red.relaxed.gpu.global.add.v4.f32", form)
    fault = run(
        text, launch("k", 1, 1, "y", "x"), buffers={"y": np.zeros(4, F32), "x": np.zeros(4, F32)}
    ).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert form in fault.message


HINTS = """extern "C" __global__ void k(const float* x, float* o, int* n) {
  unsigned long long p; float v; float4 w; int old, i = threadIdx.x;
  asm volatile("createpolicy.POLICY;" : "=l"(p) : "l"(x));
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(p));
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
    : "=f"(w.x), "=f"(w.y), "=f"(w.z), "=f"(w.w) : "l"(x + 4 * i), "l"(p));
  asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(o + i), "f"(v + w.y), "l"(p) : "memory");
  asm volatile("red.global.add.L2::cache_hint.f32 [%0], %1, %2;" :: "l"(o + i), "f"(w.w), "l"(p) : "memory");
  asm volatile("atom.global.cas.L2::cache_hint.b32 %0, [%1], %2, %3, %4;"
    : "=r"(old) : "l"(n + i), "r"(i % 2), "r"(7), "l"(p) : "memory");
  o[i + 32] = old;
}"""
PLAIN = """extern "C" __global__ void k(const float* x, float* o, int* n) {
  int i = threadIdx.x;
  float v = x[i]; float4 w = __ldg((const float4*)x + i);
  o[i] = v + w.y;
  atomicAdd(o + i, w.w);
  o[i + 32] = atomicCAS(n + i, i % 2, 7);
}"""
POLICIES = [
    "fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5",
    "fractional.L2::evict_first.b64 %0",
    "range.global.L2::evict_last.b64 %0, [%1], 64, 128",
]


def hint_data() -> dict[str, np.ndarray]:
    return {"x": np.arange(128, dtype=F32), "o": np.zeros(64, F32), "n": np.arange(32, dtype=np.int32) % 2}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cache_policy_changes_nothing_in_the_result(policy: str) -> None:
    launched = launch("k", 1, 32, "x", "o", "n")
    hinted = run_ok(HINTS.replace("POLICY", policy), launched, buffers=hint_data())
    plain = run_ok(PLAIN, launched, buffers=hint_data())
    for name in ("o", "n"):
        np.testing.assert_array_equal(hinted[name], plain[name])
    assert (hinted["n"] == 7).all()


def test_a_cache_policy_changes_nothing_in_the_traffic() -> None:
    hinted, plain = (
        counters_of(text, launch("k", 1, 32, "x", "o", "n"), hint_data())
        for text in (HINTS.replace("POLICY", POLICIES[0]), PLAIN)
    )
    assert hinted.global_sectors == plain.global_sectors
    assert hinted.unique_sectors == plain.unique_sectors
    assert hinted.warp_instructions >= plain.warp_instructions


def test_whoever_computes_with_a_policy_gets_no_number() -> None:
    text = """extern "C" __global__ void k(double* o) {
      unsigned long long p;
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
      *o = __longlong_as_double(p);
    }"""
    out = run_ok(text, launch("k", 1, 1, "o"), buffers={"o": np.zeros(1)})["o"]
    assert np.isnan(out[0])


def test_a_hint_without_its_policy_is_unsupported() -> None:
    text = compile_ptx(PLAIN).replace("ld.global.f32", "ld.global.L2::cache_hint.f32")
    fault = run(text, launch("k", 1, 32, "x", "o", "n"), buffers=hint_data()).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
