"""Device time by kernel name for one call, from CUPTI through torch's profiler. Needs a GPU.

A claim like every other: it can raise the stated share of own kernels, not make a library call pass
for a kernel, because that is decided by running the candidate with its kernels emptied.
"""

from __future__ import annotations

from typing import Any


def profile_call(instance: Any, index: int) -> dict[str, float]:
    """Microseconds on the device by kernel, memory copies and fills included, for the call alone."""
    import torch
    from torch._C._autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    arguments = instance.arguments(index)
    if not torch.cuda.is_available():
        instance.invoke(arguments)
        return {}
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        instance.invoke(arguments)
        torch.cuda.synchronize()
    times: dict[str, float] = {}
    for event in profiler.events():
        if event.device_type == DeviceType.CUDA:
            times[event.name[:200]] = times.get(event.name[:200], 0.0) + float(event.time_range.elapsed_us())
    return times
