"""What CUDA leaves undefined within a warp: a verdict under the strict memory model, a finding without it."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run

from coding_framework.cuda.executors.base import ExecutionOutcome, FaultKind

F32 = np.float32
NO_SYNCWARP = """  s[t] = t;
  o[t] = s[t ^ 1];"""
OVERWRITTEN = """  s[t] = t;
  __syncwarp();
  float v = s[0];
  if (t == 31) s[0] = v + 1;
  o[t] = v;"""
VOLATILE = """  volatile float* w = s;
  w[t] = t;
  if (t < 16) w[t] += w[t + 16];
  o[t] = 0;"""
HALF_WAITS = """  s[t] = t;
  if (t < 16) { __syncwarp(0xffff); o[t] = s[t + 16]; }"""
HALVES_WAIT = """  s[t] = t;
  __syncwarp(t < 16 ? 0xffff : 0xffff0000);
  o[t] = s[(t + 16) % 32];"""
ATOMIC = """  if (t == 0) s[0] = 0;
  __syncwarp();
  atomicAdd(&s[0], 1.f);
  o[t] = s[0];"""
OUTSIDE = "  o[t] = __shfl_xor_sync(0xffff, t, 1);"
OUTSIDE_BY_REGISTER = "  o[t] = __ballot_sync((unsigned)(long long)o | 1 << 30, t) & ~(1u << 31);"
DISAGREE = "  o[t] = __shfl_sync(1 | 1 << t, t, 0);"
WAITS_OUTSIDE = "  __syncwarp(0xfffe); o[t] = 1;"
RACES = [NO_SYNCWARP, OVERWRITTEN, VOLATILE, HALF_WAITS, HALVES_WAIT, ATOMIC]
WRONG_MASKS = [OUTSIDE, OUTSIDE_BY_REGISTER, DISAGREE, WAITS_OUTSIDE]


def _run(body: str, *, strict: bool, blocks: int = 3) -> ExecutionOutcome:
    source = (
        'extern "C" __global__ void k(float* o) {\n'
        "  __shared__ float s[32];\n"
        "  int t = threadIdx.x;\n  o += 32 * blockIdx.x;\n"
        f"{body}\n}}"
    )
    buffers = {"o": np.zeros(32 * blocks, F32)}
    return run(source, launch("k", blocks, 32, "o"), buffers=buffers, strict_memory_model=strict)


@pytest.mark.parametrize("body", RACES)
def test_lanes_that_exchange_without_waiting_race(body: str) -> None:
    fault = _run(body, strict=True).fault
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE
    assert "__syncwarp()" in fault.message


@pytest.mark.parametrize("body", WRONG_MASKS)
def test_a_mask_that_names_other_lanes_is_undefined(body: str) -> None:
    fault = _run(body, strict=True).fault
    assert fault is not None
    assert fault.kind is FaultKind.UNDEFINED
    assert (fault.source_line, "mask" in fault.message) == (5, True)


@pytest.mark.parametrize("body", RACES + WRONG_MASKS)
def test_without_the_strict_model_the_same_is_a_finding(body: str) -> None:
    strict, found = _run(body, strict=True), _run(body, strict=False)
    assert found.fault is None
    assert strict.fault is not None
    assert strict.fault.kind in {noted.kind for noted in found.noted}


def test_a_shuffle_from_a_lane_that_takes_no_part_is_a_finding_without_the_strict_model() -> None:
    body = "  if (t < 8) o[t] = __shfl_down_sync(__activemask(), t, 4);"
    found = _run(body, strict=False)
    assert [noted.source_line for noted in found.noted] == [5]
    np.testing.assert_array_equal(found.buffers["o"][:8], [4, 5, 6, 7, 4, 5, 6, 7])
    strict = _run(body, strict=True)
    assert (strict.fault, strict.noted, strict.idle_sources) == (None, (), (5,))


def test_a_race_between_warps_is_a_verdict_in_any_case() -> None:
    source = """extern "C" __global__ void k(float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  o[threadIdx.x] = s[63 - threadIdx.x];
}"""
    found = run(source, launch("k", 1, 64, "o"), buffers={"o": np.zeros(64, F32)}, strict_memory_model=False)
    assert found.fault is not None
    assert found.fault.kind is FaultKind.DATA_RACE


@pytest.mark.parametrize(
    "body",
    [
        "  s[t] = t;\n  __syncwarp();\n  o[t] = s[31 - t];",
        "  s[t] = t;\n  __syncwarp(0xffffu << (t & 16));\n  o[t] = s[t ^ 15];",
        "  s[t] = t;\n  __syncthreads();\n  o[t] = s[31 - t];",
        "  if (t >= 20) return;\n  s[t] = t;\n  __syncwarp();\n  o[t] = s[19 - t];",
        "  s[t] = t;\n  s[t] += 1;\n  o[t] = s[t];",
        "  s[0] = 5;\n  o[t] = 1;",
        "  if (t < 8) { s[t] = t; __syncwarp(255); s[t ^ 1] = t; __syncwarp(__activemask()); o[t] = s[0]; }",
        "  unsigned a = __ballot_sync(~0u, t < 4), b = __ballot_sync(~0u, t >= 4);\n"
        "  s[t] = t;\n  __syncwarp(t < 4 ? a : b);\n  o[t] = t < 4 ? s[3 - t] : s[35 - t];",
        "  s[t] = t;\n  __syncwarp(3u << (t & ~1));\n  float v = s[t ^ 1];\n"
        "  __syncwarp(3u << (t & ~1));\n  s[t] = v;\n  __syncwarp(15u << (t & ~3));\n  o[t] = s[t ^ 2];",
    ],
)
def test_lanes_that_wait_for_each_other_do_not_race(body: str) -> None:
    assert _run(body, strict=True).fault is None


def test_votes_and_reductions_of_two_halves_that_run_together_stay_apart() -> None:
    body = (
        "  unsigned m = 0xffffu << (t & 16);\n  o[t] = __any_sync(m, t == 3) * 100 + __reduce_max_sync(m, t);"
    )
    found = _run(body, strict=True)
    assert found.fault is None
    np.testing.assert_array_equal(found.buffers["o"][:32], [115] * 16 + [31] * 16)


def test_threads_that_ended_count_as_arrived_and_that_is_said() -> None:
    found = _run("  if (t >= 20) return;\n  __syncthreads();\n  o[t] = 1;", strict=True)
    assert found.fault is None
    assert [noted.source_line for noted in found.noted] == [6]
    assert "had ended" in found.noted[0].message
    assert _run("  __syncthreads();\n  o[t] = 1;", strict=True).noted == ()
