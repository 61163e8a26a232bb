"""In a worker process: what launches cost in its context, and another context in its place."""

from __future__ import annotations

import numpy as np
from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import call, memset, open_device
from coding_framework.cuda.executors.gpu.queue_places import PATTERN
from coding_framework.cuda.executors.gpu.session import Session, session

_CALLS = 48
_LAUNCHES = 3
_TRIMMED = 5
"""Fastest and slowest calls that do not count."""


def launch_cost_us(device_index: int, harness_cubin: bytes) -> float:
    """Of a few empty kernels behind a flush; whoever asks holds the device alone."""
    here = session(device_index, harness_cubin)
    _times_us(here)  # loads the code and raises the clocks
    return float(np.mean(_times_us(here)[_TRIMMED:-_TRIMMED]))


def _times_us(here: Session) -> list[float]:
    """Sorted; the calls come in every place of the card's queue equally often."""
    here.gate.close(here.stream)
    for number in range(_CALLS):
        for _ in range(number % PATTERN):
            here.harness.nothing()
        memset(here.flush_address, 0, here.flush_bytes, here.stream)
        first, last = here.events(number)[:2]
        call(driver.cuEventRecord(first, here.stream))
        for _ in range(_LAUNCHES):
            here.harness.nothing()
        call(driver.cuEventRecord(last, here.stream))
    here.gate.open()
    call(driver.cuStreamSynchronize(here.stream))
    pairs = (here.events(number)[:2] for number in range(_CALLS))
    return sorted(1e3 * float(call(driver.cuEventElapsedTime(first, last))) for first, last in pairs)


def renew(device_index: int, harness_cubin: bytes) -> None:
    """Another context with everything in it that is ours; nobody may use the old one any more."""
    device = open_device(device_index)
    session.cache_clear()
    open_device.cache_clear()
    call(driver.cuDevicePrimaryCtxRelease(device))
    session(device_index, harness_cubin)
