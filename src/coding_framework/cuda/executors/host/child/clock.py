"""The child's own stopwatch: device events on a GPU, the processor's clock elsewhere.

Its readings are claims. They say how long the device was busy with one call, which a clock outside
cannot see for a single short call; the judge holds them against its own wall clock for the block.
"""

from __future__ import annotations

import time
from typing import Any, Protocol


class Clock(Protocol):
    """Start, stop, wait for the device, read."""

    flush_passes: int
    """How often the flush region is overwritten before a call."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def await_stop(self) -> None:
        """Wait for what was timed, then for whatever else the device does."""
        ...

    def finish(self) -> None:
        """Wait for everything on the device, whatever stream it is on."""
        ...

    def forget_cache(self) -> None:
        """Give up persisting lines of the L2 cache."""
        ...

    def elapsed_us(self) -> float: ...

    def left_us(self) -> float:
        """How long the device went on after what was timed, with what it takes to see that it has ended."""
        ...


class CpuClock:
    """For tensors on the CPU."""

    flush_passes = 1

    def __init__(self) -> None:
        self._now = time.perf_counter
        self._started = self._stopped = 0.0

    def start(self) -> None:
        self._started = self._now()

    def stop(self) -> None:
        self._stopped = self._now()

    def await_stop(self) -> None:
        """What was timed is done when the call returns."""

    def finish(self) -> None:
        """Nothing runs behind our back on a CPU."""

    def forget_cache(self) -> None:
        """A CPU has no persisting lines."""

    def elapsed_us(self) -> float:
        return (self._stopped - self._started) * 1e6

    def left_us(self) -> float:
        return 0.0


class CudaClock:
    """Events on the default stream; a device-wide wait after every call.

    The flush is long enough (some 150 us on an H200) for the call's launches to be queued behind it, so
    that what the host takes to launch is not in the device's time, for candidate and reference alike.
    """

    flush_passes = 5

    def __init__(self) -> None:
        import torch
        from cuda.bindings import driver

        torch.zeros(1, device="cuda")
        self._synchronize: Any = driver.cuCtxSynchronize
        self._reset_cache: Any = driver.cuCtxResetPersistingL2Cache
        self._stream = torch.cuda.default_stream()
        event: Any = torch.cuda.Event
        self._before = event(enable_timing=True)
        self._after = event(enable_timing=True)
        self._idle = event(enable_timing=True)
        self._record, self._elapsed, self._wait = event.record, event.elapsed_time, event.synchronize
        driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0)

    def start(self) -> None:
        self._record(self._before, self._stream)

    def stop(self) -> None:
        self._record(self._after, self._stream)

    def await_stop(self) -> None:
        self._wait(self._after)
        self.finish()
        self._record(self._idle, self._stream)

    def finish(self) -> None:
        (status,) = self._synchronize()
        if int(status) != 0:
            raise RuntimeError(f"CUDA error: {status.name}")

    def forget_cache(self) -> None:
        self._reset_cache()

    def elapsed_us(self) -> float:
        return float(self._elapsed(self._before, self._after)) * 1e3

    def left_us(self) -> float:
        return float(self._elapsed(self._after, self._idle)) * 1e3


def make_clock(device: str) -> Clock:
    """Bound before the candidate is loaded."""
    return CpuClock() if device == "cpu" else CudaClock()
