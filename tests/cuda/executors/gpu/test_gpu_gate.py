"""The gate that holds a stream back, on a real GPU."""

from __future__ import annotations

import time
from typing import Any

import pytest
from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import call, memset, open_device
from coding_framework.cuda.executors.gpu.session import Gate

pytestmark = pytest.mark.gpu
NUM_BYTES = 2**20
BUSY_S = 0.05


@pytest.fixture(scope="module")
def stream() -> Any:
    open_device(0)
    return call(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))


@pytest.fixture(scope="module")
def address(stream: Any) -> int:
    made = int(call(driver.cuMemAlloc(NUM_BYTES)))
    memset(made, 0, NUM_BYTES, stream)
    call(driver.cuStreamSynchronize(stream))
    return made


def is_idle(stream: Any, *, within_s: float = 5.0) -> bool:
    """Whether all of it has ended; waiting for a gate that stays closed would never end."""
    deadline = time.monotonic() + within_s
    while driver.cuStreamQuery(stream)[0] == driver.CUresult.CUDA_ERROR_NOT_READY:
        if time.monotonic() > deadline:
            return False
    return True


def test_a_host_that_is_busy_between_two_events_is_not_in_the_time(stream: Any, address: int) -> None:
    gate = Gate()
    first, last = (call(driver.cuEventCreate(0)) for _ in range(2))
    for _ in range(3):
        gate.close(stream)
        call(driver.cuEventRecord(first, stream))
        time.sleep(BUSY_S)
        memset(address, 1, NUM_BYTES, stream)
        call(driver.cuEventRecord(last, stream))
        assert driver.cuEventQuery(first)[0] == driver.CUresult.CUDA_ERROR_NOT_READY
        gate.open()
        assert is_idle(stream)
        assert call(driver.cuEventElapsedTime(first, last)) < 1e3 * BUSY_S / 10


def test_opening_lets_go_all_that_waits(stream: Any, address: int) -> None:
    gate = Gate()
    for pattern in range(3):
        gate.close(stream)
        memset(address, pattern, NUM_BYTES, stream)
    assert not is_idle(stream, within_s=BUSY_S)
    gate.open()
    assert is_idle(stream)
