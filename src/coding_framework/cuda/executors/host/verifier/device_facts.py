"""What the verifier has to know of its device: the card, its memory, how exactly torch computes on it."""

from __future__ import annotations

from coding_framework.cuda.executors.gpu.messages import DeviceFacts
from coding_framework.errors import NotAvailableError

CPU_FLUSH_BYTES = 64 * 1024
"""On a CPU the flush only shows that the protocol works."""
_CPU_BYTES = 3 * 2**30


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
    """Give what torch's allocator keeps back to the device; the caller holds the lease."""
    import torch

    if device != "cpu":
        torch.cuda.empty_cache()


def card_of(device: str) -> DeviceFacts | None:
    """torch's current card; None on a CPU."""
    if device == "cpu":
        return None
    import torch
    from cuda.bindings import driver

    from coding_framework.cuda.executors.gpu.driver import call, device_facts

    return device_facts(call(driver.cuDeviceGet(torch.cuda.current_device())))


def memory_bytes(device: str) -> tuple[int, int]:
    """What is free now, and what there is in all."""
    import torch

    if device == "cpu":
        return _CPU_BYTES, _CPU_BYTES
    free, total = torch.cuda.mem_get_info()
    return int(free), int(total)


def flush_bytes_for(card: DeviceFacts | None) -> int:
    """Twice the L2 cache: what was there before is gone."""
    return CPU_FLUSH_BYTES if card is None else 2 * card.l2_bytes
