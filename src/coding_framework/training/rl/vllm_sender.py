"""verl plug-in: brings the newest weights from a worker of the actor to its vLLM engines.

Beside the actor on one card they travel as verl sends them, by handles to memory of that card. To a card
of its own a handle cannot reach: there they travel through shared memory of the host, in the number format
of the rollout, adapters and full weights alike.

Guaranteed: an engine has all weights of an update or the update raises. Not supported: an engine on
another machine.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import torch
from verl.utils.torch_dtypes import PrecisionType
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.utils import ensure_async_iterator

from coding_framework.training.rl.leftovers import note_shared_memory
from coding_framework.training.rl.own_cards import own_servers
from coding_framework.training.rl.worker_settings import WorkerSettings


class VLLMSender(BaseRollout):  # type: ignore[misc]
    """One of verl's senders for each engine of this worker."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any) -> None:
        from verl.workers.rollout.vllm_rollout import ServerAdapter, bucketed_weight_transfer  # loads vLLM

        super().__init__(config, model_config, device_mesh)
        run = WorkerSettings.from_environment()
        self._apart = bool(run.rl.gpus.rollout)
        if self._apart:
            note_what_is_shared(bucketed_weight_transfer, run.rl_dir)
        self._senders = [
            ServerAdapter(config, model_config, device_mesh, replica_rank=number) for number in own_servers()
        ]
        for sender in self._senders:
            sender.use_shm = sender.use_shm or self._apart

    async def resume(self, tags: list[str]) -> None:
        for sender in self._senders:
            await sender.resume(tags)

    async def release(self) -> None:
        for sender in self._senders:
            await sender.release()

    async def update_weights(self, weights: Any, **settings: Any) -> None:
        if self._apart:
            await send_apart(weights, self._senders, PrecisionType.to_dtype(self.config.dtype), settings)
        else:
            await self._senders[0].update_weights(weights, **settings)


def note_what_is_shared(transfer: Any, rl_dir: Path) -> None:
    """From now on this process notes the shared memory that verl's module `transfer` sends weights through.

    After a SIGKILL up to 2 GB of it stay, and verl chooses its name when it makes it.
    """
    make = transfer.create_shared_memory

    def make_noted(size: int, name: str) -> Any:
        note_shared_memory(rl_dir, name)
        return make(size, name)

    transfer.create_shared_memory = make_noted


async def send_apart(
    weights: Any, senders: Sequence[Any], dtype: torch.dtype, settings: dict[str, Any]
) -> None:
    """To one engine piece by piece; to several one after the other, from a copy in main memory.

    Without any the weights are gone through as well, because that is what gathers them from all workers.
    """
    stream = _in_format(weights, dtype)
    if len(senders) == 1:
        await senders[0].update_weights(stream, **settings)
        return
    copied = [(name, tensor.cpu()) async for name, tensor in stream if senders]
    for sender in senders:
        await sender.update_weights(iter(copied), **settings)


async def _in_format(weights: Any, dtype: torch.dtype) -> AsyncIterator[tuple[str, torch.Tensor]]:
    async for name, tensor in ensure_async_iterator(weights):
        whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
        yield name, whole.to(dtype)
