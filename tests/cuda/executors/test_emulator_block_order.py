"""Blocks have no order: runs in a secret one and its reverse show who relies on one."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import launch, run

from coding_framework.cuda.executors.base import BlockOrder, ExecutionOutcome
from coding_framework.cuda.executors.emulator.machine.block_order import PARTS, chunks_in_order

F32 = np.float32
SECRETS = (1, 2, 3)
MERGED_UNWAITED = """extern "C" __global__ void k(const float* x, float* part, float* o) {
  part[blockIdx.x] = x[blockIdx.x];
  __threadfence();
  if (blockIdx.x == MERGER) {
    float s = 0;
    for (int i = 0; i < gridDim.x; i++) s += part[i];
    o[0] = s;
  }
}"""
PAIRS_UNWAITED = """extern "C" __global__ void k(const float* x, float* part, float* o) {
  atomicExch(part + blockIdx.x, x[blockIdx.x]);
  if (blockIdx.x % 2) o[blockIdx.x] = part[blockIdx.x - 1];
  else o[blockIdx.x] = 0;
}"""
COUNTED_ARRIVALS = """extern "C" __global__ void k(const float* x, float* part, float* o) {
  part[blockIdx.x] = x[blockIdx.x];
  __threadfence();
  unsigned* arrived = (unsigned*)(part + gridDim.x);
  if (atomicAdd(arrived, 1) == gridDim.x - 1) {
    float s = 0;
    for (int i = 0; i < gridDim.x; i++) s += ((volatile float*)part)[i];
    o[0] = s;
  }
}"""


def _run(source: str, secret: int, *, is_backwards: bool, num_blocks: int = 32) -> ExecutionOutcome:
    part = np.full(num_blocks + 1, np.nan, F32)
    part[-1] = 0
    buffers = {"x": np.arange(num_blocks, dtype=F32), "p": part, "o": np.zeros(num_blocks, F32)}
    order = BlockOrder(secret, is_backwards)
    outcome = run(source, launch("k", num_blocks, 1, "x", "p", "o"), buffers=buffers, order=order)
    assert outcome.fault is None, outcome.fault
    return outcome


def _both(source: str, secret: int) -> list[np.ndarray]:
    return [_run(source, secret, is_backwards=way).buffers["o"] for way in (False, True)]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("merger", [0, 7, 31])
def test_a_block_that_merges_without_waiting_is_too_early_there_or_back(merger: int, secret: int) -> None:
    there, back = _both(MERGED_UNWAITED.replace("MERGER", str(merger)), secret)
    assert np.isnan(there[0]) or np.isnan(back[0])


@pytest.mark.parametrize("secret", SECRETS)
def test_neighbours_that_hand_over_without_waiting_are_parted(secret: int) -> None:
    there, back = _both(PAIRS_UNWAITED, secret)
    assert np.isnan(there).any() or np.isnan(back).any()


@pytest.mark.parametrize("secret", SECRETS)
def test_the_last_block_to_arrive_is_served_in_every_order(secret: int) -> None:
    there, back = _both(COUNTED_ARRIVALS, secret)
    assert there[0] == back[0] == np.arange(32).sum()


def test_counts_do_not_depend_on_the_order() -> None:
    found = [
        _run(COUNTED_ARRIVALS, secret, is_backwards=way).counters
        for secret in SECRETS
        for way in (False, True)
    ]
    assert all(counters == found[0] for counters in found)


@pytest.mark.parametrize("num_blocks", [1, 2, 5, 128, 1000])
@pytest.mark.parametrize("at_once", [1, 7, 4096])
def test_an_order_takes_every_block_once_and_its_reverse_the_same_parts(
    num_blocks: int, at_once: int
) -> None:
    there, back = (
        [c.tolist() for c in chunks_in_order(num_blocks, at_once, BlockOrder(5, way), shuffle=True)]
        for way in (False, True)
    )
    assert back == there[::-1]
    assert sorted(number for chunk in there for number in chunk) == list(range(num_blocks))
    assert max(len(chunk) for chunk in there) <= min(at_once, -(-num_blocks // PARTS))


def test_other_secrets_are_other_orders_and_no_order_is_by_number() -> None:
    one, other = (
        [c.tolist() for c in chunks_in_order(64, 64, BlockOrder(secret, False), shuffle=True)]
        for secret in (1, 2)
    )
    assert one != other
    (plain,) = chunks_in_order(64, 64, None, shuffle=True)
    assert plain.tolist() == list(range(64))


@pytest.mark.parametrize(
    ("statement", "may_depend"),
    [
        ("y[i] = x[i];", False),
        ("atomicAdd(y, x[i]);", False),
        ("atomicMax((int*)y, (int)x[i]);", False),
        ("atomicMax((int*)y, (int)x[i]); atomicAdd((int*)y, 1);", True),
        ("if (i == 0) *(volatile float*)y = 0; atomicAdd(y, x[i]);", True),
        ("atomicExch(y + i, x[i]);", True),
        ("y[i] = atomicAdd(y + 64, x[i]);", True),
        ("atomicAdd(y + i, x[i]); x[i] = y[0];", True),
        ("y[i] = x[i]; __threadfence();", True),
        ("y[i] = ((volatile float*)x)[i];", False),
    ],
)
@pytest.mark.parametrize("counts_work", [True, False])
def test_a_run_says_whether_blocks_could_have_handed_data_on(
    statement: str, may_depend: bool, counts_work: bool
) -> None:
    source = f"""extern "C" __global__ void k(float* x, float* y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {statement}
}}"""
    buffers = {"x": np.zeros(64, F32), "y": np.zeros(65, F32)}
    options = {"detect_races": False, "counts_work": counts_work}
    outcome = run(source, launch("k", 2, 32, "x", "y"), buffers=buffers, **options)
    assert outcome.fault is None, outcome.fault
    assert outcome.may_depend_on_order is may_depend
