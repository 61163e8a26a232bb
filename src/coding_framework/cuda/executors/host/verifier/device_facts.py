"""What the verifier has to know of its device: memory, caches, the speed of its DRAM."""

from __future__ import annotations

from typing import Any

from coding_framework.errors import NotAvailableError

CPU_FLUSH_BYTES = 64 * 1024
"""On a CPU the flush only shows that the protocol works."""
_CPU_FREE_BYTES = 2**30


def full_precision() -> None:
    """The reference in float32 means float32."""
    import torch

    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def use_device(device: str, index: int) -> None:
    """Make it the current one; raises when torch cannot use it."""
    import torch

    if device == "cpu":
        return
    if not torch.cuda.is_available():
        raise NotAvailableError("torch sees no CUDA device on this machine")
    torch.cuda.set_device(index)


def release_memory(device: str) -> None:
    """Give what torch's allocator keeps back to the device."""
    import torch

    if device != "cpu":
        torch.cuda.empty_cache()


def device_name(device: str) -> str:
    import torch

    return "cpu" if device == "cpu" else str(torch.cuda.get_device_name())


def free_bytes(device: str) -> int:
    import torch

    return _CPU_FREE_BYTES if device == "cpu" else int(torch.cuda.mem_get_info()[0])


def flush_bytes_for(device: str) -> int:
    """Twice the L2 cache: what was there before is gone."""
    return CPU_FLUSH_BYTES if device == "cpu" else 2 * l2_bytes(device)


def l2_bytes(device: str) -> int:
    """0 on a CPU, whose caches nobody times."""
    import torch

    if device == "cpu":
        return 0
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)


def peak_bytes_per_s(device: str) -> float | None:
    """Two transfers a clock over the whole bus, from the driver's attributes; 4.8 TB/s on an H200."""
    if device == "cpu":
        return None
    import torch
    from cuda.bindings import driver

    names = driver.CUdevice_attribute
    _, handle = driver.cuDeviceGet(torch.cuda.current_device())
    clock_khz = _attribute(driver, names.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, handle)
    bus_bits = _attribute(driver, names.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, handle)
    return 2.0 * clock_khz * 1e3 * bus_bits / 8


def _attribute(driver: Any, name: Any, handle: Any) -> int:
    status, value = driver.cuDeviceGetAttribute(name, handle)
    if int(status) != 0:
        raise NotAvailableError(f"the CUDA driver does not tell {name.name}")
    return int(value)
