"""Whoever does all the work takes as long as if nobody idled beside it."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import counters_of, launch

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.time_model import TimeEstimate, modelled_time_us

ROWS, COLUMNS = 256, 128
F32 = np.float32

IDLERS = """
__device__ void idle(int n) {
  unsigned k = n;
  for (int i = 0; i < n; i++) asm volatile("mov.u32 %0, %0; mov.u32 %0, %0;" : "+r"(k));
}
"""
ROW_SUM = (
    IDLERS
    + """
extern "C" __global__ void k(const float* x, float* y, int columns) {
  int row = blockIdx.x * 32 + threadIdx.x;
  if (threadIdx.x >= 32) { idle(columns * 2); return; }
  float total = 0;
  for (int c = 0; c < columns; c++) total += x[row * columns + c];
  y[row] = total;
}"""
)
ONE_BLOCK = (
    IDLERS
    + """
extern "C" __global__ void k(const float* x, float* y, int n) {
  if (blockIdx.x) { if (BUSY) idle(n / 32); return; }
  __shared__ float s[64 * 32];
  float total = 0;
  for (int i = threadIdx.x; i < n; i += 256) {
    s[threadIdx.x % 64 * 32] = x[i];
    total += __expf(x[i]) + s[threadIdx.x % 64 * 32];
  }
  y[threadIdx.x] = total;
}"""
)
IN_TURNS = """
extern "C" __global__ void k(const float* x, float* y, int columns) {
  __shared__ float carry[32];
  int lane = threadIdx.x % 32, turns = blockDim.x / 32, part = columns / turns;
  int row = blockIdx.x * 32 + lane;
  for (int turn = 0; turn < turns; turn++) {
    if (threadIdx.x / 32 == turn) {
      float total = turn ? carry[lane] : 0;
      for (int c = turn * part; c < (turn + 1) * part; c++) total += x[row * columns + c];
      carry[lane] = total;
      y[row] = total;
    }
    BARRIER;
  }
}"""


def _estimate(counters: LaunchCounters) -> TimeEstimate:
    return modelled_time_us(counters, None, H200)


def _rows(source: str, threads: int) -> LaunchCounters:
    buffers = {"x": np.ones(ROWS * COLUMNS, F32), "y": np.zeros(ROWS, F32)}
    return counters_of(source, launch("k", ROWS // 32, threads, "x", "y", COLUMNS), buffers)


@pytest.mark.parametrize("threads", [64, 512, 1024])
def test_warps_that_idle_do_not_make_the_one_that_works_faster(threads: int) -> None:
    alone, beside = _rows(ROW_SUM, 32), _rows(ROW_SUM, threads)
    assert beside.path_clocks >= alone.path_clocks
    assert beside.path_sectors == alone.path_sectors == COLUMNS * 32 + 4
    assert _estimate(beside).total_us >= _estimate(alone).total_us


@pytest.mark.parametrize("busy", [0, 1])
def test_blocks_that_idle_do_not_share_the_work_of_the_one_that_works(busy: int) -> None:
    source, n = ONE_BLOCK.replace("BUSY", str(busy)), 1 << 14
    buffers = {"x": np.ones(n, F32), "y": np.zeros(256, F32)}
    alone, beside = (
        counters_of(source, launch("k", blocks, 256, "x", "y", n), buffers) for blocks in (1, 132)
    )
    assert beside.largest_block.sectors == alone.largest_block.sectors == alone.global_sectors
    assert beside.largest_block.shared_passes == alone.shared_passes
    assert beside.largest_block.by_class["special"] == alone.by_class["special"]
    one, many = _estimate(alone), _estimate(beside)
    for bound in ("cache_us", "compute_us", "shared_us", "latency_us", "total_us"):
        assert getattr(many, bound) >= getattr(one, bound), bound


def test_the_largest_block_of_many_alike_is_one_of_them() -> None:
    counters = _rows(ROW_SUM, 64)
    blocks = ROWS // 32
    assert counters.largest_block.requests * blocks == counters.global_requests
    assert counters.largest_block.sectors * blocks == counters.global_sectors
    assert {k: n * blocks for k, n in counters.largest_block.by_class.items()} == counters.by_class
    moves = counters.largest_block.by_class["move"]
    assert (counters.largest_block.instructions_without_moves + moves) * blocks == counters.warp_instructions


@pytest.mark.parametrize("barrier", ["__syncthreads()", 'asm volatile("bar.sync 1, 256;" ::: "memory")'])
def test_work_that_goes_round_from_warp_to_warp_adds_up(barrier: str) -> None:
    source = IN_TURNS.replace("BARRIER", barrier)
    alone, in_turns = _rows(IN_TURNS.replace("BARRIER", "__syncthreads()"), 32), _rows(source, 256)
    assert in_turns.path_sectors == alone.path_sectors + 7 * 4
    assert in_turns.path_clocks >= alone.path_clocks
    assert _estimate(in_turns).latency_us >= _estimate(alone).latency_us


def test_who_waits_for_warps_that_only_arrive_starts_after_them() -> None:
    source = """
#define BARRIER(kind, number) asm volatile("bar." kind " " #number ", 64;" ::: "memory")
extern "C" __global__ void k(const float* x, float* y, int n) {
  int warp = threadIdx.x / 32, part = n / 3;
  float total = 0;
  if (warp == 1) BARRIER("sync", 1);
  if (warp == 2) BARRIER("sync", 2);
  for (int i = warp * part; i < (warp + 1) * part; i++) total += x[i];
  if (warp == 0) BARRIER("arrive", 1);
  if (warp == 1) BARRIER("arrive", 2);
  y[threadIdx.x] = total;
}"""
    buffers = {"x": np.ones(300, F32), "y": np.zeros(96, F32)}
    counters = counters_of(source, launch("k", 1, 96, "x", "y", 300), buffers)
    assert counters.path_sectors == 300 + 4


def test_warps_that_meet_at_a_barrier_of_their_own_do_not_wait_for_others() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* y, int n) {
  int warp = threadIdx.x / 32, rounds = warp < 2 ? n : 4;
  float total = 0;
  for (int i = 0; i < rounds; i++) total += x[i];
  if (warp < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  if (warp >= 2) for (int i = 0; i < n; i++) total += x[i];
  y[threadIdx.x] = total;
}"""
    buffers = {"x": np.ones(256, F32), "y": np.zeros(128, F32)}
    counters = counters_of(source, launch("k", 1, 128, "x", "y", 256), buffers)
    assert 256 < counters.path_sectors < 2 * 256


def test_a_lane_that_works_for_its_whole_warp_takes_as_long_as_its_warp() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* y, int n) {
  if (threadIdx.x >= LANES) return;
  float total = 0;
  for (int i = threadIdx.x; i < n; i += LANES) total += x[i];
  y[threadIdx.x] = total;
}"""
    buffers = {"x": np.ones(1024, F32), "y": np.zeros(32, F32)}
    one, whole = (
        counters_of(source.replace("LANES", lanes), launch("k", 1, 32, "x", "y", 1024), buffers)
        for lanes in ("1", "32")
    )
    assert one.path_clocks > 10 * whole.path_clocks


@pytest.mark.parametrize(("spread", "turns"), [("0", 64), ("8 * (threadIdx.x / 32 % 4)", 16)])
def test_atomics_on_one_sector_are_served_in_turn(spread: str, turns: int) -> None:
    source = f"""
extern "C" __global__ void k(int* y, int n) {{
  if (threadIdx.x % 32 < n) atomicAdd(y + {spread}, 1);
}}"""
    counters = counters_of(source, launch("k", 8, 256, "y", 16), {"y": np.zeros(64, np.int32)})
    assert counters.atomics == 64
    assert counters.hottest_sector_atomics == turns


def test_a_sector_that_every_warp_of_a_large_grid_adds_to_bounds_the_time() -> None:
    source = 'extern "C" __global__ void k(int* y, int n) { atomicAdd(y, n); }'
    counters = counters_of(source, launch("k", 1024, 1024, "y", 1), {"y": np.zeros(8, np.int32)})
    assert counters.hottest_sector_atomics == 32 * 1024
    assert _estimate(counters).cache_us >= 32 * 1024 / (H200.clock_ghz * 1e3)
