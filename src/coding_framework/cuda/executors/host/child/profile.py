"""Device time by kernel name for one call, from CUPTI through torch's profiler. Needs a GPU.

A claim like every other, with little room for a lie: the profiler is bound and tried before the candidate
is loaded, the call is one like all others at a place that nobody knows beforehand, and its result is
verified.
"""

from __future__ import annotations

from typing import Any

from coding_framework.cuda.executors.host.child.clock import CudaClock


class ProfilingClock:
    """In place of a clock around a call: what ran on the device between start and stop.

    It begins before the cache flush, which is on its way when the call is made, as with the clock; the
    flush's kernels are the first ones seen, and are left out.
    """

    flush_passes = CudaClock.flush_passes

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

    def rehearse(self) -> bool:
        """Whether a kernel of ours is seen; the first use also takes a second or two."""
        if not self._has_device:
            return False
        numbers = self._torch.zeros(1, device="cuda")
        self.forget_cache()
        for _ in range(self.flush_passes + 1):
            numbers.add_(1)
        self.stop()
        return bool(self.kernel_us())

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

    def kernel_us(self) -> dict[str, float]:
        """Microseconds on the device by kernel, memory copies and fills included, for the last call alone."""
        if not self._has_device:
            return {}
        seen = [event for event in self._profiler.events() if event.device_type == self._on_device]
        seen.sort(key=lambda event: event.time_range.start)
        times: dict[str, float] = {}
        for event in seen[self.flush_passes :]:
            name = event.name[:200]
            times[name] = times.get(name, 0.0) + float(event.time_range.elapsed_us())
        return times


def _nothing() -> None:
    """Nothing to wait for on a CPU."""
