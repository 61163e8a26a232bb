"""Data races are found by bookkeeping, whether or not the answer happens to be right."""

from __future__ import annotations

import re

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run

from coding_framework.cuda.executors.base import ExecutionFault, FaultKind

F32 = np.float32


def _run(source: str, *launches: object, **buffers: np.ndarray) -> ExecutionFault | None:
    return run(source, *launches, buffers=buffers).fault  # type: ignore[arg-type]


def _race(source: str, *launches: object, **buffers: np.ndarray) -> ExecutionFault:
    fault = _run(source, *launches, **buffers)
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE, fault
    return fault


REVERSE = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  BARRIER
  o[t] = s[127 - t];
}"""


def test_a_missing_barrier_is_a_race_although_the_answer_is_right() -> None:
    x = np.arange(128, dtype=F32)
    without = REVERSE.replace("BARRIER", "")
    fault = _race(without, launch("k", 3, 128, "x", "o"), x=x, o=np.zeros(128, F32))
    assert (fault.other_line, fault.source_line) == (4, 6)
    assert "line 4" in fault.message
    assert "line 6" in fault.message
    assert "thread (127,0,0) writes" in fault.message
    assert "__syncthreads()" in fault.message
    quiet = run(
        without, launch("k", 3, 128, "x", "o"), buffers={"x": x, "o": np.zeros(128, F32)}, detect_races=False
    )
    assert quiet.fault is None
    np.testing.assert_array_equal(quiet.buffers["o"], x[::-1])


@pytest.mark.parametrize(("memory", "of"), [("__shared__ float s[128];", 6), ("float* s = o + 128;", 4)])
@pytest.mark.parametrize("line", [1 << 25, (1 << 32) - 1])
def test_no_line_is_so_large_that_it_hides_a_race(memory: str, of: int, line: int) -> None:
    source = REVERSE.replace("BARRIER", "").replace("__shared__ float s[128];", memory)
    ptx, count = re.subn(rf"(\.loc\s+\d+) {of} ", rf"\1 {line} ", compile_ptx(source))
    assert count
    _race(ptx, launch("k", 1, 128, "x", "o"), x=np.zeros(128, F32), o=np.zeros(256, F32))


def test_the_version_with_the_barrier_is_no_race() -> None:
    with_barrier = REVERSE.replace("BARRIER", "__syncthreads();")
    assert (
        _run(with_barrier, launch("k", 3, 128, "x", "o"), x=np.zeros(128, F32), o=np.zeros(128, F32)) is None
    )


def test_one_warp_needs_no_block_barrier() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[64];
  int t = threadIdx.x, w = t / 32 * 32;
  s[t] = x[t];
  __syncwarp();
  o[t] = s[w + 31 - t % 32];
}"""
    assert _run(source, launch("k", 1, 64, "x", "o"), x=np.zeros(64, F32), o=np.zeros(64, F32)) is None


def test_a_tree_reduction_without_the_inner_barrier() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
  }
  __syncthreads();
  if (t == 0) o[0] = s[0];
}"""
    fault = _race(source, launch("k", 1, 256, "x", "o"), x=np.ones(256, F32), o=np.zeros(1, F32))
    assert (fault.source_line, fault.other_line) == (7, 7)


def test_reading_before_others_overwrite_is_a_race() -> None:
    source = """extern "C" __global__ void k(float* o, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  for (int i = 0; i < n; i++) {
    float v = s[(t + 32) % 64];
    s[t] = v + 1;
    __syncthreads();
  }
  o[t] = s[t];
}"""
    fault = _race(source, launch("k", 1, 64, "o", 3), o=np.zeros(64, F32))
    assert {fault.source_line, fault.other_line} == {7, 8}
    assert "reads" in fault.message


def test_warps_that_write_the_same_value_do_not_race_but_different_values_do() -> None:
    source = """extern "C" __global__ void k(int* o, int n) {
  __shared__ int s[1];
  s[0] = threadIdx.x / 32 * n;
  __syncthreads();
  o[threadIdx.x] = s[0];
}"""
    assert _run(source, launch("k", 1, 64, "o", 0), o=np.zeros(64, np.int32)) is None
    fault = _race(source, launch("k", 1, 64, "o", 1), o=np.zeros(64, np.int32))
    assert "different value" in fault.message


def test_two_lanes_of_a_warp_that_store_different_values_race() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s[16];
  s[threadIdx.x % 16] = threadIdx.x;
  __syncwarp();
  o[threadIdx.x] = s[threadIdx.x % 16];
}"""
    fault = _race(source, launch("k", 1, 32, "o"), o=np.zeros(32, np.int32))
    assert "one thread" in fault.message


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  BARRIER
  atomicAdd(&s, 1);
  __syncthreads();
  o[threadIdx.x] = s;
}"""
    assert (
        _run(source.replace("BARRIER", "__syncthreads();"), launch("k", 1, 64, "o"), o=np.zeros(64, np.int32))
        is None
    )
    fault = _race(source.replace("BARRIER", ""), launch("k", 1, 64, "o"), o=np.zeros(64, np.int32))
    assert {fault.source_line, fault.other_line} == {3, 5}
    late = source.replace("BARRIER", "__syncthreads();").replace("  __syncthreads();\n  o", "  o")
    _race(late, launch("k", 1, 64, "o"), o=np.zeros(64, np.int32))


@pytest.mark.parametrize("warp", [0, 1, 2])
def test_an_atomic_races_with_every_reader_not_only_the_last(warp: int) -> None:
    source = f"""extern "C" __global__ void k(int* o) {{
  __shared__ int s;
  s = 0;
  __syncthreads();
  o[threadIdx.x] = s;
  BARRIER
  if (threadIdx.x / 32 == {warp}) atomicAdd(&s, 1);
}}"""
    fault = _race(source.replace("BARRIER", ""), launch("k", 1, 96, "o"), o=np.zeros(96, np.int32))
    assert {fault.source_line, fault.other_line} == {5, 7}
    with_barrier = source.replace("BARRIER", "__syncthreads();")
    assert _run(with_barrier, launch("k", 1, 96, "o"), o=np.zeros(96, np.int32)) is None


def test_bytes_of_one_word_are_different_places() -> None:
    source = """extern "C" __global__ void k(unsigned char* o) {
  __shared__ unsigned char s[128];
  int place = threadIdx.x % 32 * 4 + threadIdx.x / 32;
  s[place] = threadIdx.x;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}"""
    assert _run(source, launch("k", 2, 128, "o"), o=np.zeros(128, np.uint8)) is None


def test_wide_accesses_cover_all_their_words() -> None:
    source = """extern "C" __global__ void k(const float4* x, float* o) {
  __shared__ float s[256];
  ((float4*)s)[threadIdx.x] = x[threadIdx.x];
  BARRIER
  o[threadIdx.x] = s[(threadIdx.x * 4 + 131) % 256];
}"""
    buffers = {"x": np.ones(256, F32), "o": np.zeros(64, F32)}
    _race(source.replace("BARRIER", ""), launch("k", 1, 64, "x", "o"), **buffers)
    assert (
        _run(source.replace("BARRIER", "__syncthreads();"), launch("k", 1, 64, "x", "o"), **buffers) is None
    )


def test_blocks_that_take_different_paths_are_told_apart() -> None:
    source = """extern "C" __global__ void k(int* o) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (blockIdx.x != 1) __syncthreads();
  o[blockIdx.x * 64 + t] = s[63 - t];
}"""
    fault = _race(source, launch("k", 3, 64, "o"), o=np.zeros(192, np.int32))
    assert (fault.other_line, fault.source_line) == (4, 6)
    safe = source.replace("s[63 - t]", "(blockIdx.x == 1 ? s[t] : s[63 - t])")
    assert _run(safe, launch("k", 3, 64, "o"), o=np.zeros(192, np.int32)) is None


def test_two_blocks_that_store_different_values_to_one_element_race() -> None:
    source = """extern "C" __global__ void k(int* o, int n) {
  o[threadIdx.x] = blockIdx.x * n;
}"""
    assert _run(source, launch("k", 4, 64, "o", 0), o=np.zeros(64, np.int32)) is None
    fault = _race(source, launch("k", 4, 64, "o", 1), o=np.zeros(64, np.int32))
    assert fault.source_line == 2
    assert "`o`" in fault.message


def test_a_plain_increment_of_one_counter_is_a_race() -> None:
    source = """extern "C" __global__ void k(int* o) {
  o[0] += 1;
}"""
    fault = _race(source, launch("k", 2, 64, "o"), o=np.zeros(1, np.int32))
    assert fault.source_line == 2


def test_an_in_place_stencil_races_between_blocks() -> None:
    source = """extern "C" __global__ void k(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1)
    x[i] = 0.5f * (x[i - 1] + x[i + 1]);
}"""
    fault = _race(source, launch("k", 4, 64, "x", 256), x=np.ones(256, F32) * np.arange(256, dtype=F32) ** 2)
    assert fault.source_line == 4


def test_in_place_updates_of_own_elements_are_no_race() -> None:
    source = """extern "C" __global__ void k(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] = x[i] * 2; x[i] += 1; }
}"""
    assert _run(source, launch("k", 4, 64, "x", 250), x=np.ones(250, F32)) is None


def test_global_memory_between_warps_of_a_block_needs_a_barrier() -> None:
    source = """extern "C" __global__ void k(float* x, float* o) {
  int t = threadIdx.x;
  x[t] = t;
  BARRIER
  o[t] = x[63 - t];
}"""
    buffers = {"x": np.zeros(64, F32), "o": np.zeros(64, F32)}
    fault = _race(source.replace("BARRIER", ""), launch("k", 1, 64, "x", "o"), **buffers)
    assert {fault.source_line, fault.other_line} == {3, 5}
    assert (
        _run(source.replace("BARRIER", "__syncthreads();"), launch("k", 1, 64, "x", "o"), **buffers) is None
    )


OVERWRITTEN = """extern "C" __global__ void k(float* x, float* o) {
  int t = threadIdx.x, warp = t / 32;
  float v = 0;
  READS
  BARRIER
  if (warp == WRITER) x[t % 32] = v + 1;
  o[t] = v;
}"""


@pytest.mark.parametrize("writer", [0, 1, 2])
@pytest.mark.parametrize(
    "reads",
    [
        "v = x[t % 32];",
        "if (warp == 2) v = x[t % 32]; if (warp == 0) v = x[t % 32];",
        "if (warp == 0) v = x[t % 32]; if (warp == 1) v = x[t % 32]; if (warp == 0) v += x[t % 32];",
        "if (warp == 1) v = x[t % 32]; if (warp == 2) v = x[t % 32]; if (warp == 2) v += x[t % 32];",
    ],
)
@pytest.mark.parametrize("barrier", ["__syncthreads();", 'asm volatile("bar.sync 1, 96;" ::: "memory");'])
def test_who_overwrites_device_memory_has_met_all_its_readers(reads: str, writer: int, barrier: str) -> None:
    source = OVERWRITTEN.replace("READS", reads).replace("WRITER", str(writer))
    buffers = {"x": np.zeros(32, F32), "o": np.zeros(96, F32)}
    fault = _race(source.replace("BARRIER", ""), launch("k", 1, 96, "x", "o"), **buffers)
    assert {fault.source_line, fault.other_line} == {4, 6}
    assert _run(source.replace("BARRIER", barrier), launch("k", 1, 96, "x", "o"), **buffers) is None


def test_the_last_block_may_read_what_others_published_behind_a_fence() -> None:
    source = """__device__ unsigned int done;
extern "C" __global__ void k(const float* x, float* part, float* o) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicAdd(&done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < gridDim.x; i++) s += part[i];
    o[0] = s;
  }
}"""
    x = np.arange(8, dtype=F32)
    outcome = run(
        source,
        launch("k", 8, 64, "x", "p", "o"),
        buffers={"x": x, "p": np.zeros(8, F32), "o": np.zeros(1, F32)},
    )
    assert outcome.fault is None
    assert outcome.buffers["o"][0] == 28


@pytest.mark.parametrize("blocks", [1, 4])
def test_uninitialised_shared_memory_does_not_read_as_zero(blocks: int) -> None:
    source = """extern "C" __global__ void k(float* o) {
  __shared__ float s[32];
  if (o[0] == 5.0f) s[threadIdx.x] = 1.0f;
  o[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}"""
    outcome = run(
        source, launch("k", blocks, 32, "o"), buffers={"o": np.zeros(32 * blocks, F32)}, detect_races=False
    )
    assert np.isnan(outcome.buffers["o"]).all()


@pytest.mark.parametrize("made", ["mov.b32 %0, a;", "sub.s32 %0, a, b;", "selp.b32 %0, 1, 0, p;"])
def test_a_register_that_was_never_written_is_not_the_same_in_every_run(made: str) -> None:
    source = f"""extern "C" __global__ void k(int* o) {{
  int v;
  asm volatile("{{.reg .b32 a, b; .reg .pred p; {made}}}" : "=r"(v));
  o[threadIdx.x] = v;
}}"""
    found = set()
    for poison in range(0x7FD50001, 0x7FD50041, 9):
        outcome = run(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, np.int32)}, poison=poison)
        found.add(int(outcome.buffers["o"][0]))
    assert len(found) > 1


def test_a_pointer_that_went_through_memory_is_followed() -> None:
    source = """extern "C" __global__ void k(const float* x, float* part, float* o) {
  __shared__ float* kept[1];
  if (threadIdx.x == 0) kept[0] = part;
  __syncthreads();
  if (threadIdx.x == 0) kept[0][blockIdx.x] = x[blockIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) o[threadIdx.x] = kept[0][threadIdx.x];
}"""
    buffers = {"x": np.zeros(32, F32), "p": np.zeros(32, F32), "o": np.zeros(32, F32)}
    fault = _race(source, launch("k", 32, 32, "x", "p", "o"), **buffers)
    assert {fault.source_line, fault.other_line} == {5, 7}
    own = source.replace("if (blockIdx.x == 0) o[threadIdx.x] = kept[0][threadIdx.x];", "")
    assert _run(own, launch("k", 32, 32, "x", "p", "o"), **buffers) is None


def test_a_generic_volatile_pointer_to_shared_memory_needs_barriers() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o, int n) {
  __shared__ float own[64];
  volatile float* s = n < 0 ? o : own;
  s[threadIdx.x] = x[threadIdx.x];
  BARRIER
  o[threadIdx.x] = s[63 - threadIdx.x];
}"""
    buffers = {"x": np.zeros(64, F32), "o": np.zeros(64, F32)}
    fault = _race(source.replace("BARRIER", ""), launch("k", 1, 64, "x", "o", 1), **buffers)
    assert {fault.source_line, fault.other_line} == {4, 6}
    good = source.replace("BARRIER", "__syncthreads();")
    assert _run(good, launch("k", 1, 64, "x", "o", 1), **buffers) is None


MIRRORED = """extern "C" __global__ void k(const float* x, float* o) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  BARRIER
  o[t] = s[FROM];
}"""


@pytest.mark.parametrize(
    ("barrier", "source_thread", "races"),
    [
        ('asm volatile("bar.sync %0, 32;" :: "r"(1 + t / 32) : "memory");', "127 - t", True),
        ('asm volatile("bar.sync %0, 32;" :: "r"(1 + t / 32) : "memory");', "t ^ 31", False),
        ('asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");', "127 - t", True),
        ('asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");', "t ^ 63", False),
        ('asm volatile("bar.sync 1, 128;" ::: "memory");', "127 - t", False),
        ('if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");', "t ^ 63", True),
        (
            'asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory"); __syncthreads();',
            "127 - t",
            False,
        ),
    ],
)
def test_a_barrier_with_a_count_orders_those_who_pass_it(
    barrier: str, source_thread: str, races: bool
) -> None:
    source = MIRRORED.replace("BARRIER", barrier).replace("FROM", source_thread)
    fault = _run(source, launch("k", 3, 128, "x", "o"), x=np.zeros(128, F32), o=np.zeros(128, F32))
    assert (fault is not None and fault.kind is FaultKind.DATA_RACE) is races, fault


def test_device_memory_is_ordered_by_those_barriers_too() -> None:
    source = """extern "C" __global__ void k(float* o, float* y) {
  int t = threadIdx.x;
  o[t] = t;
  asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");
  y[t] = o[FROM];
}"""
    buffers = {"o": np.zeros(128, F32), "y": np.zeros(128, F32)}
    assert _run(source.replace("FROM", "t ^ 63"), launch("k", 1, 128, "o", "y"), **buffers) is None
    _race(source.replace("FROM", "127 - t"), launch("k", 1, 128, "o", "y"), **buffers)


HANDED_ON = """extern "C" __global__ void k(const float* x, float* o, int tiles) {
  __shared__ float buf[2][64];
  int t = threadIdx.x;
  if (t >= 64) {
    for (int i = 0; i < tiles; i++) {
      int b = i & 1;
      if (i >= 2) { WAIT_UNTIL_READ }
      buf[b][t - 64] = x[i * 64 + t - 64];
      asm volatile("bar.arrive %0, 128;" :: "r"(1 + b) : "memory");
    }
  } else {
    float s = 0;
    for (int i = 0; i < tiles; i++) {
      int b = i & 1;
      WAIT_UNTIL_WRITTEN
      for (int j = 0; j < 64; j++) s += buf[b][j];
      if (i + 2 < tiles) asm volatile("bar.arrive %0, 128;" :: "r"(3 + b) : "memory");
    }
    o[t] = s;
  }
}"""
UNTIL_READ = 'asm volatile("bar.sync %0, 128;" :: "r"(3 + b) : "memory");'
UNTIL_WRITTEN = 'asm volatile("bar.sync %0, 128;" :: "r"(1 + b) : "memory");'


def test_producers_and_consumers_may_meet_at_barriers_of_their_own() -> None:
    x = np.arange(5 * 64, dtype=F32)
    source = HANDED_ON.replace("WAIT_UNTIL_READ", UNTIL_READ).replace("WAIT_UNTIL_WRITTEN", UNTIL_WRITTEN)
    outcome = run(source, launch("k", 2, 128, "x", "o", 5), buffers={"x": x, "o": np.zeros(64, F32)})
    assert outcome.fault is None, outcome.fault
    assert (outcome.buffers["o"] == x.sum()).all()


@pytest.mark.parametrize(
    ("until_read", "until_written"),
    [("", UNTIL_WRITTEN), (UNTIL_READ, ""), (UNTIL_READ, UNTIL_WRITTEN.replace("1 + b", "2 - b"))],
    ids=["nobody waits for readers", "nobody waits for writers", "the other buffer's barrier"],
)
def test_a_producer_and_consumers_who_do_not_meet_race(until_read: str, until_written: str) -> None:
    source = HANDED_ON.replace("WAIT_UNTIL_READ", until_read).replace("WAIT_UNTIL_WRITTEN", until_written)
    fault = _run(source, launch("k", 2, 128, "x", "o", 5), x=np.zeros(320, F32), o=np.zeros(64, F32))
    assert fault is not None
    assert fault.kind is FaultKind.DATA_RACE, fault


def test_every_reader_counts_not_only_the_last() -> None:
    source = """extern "C" __global__ void k(float* o) {
  __shared__ float s;
  int t = threadIdx.x;
  if (t == 0) s = 1;
  __syncthreads();
  o[t] = s;
  asm volatile("bar.sync %0, 64;" :: "r"(1 + t / 64) : "memory");
  if (t == 127) s = 2;
}"""
    fault = _race(source, launch("k", 1, 128, "o"), o=np.zeros(128, F32))
    assert {fault.source_line, fault.other_line} == {6, 8}


def test_warps_that_come_to_different_barriers_of_the_whole_block_deadlock() -> None:
    source = """extern "C" __global__ void k(float* o) {
  asm volatile("bar.sync %0;" :: "r"(1 + threadIdx.x / 32) : "memory");
  o[threadIdx.x] = 1;
}"""
    fault = _run(source, launch("k", 1, 64, "o"), o=np.zeros(64, F32))
    assert fault is not None
    assert fault.kind is FaultKind.DEADLOCK
