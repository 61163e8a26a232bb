"""Copies by `cp.async` are there after the wait that covers them, and not before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from emulator_support import launch, run, run_ok

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.base import ExecutionFault, FaultKind
from coding_framework.cuda.executors.emulator.machine import async_copies
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Verdict

F32 = np.float32
HEAD = """#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
__device__ void copy(void* to, const void* from) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from) : "memory");
}
__device__ void copy(void* to, const void* from, unsigned bytes) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(bytes) : "memory");
}
"""
OWN = (
    'extern "C" __global__ void k(const float* x, float* o) { __shared__ float s[128]; int t = threadIdx.x; '
)


def _run(
    body: str, block: int = 128, *, detect_races: bool = True
) -> tuple[ExecutionFault | None, np.ndarray]:
    x = np.arange(512, dtype=F32)
    outcome = run(
        HEAD + OWN + body + " }",
        launch("k", 1, block, "x", "o"),
        buffers={"x": x, "o": np.zeros(512, F32)},
        detect_races=detect_races,
    )
    return outcome.fault, outcome.buffers["o"]


def _race(body: str, block: int = 128) -> ExecutionFault:
    fault, _ = _run(body, block)
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE, fault
    return fault


@pytest.mark.parametrize("wait", ["WAIT_ALL;", "COMMIT; WAIT(0);", "COMMIT; COMMIT; WAIT(1);"])
def test_a_copy_that_was_waited_for_is_there(wait: str) -> None:
    fault, out = _run(f"copy(s + t, x + t); {wait} __syncthreads(); o[t] = s[127 - t];")
    assert fault is None, fault
    np.testing.assert_array_equal(out[:128], np.arange(128)[::-1])


@pytest.mark.parametrize(
    "wait", ["", "COMMIT;", "WAIT(0);", "COMMIT; WAIT(1);", "COMMIT; if (t < 32) WAIT(0);"]
)
def test_a_copy_that_was_not_waited_for_is_a_race_and_is_not_there(wait: str) -> None:
    body = f"copy(s + t, x + t); {wait} __syncthreads();\n o[t] = s[127 - t];"
    fault = _race(body)
    assert "cp.async.wait_group" in fault.message
    assert "reads a word on line 13" in fault.message
    assert fault.other_line is not None
    _, out = _run(body, detect_races=False)
    assert not np.array_equal(out[:128], np.arange(128)[::-1])


def test_the_waiting_thread_is_the_one_that_copied() -> None:
    """The wait of one thread says nothing about the copies of another."""
    _race("if (t == 0) copy(s, x); COMMIT; if (t) WAIT(0); __syncthreads(); o[t] = s[0];")


def test_a_wait_without_a_barrier_does_not_serve_other_warps() -> None:
    fault = _race("copy(s + t, x + t); WAIT_ALL; o[t] = s[127 - t];")
    assert "put __syncthreads() between them" in fault.message


def test_a_thread_that_reads_only_its_own_copies_needs_no_barrier() -> None:
    fault, out = _run("copy(s + t, x + t); WAIT_ALL; o[t] = s[t];")
    assert fault is None, fault
    np.testing.assert_array_equal(out[:128], np.arange(128))


PIPELINE = """copy(s + t, x + t); COMMIT;
for (int i = 0; i < 4; i++) {
  if (i < 3) copy(s + (i + 1) % STAGES * 32 + t, x + (i + 1) * 32 + t);
  COMMIT; WAIT(1); __syncthreads();
  o[i * 32 + t] = s[i % STAGES * 32 + 31 - t] + 1;
  __syncthreads();
}"""


def test_the_latest_groups_may_stay_on_their_way() -> None:
    fault, out = _run(PIPELINE.replace("STAGES", "2"), 32)
    assert fault is None, fault
    np.testing.assert_array_equal(out[:128].reshape(4, 32), np.arange(128).reshape(4, 32)[:, ::-1] + 1)


def test_a_copy_into_the_stage_that_is_read_is_a_race() -> None:
    _race(PIPELINE.replace("STAGES", "1"), 32)


@pytest.mark.parametrize("access", ["s[t] = 1;", "atomicAdd(s + t, 1.0f);"])
def test_nothing_may_change_a_place_that_a_copy_is_on_its_way_to(access: str) -> None:
    fault = _race(f"copy(s + t, x + t); COMMIT; __syncthreads(); {access} WAIT(0); o[t] = s[t];")
    assert "still on its way" in fault.message


def test_what_another_warp_has_just_read_may_not_be_copied_over() -> None:
    _race("s[t] = 1; __syncthreads(); o[t] = s[127 - t]; copy(s + t, x + t); __syncthreads(); WAIT_ALL;")


def test_warps_may_copy_the_same_to_the_same_place() -> None:
    fault, out = _run("copy(s + t % 32, x + t % 32); WAIT_ALL; __syncthreads(); o[t] = s[t % 32];")
    assert fault is None, fault
    np.testing.assert_array_equal(out[:128], np.arange(128) % 32)


def test_lanes_that_part_wait_for_their_own_copies() -> None:
    body = """copy(s + t, x + t); COMMIT; int at = t;
    if (t % 3 == 0) WAIT(0); else { at += 64; copy(s + at, x + t + 128); COMMIT; WAIT(0); }
    o[t] = s[at];"""
    fault, out = _run(body, 64)
    assert fault is None, fault
    lanes = np.arange(64)
    np.testing.assert_array_equal(out[:64], np.where(lanes % 3 == 0, lanes, lanes + 128))


def test_bytes_that_are_not_read_arrive_as_zero() -> None:
    source = (
        HEAD
        + """extern "C" __global__ void k(const float4* x, float4* o, int n) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  int left = 4 * n - 16 * t;
  copy(s + t, x + t, left < 0 ? 0 : left > 16 ? 16 : left);
  WAIT_ALL;
  o[t] = s[t];
}"""
    )
    for n in (0, 1, 64, 101, 254, 256):
        x = np.arange(n, dtype=F32) + 1  # reading on would be out of bounds
        out = run_ok(source, launch("k", 1, 64, "x", "o", n), buffers={"x": x, "o": np.full(256, -1, F32)})
        np.testing.assert_array_equal(out["o"], np.concatenate([x, np.zeros(256 - n, F32)]))


def test_a_predicate_and_a_cache_hint_are_understood() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[64];
  unsigned at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
  asm volatile("{ .reg .pred p; .reg .b64 h; mov.b64 h, 0;"
    "setp.ge.u32 p, %2, 32; cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, p, h;"
    "cp.async.wait_all; }" :: "r"(at), "l"(x + threadIdx.x), "r"(threadIdx.x) : "memory");
  o[threadIdx.x] = s[threadIdx.x];
}"""
    x = np.arange(32, dtype=F32) + 1
    out = run_ok(source, launch("k", 1, 64, "x", "o"), buffers={"x": x, "o": np.full(64, -1, F32)})
    np.testing.assert_array_equal(out["o"], np.concatenate([x, np.zeros(32, F32)]))


@pytest.mark.parametrize(
    "instruction",
    [
        "cp.async.ca.shared.global [%0], [%1]",
        "cp.async.ca.shared.global [%0], [%1], 5",
        "cp.async.ca.shared.global [%0], [%1], %0",
        "cp.async.ca.shared.global [%0], [%1], 4, 4, 4",
        "cp.async.wait_group",
        "cp.async.wait_group %0",
        "cp.async.bulk.commit_group",
        "cp.async.mbarrier.arrive.b64 [%0]",
    ],
)
def test_forms_that_do_not_exist_or_are_not_known_are_said_to_be(instruction: str) -> None:
    fault, _ = _run(f'asm volatile("{instruction};" :: "r"(t), "l"(x)); o[t] = s[t];')
    assert fault is not None
    assert fault.kind is FaultKind.UNSUPPORTED, fault


def test_the_pipeline_primitives_are_carried_out() -> None:
    source = """#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(const float4* x, float4* o) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(s + t, x + t, 16, t < 32 ? 0 : 8);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[t] = s[63 - t];
}"""
    x = np.arange(256, dtype=F32).reshape(64, 4) + 1
    out = run_ok(source, launch("k", 1, 64, "x", "o"), buffers={"x": x.ravel(), "o": np.zeros(256, F32)})
    expected = x.copy()
    expected[32:, 2:] = 0
    np.testing.assert_array_equal(out["o"].reshape(64, 4), expected[::-1])


def test_copies_without_end_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_copies, "MAX_OUTSTANDING_BYTES", 1 << 16)
    fault = _race("for (int i = 0; i < 1000; i++) copy(s + t, x + t);")
    assert "far more copies" in fault.message


@pytest.fixture(scope="module")
def the_judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="emulator", run_timeout_s=20, total_timeout_s=40))
    yield made
    made.close()


WAITING = """// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ void copy_async(float* to, const float* from) {
  unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target), "l"(from) : "memory");
}
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
  __shared__ float left[256], right[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) { copy_async(left + threadIdx.x, a + i); copy_async(right + threadIdx.x, b + i); }
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  if (i < n) y[i] = left[threadIdx.x] + right[threadIdx.x];
}"""


def test_the_judge_refuses_a_kernel_that_forgets_to_wait(the_judge: Judge) -> None:
    task = get_task("vector_add")
    assert the_judge.judge(task, Candidate(source=WAITING)).verdict is Verdict.PASSED
    forgetful = WAITING.replace("wait_group 0", "wait_group 1")
    assert the_judge.judge(task, Candidate(source=forgetful)).verdict is Verdict.DATA_RACE
