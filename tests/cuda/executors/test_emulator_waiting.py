"""Threads that wait for others come to an end if the others do; waiting by time is no waiting."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run

from coding_framework.cuda.executors.base import BlockOrder, ExecutionFault, ExecutionOutcome, FaultKind

I32 = np.int32
ORDERS = [None, *(BlockOrder(secret, way) for secret in (1, 2) for way in (False, True))]


def _run(source: str, order: BlockOrder | None, num_blocks: int = 48, threads: int = 64) -> ExecutionOutcome:
    buffers = {"state": np.zeros(2 * num_blocks + 1, I32), "o": np.zeros(num_blocks, I32)}
    the_launch = launch("k", num_blocks, threads, "state", "o")
    return run(source, the_launch, buffers=buffers, order=order, instruction_limit=200_000_000)


MERGED = """extern "C" __global__ void k(int* state, int* o) {
  volatile int* part = state + 1;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x;
    __threadfence();
    atomicAdd(state, 1);
    if (blockIdx.x == MERGER) {
      WAIT
      int s = 0;
      for (int i = 0; i < gridDim.x; i++) s += part[i];
      o[0] = s;
    }
  }
}"""
FOR_ALL = "while (*(volatile int*)state < gridDim.x) { }"
CHAIN = """extern "C" __global__ void k(int* state, int* o) {
  volatile int* sum = state, *flag = state + gridDim.x;
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b > 0) { while (flag[b - 1] == 0) { } __threadfence(); before = sum[b - 1]; }
    sum[b] = before + b;
    __threadfence();
    flag[b] = 1;
    o[b] = before;
  }
  __syncthreads();
}"""
LOCK = """extern "C" __global__ void k(int* state, int* o) {
  volatile int* total = o;
  if (threadIdx.x == 0) {
    while (atomicCAS(state, 0, 1) != 0) { }
    __threadfence();
    *total = *total + 1;
    __threadfence();
    atomicExch(state, 0);
  }
}"""
TURNS = """extern "C" __global__ void k(int* state, int* o) {
  __shared__ int seen;
  if (threadIdx.x == 0) { while (atomicAdd(state, 0) != blockIdx.x) { } __threadfence(); seen = 0; }
  ENTER;
  atomicAdd(&seen, 1);
  __syncthreads();
  if (threadIdx.x == 0) { o[blockIdx.x] = seen; __threadfence(); atomicExch(state, blockIdx.x + 1); }
}"""
HELD_UP = """extern "C" __global__ void k(int* state, int* o) {
  volatile int* flag = state;
  if (blockIdx.x == 0 && threadIdx.x == 40) { while (flag[0] == 0) { } }
  MEET;
  if (threadIdx.x == 0) flag[0] = 1;
  o[blockIdx.x] = 1;
}"""


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("merger", [0, 47])
def test_a_block_may_wait_for_all_others(merger: int, order: BlockOrder | None) -> None:
    outcome = _run(MERGED.replace("MERGER", str(merger)).replace("WAIT", FOR_ALL), order)
    assert outcome.fault is None, outcome.fault
    assert outcome.buffers["o"][0] == np.arange(48).sum()


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_every_block_may_wait_for_the_one_before(order: BlockOrder | None) -> None:
    outcome = _run(CHAIN, order)
    assert outcome.fault is None, outcome.fault
    np.testing.assert_array_equal(outcome.buffers["o"], np.cumsum(np.arange(48)) - np.arange(48))


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_blocks_may_take_a_lock_in_turn(order: BlockOrder | None) -> None:
    outcome = _run(LOCK, order)
    assert outcome.fault is None, outcome.fault
    assert outcome.buffers["o"][0] == 48


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(
    "enter",
    [
        "__syncthreads()",
        'asm volatile("bar.sync 1, 64;" ::: "memory")',
        "__syncthreads_or(threadIdx.x == 5)",
    ],
    ids=["whole block", "counted", "reduction"],
)
def test_one_whose_turn_it_is_passes_its_barriers_while_others_wait(
    enter: str, order: BlockOrder | None
) -> None:
    outcome = _run(TURNS.replace("ENTER", enter), order)
    assert outcome.fault is None, outcome.fault
    assert (outcome.buffers["o"] == 64).all()


@pytest.mark.parametrize("order", [None, BlockOrder(1, False)], ids=str)
def test_lanes_of_a_warp_meet_while_other_blocks_wait(order: BlockOrder | None) -> None:
    meeting = "if (threadIdx.x % 32 != 1) __syncwarp(~2u); __syncthreads()"
    outcome = _run(TURNS.replace("ENTER", meeting), order)
    assert outcome.fault is None, outcome.fault
    assert (outcome.buffers["o"] == 64).all()


@pytest.mark.parametrize("meet", ["__syncthreads()", 'asm volatile("bar.sync 1, 64;" ::: "memory")'])
def test_a_barrier_is_not_passed_while_a_thread_of_the_block_waits_elsewhere(meet: str) -> None:
    outcome = _run(HELD_UP.replace("MEET", meet), None, num_blocks=1)
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.TIMEOUT


def test_a_warp_does_not_meet_while_a_thread_of_it_waits_elsewhere() -> None:
    outcome = _run(HELD_UP.replace("MEET", "__syncwarp()").replace("40", "20"), None, num_blocks=1)
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.TIMEOUT


def test_other_blocks_pass_the_barrier_that_one_holds_up() -> None:
    outcome = _run(HELD_UP.replace("MEET", "__syncthreads()"), None, num_blocks=2)
    assert outcome.fault is None, outcome.fault
    np.testing.assert_array_equal(outcome.buffers["o"], 1)


def test_different_barriers_are_a_deadlock_though_another_block_has_waited() -> None:
    source = """extern "C" __global__ void k(int* state, int* o) {
  volatile int* flag = state;
  if (blockIdx.x == 0 && threadIdx.x == 0) { while (flag[0] == 0) { } }
  if (blockIdx.x == 1) {
    __syncthreads();
    if (threadIdx.x == 0) flag[0] = 1;
    if (threadIdx.x < 32) asm volatile("bar.sync 1;" ::: "memory");
    else asm volatile("bar.sync 2;" ::: "memory");
  }
  o[blockIdx.x] = 1;
}"""
    outcome = _run(source, None, num_blocks=2)
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.DEADLOCK


@pytest.mark.parametrize(
    "delay",
    [
        'for (int i = 0; i < 3000; i++) asm volatile("");',
        "long long t = clock64(); while (clock64() - t < 3000) { }",
        "for (int i = 0; i < 3000 && *(volatile int*)state < gridDim.x; i++) { }",
        "__nanosleep(1000000);",
    ],
    ids=["counts", "looks at the clock", "gives up", "sleeps"],
)
def test_waiting_by_time_is_too_early_there_or_back(delay: str) -> None:
    source = MERGED.replace("MERGER", "0").replace("WAIT", delay)
    found = [_run(source, BlockOrder(1, way)) for way in (False, True)]
    assert all(outcome.fault is None for outcome in found)
    assert any(outcome.buffers["o"][0] != np.arange(48).sum() for outcome in found)


@pytest.mark.parametrize("order", [None, BlockOrder(1, False)], ids=str)
def test_waiting_for_what_nobody_does_is_endless(order: BlockOrder | None) -> None:
    source = MERGED.replace("MERGER", "0").replace("WAIT", "while (*(volatile int*)state < 1000) { }")
    outcome = _run(source, order)
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.TIMEOUT


def test_blocks_that_wait_keep_their_place_on_the_device() -> None:
    """132 multiprocessors hold 2 blocks of 1024 threads each: the others never begin."""
    source = """extern "C" __global__ void k(int* state, int* o) {
  if (threadIdx.x == 0) { atomicAdd(state, 1); while (*(volatile int*)state < gridDim.x) { } }
}"""
    fits = _run(source, None, num_blocks=264, threads=1024)
    assert fits.fault is None, fits.fault
    for num_blocks in (265, 600):
        outcome = _run(source, None, num_blocks=num_blocks, threads=1024)
        assert outcome.fault is not None
        assert outcome.fault.kind is FaultKind.TIMEOUT
        assert f"264 of its {num_blocks} blocks wait" in outcome.fault.message
        assert "limited by warps" in outcome.fault.message
        assert outcome.fault.source_line == 2


MEET = """extern "C" __global__ void k(int* state, int* o) {
  if (threadIdx.x == 0) { atomicAdd(state, 1); while (*(volatile int*)state < gridDim.x) { } }
}"""


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "fits"),
    [
        (256, 168, 0, 132),
        (256, 128, 0, 264),
        (32, 40, 0, 32 * 132),
        (64, 32, 113 * 1024, 264),
        (64, 32, 114 * 1024, 132),
    ],
    ids=["registers", "registers fit twice", "slots", "shared memory twice", "shared memory"],
)
def test_no_more_blocks_wait_than_have_room(
    order: BlockOrder | None, threads: int, registers: int, shared_bytes: int, fits: int
) -> None:
    def fault(num_blocks: int) -> ExecutionFault | None:
        buffers = {"state": np.zeros(1, I32), "o": np.zeros(1, I32)}
        the_launch = launch("k", num_blocks, threads, "state", "o", shared=shared_bytes)
        return run(MEET, the_launch, buffers=buffers, order=order, registers={"k": registers}).fault

    assert fault(fits) is None
    too_many = fault(fits + 1)
    assert too_many is not None
    assert too_many.kind is FaultKind.TIMEOUT
    assert f"{fits} of its {fits + 1} blocks wait" in too_many.message


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_blocks_of_which_some_threads_left_early_are_waited_for(order: BlockOrder | None) -> None:
    source = """extern "C" __global__ void k(int* state, int* o) {
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x > 40) return;
  if (threadIdx.x == 0) { atomicAdd(state, 1); while (*(volatile int*)state < gridDim.x) { } }
  __syncthreads();
  if (threadIdx.x == 0) o[blockIdx.x] = 1;
}"""
    outcome = _run(source, order, num_blocks=120, threads=256)
    assert outcome.fault is None, outcome.fault
    assert outcome.buffers["o"].all()
