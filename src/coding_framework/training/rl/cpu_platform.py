"""verl plug-in: a platform named `cpu`, chosen with `VERL_PLATFORM=cpu`.

verl asks its platform for the device, the memory counters and the collective backend. On the CPU the
counters are zero, there is nothing to synchronise, and collectives run on gloo. What it does not do:
pretend to be a GPU. Ray's `GPU` resource is used for logical slots only (`num_gpus` of `ray.init`),
because verl's placement groups ask for that resource by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

_ZERO_COUNTERS = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
_NO_OPERATION = (
    "empty_cache",
    "ipc_collect",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "set_device",
)


class _CpuModule(ModuleType):
    """`torch.cpu`, and the memory and random-state calls that verl makes on `torch.<device>`."""

    def __init__(self) -> None:
        super().__init__("coding_framework_torch_cpu")
        for name in _ZERO_COUNTERS:
            setattr(self, name, lambda *_args, **_kwargs: 0)
        for name in _NO_OPERATION:
            setattr(self, name, lambda *_args, **_kwargs: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def mem_get_info(self, *_args: Any) -> tuple[int, int]:
        return 0, 0

    def get_rng_state(self, *_args: Any) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, *_args: Any) -> None:
        torch.set_rng_state(state)

    def get_device_name(self, *_args: Any) -> str:
        return "cpu"

    def is_available(self) -> bool:
        return True


def _join_gloo_group() -> None:
    """Make the process group that verl would make.

    verl builds the backend string `cpu:gloo,<device>:<backend>`, which for this platform names the
    cpu twice and is refused by torch; it does nothing when a group exists already.
    """
    import torch.distributed as dist

    in_worker_group = os.environ.get("WG_BACKEND") == "ray" and "MASTER_ADDR" in os.environ
    if in_worker_group and not dist.is_initialized():
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group("gloo", rank=rank, world_size=world_size)


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):  # type: ignore[misc]
    """What verl asks of a platform, answered for the CPU."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuModule()

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Never found by probing: only `VERL_PLATFORM=cpu` selects it."""
        return False

    def current_device(self) -> torch.device:
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        return None

    def synchronize(self, device_index: int | None = None) -> None:
        return None

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        return None

    def empty_cache(self) -> None:
        return None

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        return None, None

    def communication_backend_name(self) -> str:
        _join_gloo_group()
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        return None

    def profiler_stop(self) -> None:
        return None

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None
