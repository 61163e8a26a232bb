"""`ldmatrix` on the emulator: what every lane gets, and what the race detector and the counters see."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, counters_of, launch, run, run_ok

from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.executors.base import ExecutionFault, FaultKind

RANDOM = np.random.default_rng(11)
U16, U32 = np.uint16, np.uint32
ELEMENTS = 32 * 64


def source(count: int, trans: str = "", place: str = "l * PITCH", pitch: int = 8, **parts: str) -> str:
    """Two warps load `count` matrices each from a tile of theirs; a lane's line begins at `place`."""
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    form = parts.get("form", f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16")
    return f"""
#define PITCH {pitch}
extern "C" __global__ void k(const unsigned short* x, unsigned* o) {{
  __shared__ __align__(16) unsigned short s[2 * {ELEMENTS}];
  int t = threadIdx.x, l = t % 32, w = t / 32;
  {parts.get("fill", f"for (int i = t; i < 2 * {ELEMENTS}; i += 64) s[i] = x[i];")}
  {parts.get("between", "__syncthreads();")}
  unsigned r[{count}];
  unsigned at = (unsigned)__cvta_generic_to_shared(s + w * {ELEMENTS} + ({place}));
  asm volatile("{form} {{{registers}}}, [%{count}];" : {outputs} : {parts.get("address", '"r"(at)')});
  {parts.get("after", "")}
  for (int i = 0; i < {count}; i++) o[(i * 2 + w) * 32 + l] = r[i];
}}"""


def buffers(count: int) -> dict[str, np.ndarray]:
    return {"x": RANDOM.integers(0, 1 << 16, 2 * ELEMENTS).astype(U16), "o": np.zeros(count * 64, U32)}


def expected(x: np.ndarray, count: int, trans: bool, pitch: int) -> np.ndarray:
    """By the table of the PTX manual: element pair 2t of line g, or of column g."""
    found = np.zeros((count, 2, 32), U32)
    for number in range(count):
        for warp in range(2):
            lines = x[warp * ELEMENTS :][: 32 * pitch].reshape(32, pitch)[8 * number : 8 * number + 8, :8]
            matrix = (lines.T if trans else lines).astype(U32)
            for lane in range(32):
                group, member = lane // 4, lane % 4
                found[number, warp, lane] = matrix[group, 2 * member] | matrix[group, 2 * member + 1] << 16
    return found.reshape(-1)


def fault_of(text: str, count: int = 4) -> ExecutionFault:
    fault = run(compile_ptx(text), launch("k", 1, 64, "x", "o"), buffers=buffers(count)).fault
    assert fault is not None
    return fault


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("pitch", [8, 40])
def test_every_lane_gets_the_elements_of_its_line_or_column(count: int, trans: str, pitch: int) -> None:
    data = buffers(count)
    out = run_ok(source(count, trans, pitch=pitch), launch("k", 1, 64, "x", "o"), buffers=data)["o"]
    np.testing.assert_array_equal(out, expected(data["x"], count, bool(trans), pitch))


def test_a_generic_address_and_the_long_name_of_the_space_mean_the_same() -> None:
    data = buffers(4)
    generic = source(
        4, form="ldmatrix.sync.aligned.m8n8.x4.b16", address=f'"l"(s + w * {ELEMENTS} + l * PITCH)'
    )
    named = source(4, form="ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16")
    for text in (generic, named):
        out = run_ok(text, launch("k", 1, 64, "x", "o"), buffers=data)["o"]
        np.testing.assert_array_equal(out, expected(data["x"], 4, False, 8))


def test_a_generic_address_outside_shared_memory_is_out_of_bounds() -> None:
    text = source(4, form="ldmatrix.sync.aligned.m8n8.x4.b16", address='"l"(x + l * 8)')
    assert fault_of(text).kind is FaultKind.OUT_OF_BOUNDS


def test_every_block_reads_its_own_tile() -> None:
    text = source(4, ".trans").replace("s[i] = x[i]", "s[i] = x[i] + blockIdx.x")
    text = text.replace("o[(i", "o[blockIdx.x * 256 + (i")
    data = buffers(4) | {"o": np.zeros(3 * 256, U32)}
    out = run_ok(text, launch("k", 3, 64, "x", "o"), buffers=data)["o"].reshape(3, -1)
    for block in range(3):
        np.testing.assert_array_equal(out[block], expected(data["x"] + U16(block), 4, True, 8))


PRODUCT = """
extern "C" __global__ void k(const unsigned short* a, const unsigned short* b, float* c) {
  __shared__ __align__(16) unsigned short left[16 * 24], right[16 * 24];
  int l = threadIdx.x;
  for (int i = l; i < 256; i += 32) left[i / 16 * 24 + i % 16] = a[i];
  for (int i = l; i < 128; i += 32) right[i / 8 * 24 + i % 8] = b[i];
  __syncwarp();
  unsigned x[4], y[2]; float z[4] = {0, 0, 0, 0};
  unsigned at = (unsigned)__cvta_generic_to_shared(left + l % 16 * 24 + l / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
  at = (unsigned)__cvta_generic_to_shared(right + l % 16 * 24);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
    : "=r"(y[0]), "=r"(y[1]) : "r"(at));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; i++) c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = z[i];
}"""


def test_matrices_that_were_loaded_multiply_to_the_product_of_numpy() -> None:
    """Both factors lie by rows, so the right one comes through `.trans`."""
    raw = [encode_elements(RANDOM.normal(size=extents), "float16") for extents in ((16, 16), (16, 8))]
    a, b = (decode_elements(part, "float16") for part in raw)
    data = {"a": raw[0].reshape(-1), "b": raw[1].reshape(-1), "c": np.zeros(128, np.float32)}
    out = run_ok(PRODUCT, launch("k", 1, 32, "a", "b", "c"), buffers=data)["c"]
    np.testing.assert_array_equal(out.reshape(16, 8), (a @ b).astype(np.float32))


def test_a_warp_with_a_missing_lane_gets_no_number() -> None:
    data = buffers(2)
    text = source(2, between="__syncthreads(); if (t == 63) return;")
    out = run_ok(text, launch("k", 1, 64, "x", "o"), buffers=data)["o"].reshape(2, 2, 32)
    want = expected(data["x"], 2, False, 8).reshape(2, 2, 32)
    np.testing.assert_array_equal(out[:, 0], want[:, 0])
    assert (out[:, 1, :31] == 0x7FFF7FFF).all()


def test_only_missing_addresses_leave_no_number_either() -> None:
    data = buffers(1)
    text = source(1, between="__syncthreads(); if (t % 32 < 8) return;")
    out = run_ok(text, launch("k", 1, 64, "x", "o"), buffers=data)["o"].reshape(2, 32)
    assert (out[:, 8:] == 0x7FFF7FFF).all()


def test_a_load_without_a_barrier_after_another_warps_store_is_a_race() -> None:
    fault = fault_of(source(4, between=""))
    assert fault.kind is FaultKind.DATA_RACE
    assert "put __syncthreads() between them" in fault.message
    assert fault.other_line is not None


@pytest.mark.parametrize("element", range(8))
def test_every_element_of_a_line_is_read_for_the_race_detector(element: int) -> None:
    """Warp 1 stores one element of the last line that warp 0 loads."""
    text = source(2, after=f"if (t == 32) s[15 * 8 + {element}] = 1;")
    assert fault_of(text, 2).kind is FaultKind.DATA_RACE


def test_a_store_beside_what_was_loaded_is_no_race() -> None:
    """Of two matrices the lanes from 16 on give no addresses that count."""
    data = buffers(2)
    text = source(2, after="if (t == 32) s[16 * 8] = 1;")
    out = run_ok(text, launch("k", 1, 64, "x", "o"), buffers=data)["o"]
    np.testing.assert_array_equal(out, expected(data["x"], 2, False, 8))


@pytest.mark.parametrize(("count", "lane"), [(1, 7), (2, 15), (4, 31)])
def test_a_line_beyond_shared_memory_is_out_of_bounds(count: int, lane: int) -> None:
    place = f"l == {lane} ? 2 * {ELEMENTS} : l * PITCH"
    fault = fault_of(source(count, place=place), count)
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert fault.source_line is not None


@pytest.mark.parametrize(("count", "lane"), [(1, 8), (2, 16)])
def test_addresses_of_lanes_that_give_none_are_not_looked_at(count: int, lane: int) -> None:
    data = buffers(count)
    text = source(count, place=f"l >= {lane} ? 1 << 20 : l * PITCH")
    out = run_ok(text, launch("k", 1, 64, "x", "o"), buffers=data)["o"]
    np.testing.assert_array_equal(out, expected(data["x"], count, False, 8))


def test_a_line_that_does_not_begin_at_sixteen_bytes_is_misaligned() -> None:
    assert fault_of(source(4, place="l * PITCH + 4")).kind is FaultKind.MISALIGNED


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("pitch", "passes"), [(8, 1), (64, 8), (40, 1), (16, 2)])
def test_a_matrix_is_one_pass_over_the_banks_without_conflicts(count: int, pitch: int, passes: int) -> None:
    text = source(count, pitch=pitch, fill="", between="", after="")
    plain = counters_of(text, launch("k", 1, 64, "x", "o"), buffers(count))
    assert plain.by_class["shared"] == 2
    assert "tensor" not in plain.by_class
    assert plain.shared_accesses == 2 * count
    assert plain.shared_passes == 2 * count * passes


@pytest.mark.parametrize(
    "form",
    [
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
        "ldmatrix.sync.aligned.m8n8.x1.shared::cluster.b16",
        "ldmatrix.sync.aligned.m8n8.x3.shared.b16",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16",
    ],
)
def test_other_forms_are_unsupported_and_quoted(form: str) -> None:
    fault = fault_of(source(1, form=form), 1)
    assert fault.kind is FaultKind.UNSUPPORTED
    assert form in fault.message
