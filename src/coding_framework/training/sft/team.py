"""The processes that share each step of a warm start: what each takes, and how their gradients are added up.

Every process holds the whole model and its optimizer, takes its share of a step's pairs, and adds its
gradients to those of the others; so all make the same update. Guaranteed: a step has the same pairs
however many processes there are, and its numbers differ by rounding alone (dropout aside). One process
is a team too, and talks to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from coding_framework.agents.models.loading import default_device

if TYPE_CHECKING:
    import torch

BUCKET_ELEMENTS = 16 * 2**20
"""Gradients that travel together: 64 MB in float32."""

T = TypeVar("T")


@dataclass(frozen=True)
class Team:
    """One process's view of it."""

    rank: int = 0
    """Which one this is; the first speaks to the outside and writes."""
    size: int = 1
    """How many there are."""

    def join(self, store: Path) -> None:
        """Meet the others, who name the same file; each process has a GPU of its own where there are GPUs."""
        import torch
        from torch import distributed

        on_gpu = default_device() == "cuda"
        if on_gpu:
            torch.cuda.set_device(self.rank)
        else:
            torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // self.size))
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one machine: no name has to be resolved
        distributed.init_process_group(
            "nccl" if on_gpu else "gloo", init_method=f"file://{store}", rank=self.rank, world_size=self.size
        )

    def leave(self) -> None:
        from torch import distributed

        distributed.destroy_process_group()

    def share(self, things: Sequence[T]) -> Sequence[T]:
        """What this process takes of a list that all have."""
        return things[self.rank :: self.size]

    def add_up(self, gradients: Sequence[torch.Tensor]) -> None:
        """Each becomes the sum of all processes', in place."""
        if self.size == 1:
            return
        import torch
        from torch import distributed

        for bucket in _buckets(gradients):
            flat = torch.cat([gradient.reshape(-1) for gradient in bucket])
            distributed.all_reduce(flat)
            parts = torch.split(flat, [gradient.numel() for gradient in bucket])
            for gradient, part in zip(bucket, parts, strict=True):
                gradient.copy_(part.view_as(gradient))

    def agree(self, flag: bool, device: torch.device) -> bool:
        """The word of the first process, for all."""
        if self.size == 1:
            return flag
        import torch
        from torch import distributed

        word = torch.tensor([flag], dtype=torch.int32, device=device)
        distributed.broadcast(word, 0)
        return bool(word.item())


def _buckets(gradients: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    buckets: list[list[torch.Tensor]] = [[]]
    filled = 0
    for gradient in gradients:
        if buckets[-1] and filled + gradient.numel() > BUCKET_ELEMENTS:
            buckets.append([])
            filled = 0
        buckets[-1].append(gradient)
        filled += gradient.numel()
    return buckets
