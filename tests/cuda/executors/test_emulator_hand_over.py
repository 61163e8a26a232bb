"""To find what another block wrote takes as long as to wait for it, whatever runs first here."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from emulator_support import launch, run

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.time_model import modelled_time_us

BLOCKS, THREADS = 64, 128
EXECUTION = import_module("coding_framework.cuda.executors.emulator.execute")
N = BLOCKS * THREADS

# Each block adds what the one before it found to its own sum; who finds nothing adds up everything.
CHAIN = """
extern "C" __global__ void k(const int* x, int* y, volatile int* before, int n) {
  __shared__ int sum, found;
  int b = blockIdx.x, t = threadIdx.x;
  if (t == 0) {
    int value = LINKED && b ? before[2 * b - 2] : 0, check = LINKED && b ? before[2 * b - 1] : ~0;
    found = LINKED ? value == ~check : 1;
    sum = found ? value : 0;
  }
  __syncthreads();
  if (!found) for (int i = t; i < b * 128; i += 128) atomicAdd(&sum, x[i]);
  atomicAdd(&sum, x[b * 128 + t]);
  __syncthreads();
  if (t == 0) { y[b] = sum; before[2 * b] = sum; before[2 * b + 1] = ~sum; }
}"""
# All blocks but the last find a part; the last one looks for the parts, or waits for them.
MERGE = """
extern "C" __global__ void k(const int* x, int* y, volatile int* part, int n) {
  __shared__ int total;
  int b = blockIdx.x, t = threadIdx.x;
  if (b < gridDim.x - 1) {
    int sum = 0;
    for (int i = b * 512 + t; i < n; i += 512 * (gridDim.x - 1)) {
      for (int k = 0; k < 512; k += 128) sum += x[i + k];
    }
    for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0) { part[2 * (b * 4 + t / 32)] = sum; part[2 * (b * 4 + t / 32) + 1] = ~sum; }
    return;
  }
  if (t == 0) total = 0;
  __syncthreads();
  for (int i = t; i < 4 * (gridDim.x - 1); i += 128) {
    int sum = part[2 * i];
    if (WAITS) while (sum != ~part[2 * i + 1]) sum = part[2 * i];
    atomicAdd(&total, sum);
  }
  __syncthreads();
  if (t == 0) y[0] = total;
}"""
TICKETS = """
extern "C" __global__ void k(const int* x, int* y, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  #pragma unroll 1
  for (int k = 0; k < 64; k++) sum += x[(i + k) % n];
  int ticket = atomicAdd(count, 1);
  #pragma unroll 1
  for (int k = 0; k < 64; k++) sum += x[(i + k * 3) % n];
  y[i % 64] = sum + USED * ticket;
}"""


def counts(source: str, blocks: int, scratch_size: int, times: int = 1) -> LaunchCounters:
    """The counters of the last of some launches over `N` ones."""
    buffers = {
        "x": np.ones(N, np.int32),
        "y": np.zeros(64, np.int32),
        "scratch": np.full(scratch_size, 0x55555555, np.int32),
    }
    launches = [launch("k", blocks, THREADS, "x", "y", "scratch", N)] * times
    outcome = run(source, *launches, buffers=buffers, detect_races=False)
    assert outcome.fault is None, outcome.fault
    return outcome.counters[-1]


def test_blocks_that_find_what_the_one_before_left_take_as_long_as_all_of_them_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EXECUTION, "CHUNK_LANES", THREADS)  # one block after the other, so that all find it
    apart = counts(CHAIN.replace("LINKED", "0"), BLOCKS, 2 * BLOCKS)
    linked = counts(CHAIN.replace("LINKED", "1"), BLOCKS, 2 * BLOCKS)

    assert linked.path_clocks < 1.5 * apart.path_clocks, "each block by itself has as little to do"
    assert linked.chain_clocks > 0.9 * BLOCKS * apart.path_clocks
    assert modelled_time_us(linked, None).latency_us > 10 * modelled_time_us(apart, None).latency_us


def test_looking_for_parts_takes_as_long_as_waiting_for_them() -> None:
    looks = counts(MERGE.replace("WAITS", "0"), 5, 64)
    waits = counts(MERGE.replace("WAITS", "1"), 5, 64)

    assert looks.chain_clocks > 1.2 * looks.path_clocks, "the last block comes after the others"
    assert looks.chain_clocks == pytest.approx(waits.chain_clocks, rel=0.35)
    assert looks.chain_clocks <= waits.chain_clocks


@pytest.mark.parametrize("used", ["0", "1"])
def test_a_counter_that_all_blocks_share_makes_nobody_late(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXECUTION, "CHUNK_LANES", THREADS)
    counters = counts(TICKETS.replace("USED", used), BLOCKS, 1)

    assert counters.chain_clocks == pytest.approx(counters.path_clocks, rel=0.1)


def test_what_the_launch_before_wrote_is_there_from_the_beginning() -> None:
    one_block = counts(CHAIN.replace("LINKED", "1"), 1, 2)
    second = counts(CHAIN.replace("LINKED", "1"), 2, 4, times=2)

    assert second.chain_clocks < 1.5 * one_block.chain_clocks
