"""PTX that ordinary CUDA rarely produces: written by hand or as inline assembly."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run, run_ok

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.ptx import PtxSyntaxError, parse_module

F32 = np.float32
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"


def _ptx(body: str, *, before: str = "", parameters: str = ".param .u64 o, .param .u32 n") -> str:
    return f"""{HEADER}{before}
.visible .entry k({parameters})
{{
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .f32 %f<9>; .reg .b32 %r<20>; .reg .f64 %fd<9>; .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [o]; cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3;
{body}
}}"""


def _run(body: str, n: int = 0, threads: int = 32, dtype: type = np.int32, **options: str) -> np.ndarray:
    buffers = {"o": np.arange(threads).astype(dtype)}
    return run_ok(_ptx(body, **options), launch("k", 1, threads, "o", n), buffers=buffers)["o"]


def test_a_branch_table_sends_each_lane_its_own_way() -> None:
    got = _run("""
  and.b32 %r2, %r1, 3;
  table: .branchtargets L0, L1, L2, L1;
  brx.idx %r2, table;
L0: mov.u32 %r3, 100; bra.uni DONE;
L1: mov.u32 %r3, 200; bra.uni DONE;
L2: mov.u32 %r3, 300;
DONE: add.u32 %r3, %r3, %r1; st.global.u32 [%rd4], %r3; ret;""")
    lane = np.arange(32)
    np.testing.assert_array_equal(got, np.array([100, 200, 300, 200])[lane & 3] + lane)


def test_a_branch_table_with_one_index_for_all() -> None:
    body = """
  ld.param.u32 %r2, [n];
  table: .branchtargets L0, L1;
  brx.idx.uni %r2, table;
L0: st.global.u32 [%rd4], 5; ret;
L1: st.global.u32 [%rd4], 6; ret;"""
    assert (_run(body, 1) == 6).all()
    assert (
        _run(body.replace("%r2, table", "%r5, table").replace("ld.param", "and.b32 %r5, %r1, 0; ld.param"))
        == 5
    ).all()


def test_predicated_instructions_touch_only_their_lanes() -> None:
    got = _run("""
  setp.lt.u32 %p1, %r1, 8;
  mov.u32 %r5, 7;
  @%p1 ld.global.u32 %r5, [%rd4+64];
  @!%p1 st.global.u32 [%rd4], %r5;
  setp.eq.u32 %p2, %r1, 99;
  @%p2 ld.global.u32 %r5, [%rd4+999999];
  @%p2 st.global.u32 [%rd4+999999], %r5;
  @%p2 atom.global.add.u32 %r6, [%rd4+999999], 1;
  @%p1 red.global.add.u32 [%rd4], 50;
  @%p1 ret;
  setp.gt.u32 %p3, %r1, 20;
  @%p3 exit;
  red.global.add.u32 [%rd4], 1000;
  ret;""")
    lane = np.arange(32)
    np.testing.assert_array_equal(got, np.where(lane < 8, lane + 50, np.where(lane > 20, 7, 1007)))


def test_parameters_addressed_at_run_time() -> None:
    got = _run("""
  mov.b64 %rd5, s; and.b32 %r2, %r1, 0; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd5, %rd6;
  ld.param.u32 %r3, [%rd7]; cvta.param.u64 %rd8, s; ld.u32 %r4, [%rd8];
  add.u32 %r3, %r3, %r4; st.global.u32 [%rd4], %r3; ret;""", n=9, parameters=".param .u64 o, .param .u32 s")  # fmt: skip  # noqa: E501
    np.testing.assert_array_equal(got, 18)
    fault = run(
        _ptx("mov.b64 %rd5, s; ld.param.u32 %r3, [%rd5+64]; ld.param.u32 %r4, [s]; add.s64 %rd5, %rd5, 640;"
             "ld.param.u32 %r3, [%rd5]; ret;", parameters=".param .u64 o, .param .u32 s"),
        launch("k", 1, 1, "o", 1), buffers={"o": np.zeros(1, np.int32)},
    ).fault  # fmt: skip
    assert fault is not None
    assert "parameters" in fault.message


def test_generic_addresses_of_all_spaces_in_one_instruction() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s[32];
  int l[4] = {1, 2, 3, o[0]}, t = threadIdx.x;
  s[t] = 50 + t;
  __syncwarp();
  int* p = t < 10 ? s + t : t < 20 ? l + (t & 3) : o + t;
  unsigned shared, global, local;
  asm("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(shared) : "l"(p));
  asm("{.reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(global) : "l"(p));
  asm("{.reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(local) : "l"(p));
  int v = *p;
  *p = v + 1;
  atomicAdd(t < 10 ? s + t : o + t, 1);
  o[32 + t] = v * 1000 + shared * 100 + global * 10 + local + (t < 10 ? s[t] - 52 - t : 0);
}"""
    buffers = {"o": np.arange(64, dtype=np.int32)}
    out = run_ok(source, launch("k", 1, 32, "o"), buffers=buffers)["o"]
    t = np.arange(32)
    value = np.where(t < 10, 50 + t, np.where(t < 20, np.array([1, 2, 3, 0])[t & 3], t))
    np.testing.assert_array_equal(out[32:], value * 1000 + np.where(t < 10, 100, np.where(t < 20, 1, 10)))
    np.testing.assert_array_equal(out[:32], t + (t >= 10) + (t >= 20))


def test_one_load_and_one_store_that_reach_several_buffers() -> None:
    source = """extern "C" __global__ void k(int* a, int* b, int* o) {
  int t = threadIdx.x;
  int* p = t % 2 ? a : b;
  o[t] = p[t];
  p[t] = -t;
}"""
    buffers = {
        "a": np.arange(32, dtype=np.int32),
        "b": np.arange(32, dtype=np.int32) + 100,
        "o": np.zeros(32, np.int32),
    }
    out = run_ok(source, launch("k", 1, 32, "a", "b", "o"), buffers=buffers)
    t = np.arange(32)
    np.testing.assert_array_equal(out["o"], np.where(t % 2, t, t + 100))
    np.testing.assert_array_equal(out["a"], np.where(t % 2, -t, t))
    atomic = source.replace("p[t] = -t", "atomicAdd(p + t, 1)")
    fault = run(atomic, launch("k", 1, 32, "a", "b", "o"), buffers=buffers).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED


FLOATS = np.array([0.0, -0.0, 1.5, -2.5, 1e-40, -1e-40, np.inf, -np.inf, np.nan, 3e38, 0.3, -0.7], F32)
TINY = np.float32(1.1754944e-38)


def _flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < TINY, np.copysign(F32(0), x), x)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("add.ftz.f32 %0, %1, 0f00000000", lambda x: _flushed(x) + F32(0)),
        ("add.sat.f32 %0, %1, 0f3F000000", lambda x: np.nan_to_num(np.clip(x + F32(0.5), 0, 1))),
        ("mul.ftz.f32 %0, %1, 0f3F800000", _flushed),
        ("abs.ftz.f32 %0, %1", lambda x: np.abs(_flushed(x))),
        ("neg.f32 %0, %1", lambda x: -x),
        ("min.NaN.f32 %0, %1, 0f3F800000", lambda x: np.minimum(x, F32(1))),
        ("max.f32 %0, %1, 0f00000000", lambda x: np.fmax(x, F32(0)) + F32(0)),
        ("cvt.sat.f32.f32 %0, %1", lambda x: np.nan_to_num(np.clip(x, 0, 1))),
        ("cvt.rmi.f32.f32 %0, %1", np.floor),
        ("cvt.ftz.f32.f32 %0, %1", _flushed),
        ("slct.f32.f32 %0, %1, 0f40E00000, %1", lambda x: np.where(x >= 0, x, F32(7))),
        ("set.gt.f32.f32 %0, %1, 0f3F800000", lambda x: (x > 1).astype(F32)),
        ("{.reg .pred p; testp.finite.f32 p, %1; selp.f32 %0, %1, 0f40000000, p;}", lambda x: np.where(np.isfinite(x), x, F32(2))),  # noqa: E501
        ("{.reg .pred p; testp.subnormal.f32 p, %1; selp.f32 %0, 0f3F800000, 0f00000000, p;}",
         lambda x: ((np.abs(x) < TINY) & (x != 0)).astype(F32)),
        ("{.reg .pred p; setp.num.f32 p, %1, %1; selp.f32 %0, 0f3F800000, 0f00000000, p;}", lambda x: (~np.isnan(x)).astype(F32)),  # noqa: E501
        ("{.reg .pred p; setp.nan.f32 p, %1, %1; selp.f32 %0, 0f3F800000, 0f00000000, p;}", lambda x: np.isnan(x).astype(F32)),  # noqa: E501
        ("{.reg .pred p; setp.equ.f32 p, %1, 0f3FC00000; selp.f32 %0, 0f3F800000, 0f00000000, p;}",
         lambda x: (np.isnan(x) | (x == 1.5)).astype(F32)),
        ("{.reg .pred p; setp.ne.ftz.f32 p, %1, 0f00000000; selp.f32 %0, 0f3F800000, 0f00000000, p;}",
         lambda x: (~np.isnan(x) & (_flushed(x) != 0)).astype(F32)),
        ("{.reg .pred p; setp.leu.f32 p, %1, 0f00000000; selp.f32 %0, 0f3F800000, 0f00000000, p;}",
         lambda x: (np.isnan(x) | (x <= 0)).astype(F32)),
        ("{.reg .f64 d; cvt.f64.f32 d, %1; mul.f64 d, d, 0d3FF3C083126E978D; cvt.rz.f32.f64 %0, d;}", None),
        ("{.reg .b16 h; cvt.rz.f16.f32 h, %1; cvt.f32.f16 %0, h;}", None),
        ("{.reg .b16 h; cvt.rm.f16.f32 h, %1; cvt.f32.f16 %0, h;}", None),
        ("{.reg .b16 h; cvt.rp.bf16.f32 h, %1; cvt.f32.bf16 %0, h;}", None),
        ("{.reg .b16 h; cvt.rz.bf16.f32 h, %1; cvt.f32.bf16 %0, h;}", None),
        ("{.reg .b16 h; cvt.rn.sat.f16.f32 h, %1; cvt.f32.f16 %0, h;}",
         lambda x: np.nan_to_num(np.clip(x, 0, 1)).astype(np.float16).astype(F32)),
        ("{.reg .b16 h, g; cvt.rn.f16.f32 h, %1; abs.f16 g, h; neg.f16 g, g; cvt.f32.f16 %0, g;}",
         lambda x: -np.abs(x.astype(np.float16)).astype(F32)),
        ("{.reg .b16 h; .reg .pred p; cvt.rn.f16.f32 h, %1; setp.gt.f16 p, h, h; selp.f32 %0, 0f3F800000, 0f00000000, p;}",  # noqa: E501
         lambda x: np.zeros_like(x)),
        ("{.reg .b16 h, g; cvt.rn.f16.f32 h, %1; set.le.f16.f16 g, h, h; cvt.f32.f16 %0, g;}", lambda x: (~np.isnan(x)).astype(F32)),  # noqa: E501
        ("{.reg .b16 h; .reg .s32 i; cvt.rn.f16.f32 h, %1; cvt.rni.s32.f16 i, h; cvt.rn.f16.s32 h, i; cvt.f32.f16 %0, h;}", None),  # noqa: E501
        ("{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.rmi.f16.f16 h, h; cvt.f32.f16 %0, h;}",
         lambda x: np.floor(x.astype(np.float16).astype(F32))),
        ("{.reg .b16 h; cvt.rn.f16.f32 h, %1; tanh.approx.f16 h, h; cvt.f32.f16 %0, h;}",
         lambda x: np.tanh(x.astype(np.float16).astype(F32)).astype(np.float16).astype(F32)),
        ("{.reg .b32 h; cvt.rn.relu.f16x2.f32 h, %1, %1; {.reg .b16 a, b; mov.b32 {a, b}, h; cvt.f32.f16 %0, b;}}",  # noqa: E501
         lambda x: np.fmax(x, F32(0)).astype(np.float16).astype(F32)),
        ("{.reg .b32 h, g; .reg .pred p, q; cvt.rn.f16x2.f32 h, %1, 0f3F800000; mov.b32 g, h; setp.lt.f16x2 p|q, h, g;"  # noqa: E501
         " @!q mov.f32 %0, 0f40400000; @p mov.f32 %0, 0f00000000;}", lambda x: np.full_like(x, 3)),
        ("{.reg .b32 h, g; cvt.rn.f16x2.f32 h, 0f40000000, %1; set.ge.f16x2.f16x2 g, h, h; {.reg .b16 a, b;"
         " mov.b32 {a, b}, g; cvt.f32.f16 %0, b;}}", lambda x: np.ones_like(x)),
        ("{.reg .b16 h, g; cvt.rn.f16.f32 h, %1; fma.rn.relu.f16 g, h, h, h; cvt.f32.f16 %0, g;}", None),
        ("{.reg .b16 h, g; cvt.rn.f16.f32 h, %1; add.sat.f16 g, h, h; cvt.f32.f16 %0, g;}", None),
    ],
)  # fmt: skip
def test_a_float_instruction_on_special_values(text: str, reference: object) -> None:
    source = f"""extern "C" __global__ void k(const float* x, float* o) {{
  float v = 0.0f;
  asm volatile("{text};" : "+f"(v) : "f"(x[threadIdx.x]));
  o[threadIdx.x] = v;
}}"""
    buffers = {"x": FLOATS, "o": np.zeros(FLOATS.size, F32)}
    got = run_ok(source, launch("k", 1, FLOATS.size, "x", "o"), buffers=buffers)["o"]
    with np.errstate(all="ignore"):
        expected = (reference or _harder(text))(FLOATS)  # type: ignore[operator]
    np.testing.assert_array_equal(got, expected)


def _harder(text: str) -> object:
    """References that need more than an expression: rounding by comparing neighbours."""

    if "cvt.rz.f32.f64" in text:

        def scaled(x: np.ndarray) -> np.ndarray:
            exact = x.astype(float) * float(np.frombuffer(bytes.fromhex("8D976E1283C0F33F"), np.float64)[0])
            near = exact.astype(F32)
            return np.where(np.abs(near.astype(float)) > np.abs(exact), np.nextafter(near, F32(0)), near)

        return scaled
    if "rni.s32" in text:

        def through_integer(x: np.ndarray) -> np.ndarray:
            rounded = np.nan_to_num(
                np.rint(x.astype(np.float16).astype(float)), posinf=2**31 - 1, neginf=-(2**31)
            )
            return rounded.astype(np.float16).astype(F32)

        return through_integer
    if "relu.f16" in text:

        def fused(x: np.ndarray) -> np.ndarray:
            h = x.astype(np.float16).astype(float)
            return np.maximum((h * h + h).astype(np.float16), 0).astype(F32)

        return fused
    if "add.sat" in text:
        return lambda x: np.nan_to_num(np.clip((x.astype(np.float16) * np.float16(2)).astype(F32), 0, 1))
    mode = text.split("cvt.")[1][:2]
    if "bf16" in text:

        def brain(x: np.ndarray) -> np.ndarray:
            low = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(F32)
            up = ((x.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(F32)
            grow = (mode == "rp") & (x > 0) & (low != x) & np.isfinite(x)
            return np.where(np.isnan(x), np.nan, np.where(grow, up, low)).astype(F32)

        return brain

    def half(x: np.ndarray) -> np.ndarray:
        near = x.astype(np.float16)
        wide = near.astype(F32)
        wrong = np.abs(wide) > np.abs(x) if mode == "rz" else wide > x
        target = np.where(x > 0, 0, np.where(mode == "rz", 0, -np.inf)).astype(np.float16)
        return np.where(
            wrong, np.nextafter(near, np.where(mode == "rz", np.float16(0), target)), near
        ).astype(F32)

    return half


def test_local_memory_of_every_width() -> None:
    source = """extern "C" __global__ void k(const int* x, double* o) {
  int t = threadIdx.x;
  volatile unsigned char bytes[16];
  volatile short shorts[8];
  volatile double doubles[4];
  for (int i = 0; i < 16; i++) bytes[(i + x[t]) & 15] = i * 3 + t;
  for (int i = 0; i < 8; i++) shorts[(i + x[t]) & 7] = -i * t;
  for (int i = 0; i < 4; i++) doubles[(i + x[t]) & 3] = i + 0.25 * t;
  o[t] = bytes[(5 + x[t]) & 15] + shorts[(3 + x[t]) & 7] + doubles[(2 + x[t]) & 3];
}"""
    x = np.random.default_rng(0).integers(0, 99, 40).astype(np.int32)
    out = run_ok(source, launch("k", 1, 40, "x", "o"), buffers={"x": x, "o": np.zeros(40)})["o"]
    t = np.arange(40)
    np.testing.assert_array_equal(out, ((15 + t) & 255) - 3 * t + 2 + 0.25 * t)


def test_a_module_variable_that_holds_an_address() -> None:
    before = (
        ".global .align 4 .u32 cell = 42;\n.global .align 8 .u64 pointer[2] = {generic(cell), 0};\n"
        ".global .align 4 .f32 number = 0f40490FDB;\n.weak .global .align 8 .f64 wide[2] = {1.5, 2.5};\n"
        ".section .debug_str { .b8 1, 2 }\n"
    )
    got = _run("""
  ld.global.u64 %rd5, [pointer]; ld.u32 %r3, [%rd5]; ld.global.f64 %fd1, [wide+8]; cvt.rzi.u32.f64 %r4, %fd1;
  ld.global.f32 %f1, [number]; cvt.rzi.u32.f32 %r5, %f1;
  add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; st.global.u32 [%rd4], %r3; ret;""", before=before)  # fmt: skip  # noqa: E501
    assert (got == 42 + 2 + 3).all()


@pytest.mark.parametrize(
    "instruction",
    [
        "prmt.b32.f4e %r3, %r1, %r1, %r1",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r1}, {%f1}",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r3, %r3}, {%r1}, %r1, {%r1, %r1}",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r3}, [%rd4]",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd4], %f1",
        "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%f1}, {%r1}, {%r1}, {%f1}",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f1, %f1, %f1}, %rd5, %rd5, 1, 1, 1, 0, 0",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3}, [%r1]",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r3, [%r1]",
        "red.global.add.v4.f32 [%rd4], %f1",
        "atom.global.add.f32 %f1, [%rd4], {%f1, %f1}",
        "createpolicy.frob.L2::evict_last.b64 %rd5",
        "cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f1",
        "red.global.frob.u32 [%rd4], 1",
        "ld.global.b128 %rd5, [%rd4]",
        "shfl.down.b32 %r3, %r1, 1, 31",
        "setp.foo.s32 %p1, %r1, %r1",
        "mov.u32 %r3, unknown_variable",
        "add.s32 %zz1, %r1, %r1",
        "@%p1 bar.sync 0",
        "@%p1 trap",
        "cp.async.bulk.shared.global [%r1], [%rd4], 16, [%rd5]",
        "bra NOWHERE",
        "cvta.shared.u32 %r3, %r1",
        "lop3.b32 %r3, %r1, %r1, %r1, %r1",
        "redux.sync.add.f32 %f1, %f1, -1",
        "ld.frob.q99 %r1, [%rd4]",
    ],
)
def test_what_is_not_known_is_unsupported_and_quoted(instruction: str) -> None:
    fault = run(
        _ptx(f"{instruction};\n ret;"), launch("k", 1, 32, "o", 0), buffers={"o": np.zeros(32, F32)}
    ).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "not supported" in fault.message


@pytest.mark.parametrize(
    "text", [".global .frob x;", ".visible .entry k( {", ".visible .entry k() { 12ab; }"]
)
def test_unreadable_ptx_raises_a_syntax_error(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        parse_module(HEADER + text)


def test_lines_come_from_the_candidate_even_when_code_was_inlined() -> None:
    body = """
  .loc 1 7 3
  mov.u32 %r3, 1;
  .loc 2 55 1, function_name $L__info_string0, inlined_at 1 9 4
  mov.u32 %r4, 1;
  .loc 1 0 1
  st.global.u32 [%rd4+4096], %r3;
  ret;"""
    fault = run(_ptx(body), launch("k", 1, 32, "o", 0), buffers={"o": np.zeros(32, F32)}).fault
    assert fault is not None
    assert fault.source_line == 9


def test_a_thousand_blocks_that_part_keep_their_own_registers() -> None:
    source = """extern "C" __global__ void k(const int* x, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i, w = x[i];
  if (w == 3) { for (int j = 0; j < 5; j++) { v = v * 3 + w; if (v % 11 == 0) break; } }
  else if (w == 4) { v = -v; }
  __syncthreads();
  if (blockIdx.x % 3 == 0) { v += 7; __syncthreads(); v ^= w; }
  o[i] = v + __syncthreads_count(w == 3);
}"""
    x = np.random.default_rng(2).integers(0, 40, 64_000).astype(np.int32)
    out = run_ok(
        source, launch("k", 1000, 64, "x", "o", 64_000), buffers={"x": x, "o": np.zeros(64_000, np.int32)}
    )["o"]
    expected = np.arange(64_000, dtype=np.int64)
    for i in np.flatnonzero(x == 3):
        v = int(expected[i])
        for _ in range(5):
            v = (v * 3 + 3 + 2**31) % 2**32 - 2**31
            if int(np.fmod(v, 11)) == 0:
                break
        expected[i] = v
    expected[x == 4] *= -1
    third = np.arange(64_000) // 64 % 3 == 0
    expected[third] = (expected[third] + 7).astype(np.int32) ^ x[third]
    counts = np.repeat((x == 3).reshape(1000, 64).sum(1), 64)
    np.testing.assert_array_equal(out, (expected + counts).astype(np.int32))


def test_labels_of_different_scopes_may_share_a_name() -> None:
    loop = "{.reg .pred p; AGAIN: add.u32 %0, %0, %1; setp.lt.u32 p, %0, %2; @p bra AGAIN; bra DONE; DONE: }"
    source = f"""extern "C" __global__ void k(unsigned* o) {{
  unsigned v = threadIdx.x;
  asm volatile("{loop}" : "+r"(v) : "r"(3), "r"(50));
  asm volatile("{loop}" : "+r"(v) : "r"(7), "r"(90));
  o[threadIdx.x] = v;
}}"""
    out = run_ok(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, np.uint32)})["o"]

    def climb(v: int, step: int, limit: int) -> int:
        v += step
        while v < limit:
            v += step
        return v

    np.testing.assert_array_equal(out, [climb(climb(t, 3, 50), 7, 90) for t in range(32)])


@pytest.mark.parametrize(
    ("assembly", "value"),
    [
        (".reg .f32 %%z<3>; mov.f32 %%z1, 2.0; {.reg .f32 %%z<3>; mov.f32 %%z1, 5.0;} mov.f32 %0, %%z1;", 2),
        (".reg .f32 %%z<3>; mov.f32 %%z2, 2.0; {.reg .f32 %%z<2>; mov.f32 %%z2, 5.0;} mov.f32 %0, %%z2;", 5),
        ("{.reg .f32 %%z<3>; mov.f32 %%z1, 2.0; {.reg .f32 %%z1; mov.f32 %%z1, 5.0;} mov.f32 %0, %%z1;}", 2),
        ("{.reg .f32 %%z1; mov.f32 %%z1, 2.0; {.reg .f32 %%z<3>; mov.f32 %%z1, 5.0;} mov.f32 %0, %%z1;}", 2),
        ("{.reg .f32 %%z1<3>; mov.f32 %%z12, 2.0; {.reg .f64 %%z<3>; mov.f32 %0, %%z12;}}", 2),
        ("{.reg .f32 a; mov.f32 a, 2.0; {.reg .f32 a; mov.f32 a, 5.0;} {mov.f32 %0, a;}}", 2),
    ],
)
def test_registers_are_known_within_their_braces(assembly: str, value: float) -> None:
    source = f"""extern "C" __global__ void k(float* o) {{
  float v;
  asm volatile("{assembly}" : "=f"(v));
  o[threadIdx.x] = v;
}}"""
    out = run_ok(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, np.float32)})["o"]
    np.testing.assert_array_equal(out, np.full(32, value, np.float32))


def test_registers_of_inner_braces_leave_those_of_the_compiler_alone() -> None:
    own = " ".join(f"mov.f32 %%f{at}, 0f7fffffff; mov.b32 %%r{at}, -1;" for at in range(1, 30))
    source = f"""extern "C" __global__ void k(const float* x, float* o, int n) {{
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += x[i * 32 + threadIdx.x];
  asm volatile("{{.reg .f32 %%f<30>; .reg .b32 %%r<30>; {own}}}" ::: "memory");
  o[threadIdx.x] = sum;
}}"""
    x = np.arange(96, dtype=np.float32)
    out = run_ok(source, launch("k", 1, 32, "x", "o", 3), buffers={"x": x, "o": np.zeros(32, np.float32)})[
        "o"
    ]
    np.testing.assert_array_equal(out, x.reshape(3, 32).sum(0))
