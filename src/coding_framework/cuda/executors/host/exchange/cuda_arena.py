"""GPU memory shared between two processes through CUDA IPC. Runs only where there is a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coding_framework.cuda.executors.gpu.ipc import handle_bytes, set_handle_bytes
from coding_framework.cuda.executors.host.exchange.layout import Placed
from coding_framework.cuda.executors.host.exchange.protocol import ArenaHandle
from coding_framework.errors import DeviceFull, JudgeFault

if TYPE_CHECKING:
    import torch

_LAZY_ENABLE_PEER_ACCESS = 1


@dataclass(frozen=True)
class _DeviceBytes:
    """What torch needs to know to lay a tensor over memory that it did not allocate."""

    __cuda_array_interface__: dict[str, Any]

    @classmethod
    def at(cls, address: int, num_bytes: int) -> _DeviceBytes:
        return cls(
            {"data": (address, False), "shape": (num_bytes,), "typestr": "|u1", "strides": None, "version": 3}
        )


@dataclass
class CudaArena:
    """One allocation of the driver; the owner frees it, the other end unmaps it."""

    address: int
    handle: ArenaHandle
    owned: bool

    @classmethod
    def create(cls, num_bytes: int) -> CudaArena:
        from cuda.bindings import driver

        _make_context_current()
        address = int(_checked(driver.cuMemAlloc(num_bytes), f"allocating {num_bytes / 2**30:.1f} GiB"))
        shared = _checked(driver.cuIpcGetMemHandle(address), "sharing memory through CUDA IPC")
        return cls(address, ArenaHandle("cuda_ipc", handle_bytes(shared), num_bytes), owned=True)

    @classmethod
    def open(cls, handle: ArenaHandle) -> CudaArena:
        from cuda.bindings import driver

        _make_context_current()
        shared = driver.CUipcMemHandle()
        set_handle_bytes(shared, handle.reference)
        opened = driver.cuIpcOpenMemHandle(shared, _LAZY_ENABLE_PEER_ACCESS)
        return cls(int(_checked(opened, "opening memory through CUDA IPC")), handle, owned=False)

    def view(self, placed: Placed) -> torch.Tensor:
        import torch

        raw = self.raw(placed.offset, placed.tensor.num_bytes)
        return raw.view(getattr(torch, placed.tensor.dtype)).view(placed.tensor.shape)

    def raw(self, offset: int, num_bytes: int) -> torch.Tensor:
        import torch

        return torch.as_tensor(_DeviceBytes.at(self.address + offset, num_bytes), device="cuda")

    def close(self) -> None:
        from cuda.bindings import driver

        if self.owned:
            driver.cuMemFree(self.address)
        else:
            driver.cuIpcCloseMemHandle(self.address)


def _make_context_current() -> None:
    """torch's context is the device's primary one; touching a tensor makes it current here."""
    import torch

    torch.zeros(1, device="cuda")


def _checked(result: tuple[Any, ...], doing: str) -> Any:
    status, *values = result
    if int(status) != 0:
        kind = DeviceFull if status.name == "CUDA_ERROR_OUT_OF_MEMORY" else JudgeFault
        raise kind(f"{doing}: the CUDA driver says {status.name}")
    return values[0] if values else None
