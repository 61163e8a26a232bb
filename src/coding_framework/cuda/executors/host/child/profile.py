"""Device time by kernel name for one call, from CUPTI through torch's profiler. Needs a GPU.

A claim like every other, with little room for a lie: the profiler is bound and tried before the candidate
is loaded, the call is one like all others at a place that nobody knows beforehand, and its result is
verified.
"""

from __future__ import annotations

from typing import Any

from coding_framework.cuda.executors.host.child.clock import CudaClock

_REHEARSED_BYTES = 2**20
_CLOCK_STEP_US = 1.0
"""How exactly the profiler tells when something starts."""


class ProfilingClock:
    """In place of a clock around a call: what ran on the device between start and stop.

    It begins before the cache flush, which is on its way when the call is made, as with the clock. The
    flush's kernels are known by their name and left out; whatever else starts before the last of them ends
    does not wait for the stream that it was called on, and would be hidden from the clock.
    """

    flush_passes = 8 * CudaClock.flush_passes
    """Long enough for a call to be made meanwhile, although the profiler makes launches slow."""

    def __init__(self, device: str) -> None:
        import torch
        from torch._C._autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile

        self._torch: Any = torch
        self._synchronize = torch.cuda.synchronize if device != "cpu" else _nothing
        self._has_device = device != "cpu"
        self._profile: Any = profile
        self._activities = [ProfilerActivity.CUDA, ProfilerActivity.CPU]
        self._on_device = DeviceType.CUDA
        self._profiler: Any = None
        self._flush_name = ""

    def rehearse(self) -> bool:
        """Whether a kernel of ours is seen; the first use also takes a second or two."""
        if not self._has_device:
            return False
        numbers = self._torch.zeros(_REHEARSED_BYTES, dtype=self._torch.uint8, device="cuda")
        self.forget_cache()
        for value in range(self.flush_passes):
            numbers.fill_(value + 1)
        self.stop()
        seen = self._seen()
        self._flush_name = seen[0].name if seen else ""
        return bool(seen)

    def start(self) -> None:
        """`forget_cache` has begun."""

    def stop(self) -> None:
        self._synchronize()
        if self._has_device:
            self._profiler.stop()

    def await_stop(self) -> None:
        """`stop` has waited."""

    def finish(self) -> None:
        self._synchronize()

    def forget_cache(self) -> None:
        """What comes next is the flush."""
        self._synchronize()
        if self._has_device:
            self._profiler = self._profile(activities=self._activities)
            self._profiler.start()

    def elapsed_us(self) -> float:
        return 0.0

    def left_us(self) -> float:
        return 0.0

    def report(self) -> dict[str, Any]:
        """Of the last call: `kernels`, microseconds on the device by name, memory copies and fills included;
        `early`, one that began beside the flush, or nothing; `is_blind`, if the flush was not seen.
        """
        seen = self._seen()
        flush = [event for event in seen if event.name == self._flush_name][: self.flush_passes]
        flushed = max((event.time_range.end for event in flush), default=0.0) - _CLOCK_STEP_US
        others = [event for event in seen if event not in flush]
        times: dict[str, float] = {}
        for event in others:
            name = event.name[:200]
            times[name] = times.get(name, 0.0) + float(event.time_range.elapsed_us())
        return {
            "kernels": times,
            "early": next((event.name for event in others if event.time_range.start < flushed), ""),
            "is_blind": self._has_device and len(flush) < self.flush_passes,
        }

    def _seen(self) -> list[Any]:
        if not self._has_device:
            return []
        seen = [event for event in self._profiler.events() if event.device_type == self._on_device]
        return sorted(seen, key=lambda event: event.time_range.start)


def _nothing() -> None:
    """Nothing to wait for on a CPU."""
