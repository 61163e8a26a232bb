"""The exchange memory: owned by the verifier, opened by the child, holding inputs and output slots only.

On a GPU it is one allocation shared through CUDA IPC; on the CPU it is a file that both map. Tensors
over it have storages of their own, which end where they end: a candidate that walks from its input's
storage does not arrive at another set. (Native code can still read the whole mapping; there is
nothing in it but other inputs.) Expected values, seeds and budgets are never put here.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from coding_framework.cuda.executors.host.exchange.layout import Placed
from coding_framework.cuda.executors.host.exchange.protocol import ArenaHandle

if TYPE_CHECKING:
    import torch


class Arena(Protocol):
    """Bytes shared between two processes."""

    @property
    def handle(self) -> ArenaHandle: ...

    def view(self, placed: Placed) -> torch.Tensor:
        """The tensor at its place, without a copy."""
        ...

    def raw(self, offset: int, num_bytes: int) -> torch.Tensor:
        """Bytes as they are."""
        ...

    def close(self) -> None: ...


@dataclass
class FileArena:
    """A file mapped by both sides; for tensors on the CPU."""

    path: Path
    memory: mmap.mmap
    owned: bool

    @classmethod
    def create(cls, path: Path, num_bytes: int) -> FileArena:
        """Grow an existing file, which the sandbox already let the child open."""
        with path.open("r+b") as file:
            file.truncate(max(num_bytes, os.fstat(file.fileno()).st_size))
            return cls(path, mmap.mmap(file.fileno(), num_bytes), owned=True)

    @classmethod
    def open(cls, handle: ArenaHandle) -> FileArena:
        path = Path(os.fsdecode(handle.reference))
        with path.open("r+b") as file:
            return cls(path, mmap.mmap(file.fileno(), handle.num_bytes), owned=False)

    @property
    def handle(self) -> ArenaHandle:
        return ArenaHandle("file", os.fsencode(self.path), len(self.memory))

    def view(self, placed: Placed) -> torch.Tensor:
        return _typed(self.raw(placed.offset, placed.tensor.num_bytes), placed)

    def raw(self, offset: int, num_bytes: int) -> torch.Tensor:
        import torch

        return torch.frombuffer(self.memory, dtype=torch.uint8, count=num_bytes, offset=offset)

    def close(self) -> None:
        """The mapping goes when the last tensor over it does."""


def _typed(raw: torch.Tensor, placed: Placed) -> torch.Tensor:
    import torch

    return raw.view(getattr(torch, placed.tensor.dtype)).view(placed.tensor.shape)


def open_arena(handle: ArenaHandle) -> Arena:
    """The child's end."""
    if handle.kind == "file":
        return FileArena.open(handle)
    from coding_framework.cuda.executors.host.exchange.cuda_arena import CudaArena

    return CudaArena.open(handle)


def create_arena(device: str, path: Path, num_bytes: int) -> Arena:
    """The verifier's end; `path` serves the CPU alone."""
    if device == "cpu":
        return FileArena.create(path, num_bytes)
    from coding_framework.cuda.executors.host.exchange.cuda_arena import CudaArena

    return CudaArena.create(num_bytes)
