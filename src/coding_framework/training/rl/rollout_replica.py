"""verl plug-in: the rollout named `coding_framework_hf`.

`TransformersReplica` starts one `GenerationServer` for each rollout replica;
`TransformersRollout` lives in the trainer's worker and sends its servers the new weights.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import ray
from verl.utils.device import get_device_name
from verl.workers.rollout.base import _ROLLOUT_REGISTRY, BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from coding_framework.errors import TrainingError
from coding_framework.training.rl.names import ROLLOUT_NAME
from coding_framework.training.rl.own_cards import on_card, own_servers, place_of
from coding_framework.training.rl.rollout_server import GenerationServer, ServerSettings
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.worker_settings import concurrent_calls

_BUCKET_BYTES = 64 * 2**20


def server_name(replica_rank: int) -> str:
    return f"{ROLLOUT_NAME}_server_{replica_rank}"


class TransformersReplica(RolloutReplica):  # type: ignore[misc]
    """One server: there is no tensor parallelism here."""

    async def launch_servers(self) -> None:
        """On the card of the worker that it samples for."""
        mark_stage("policy")
        if self.world_size != 1:
            raise TrainingError(
                f"rollout {ROLLOUT_NAME} serves one model per worker: set tensor parallelism to 1"
            )
        await self._start(*await place_of(self.workers[0]))

    async def launch_apart(self, node: str, card: str) -> None:
        """On a card of its own; on the CPU the card is a number only."""
        await self._start(node, card)

    async def _start(self, node: str, card: str) -> None:
        settings = ServerSettings(
            model_path=str(self.model_config.path),
            device=get_device_name(),
            dtype=str(self.config.dtype),
            response_length=int(self.config.response_length),
        )
        name = server_name(self.replica_rank)
        actor = ray.remote(GenerationServer).options(
            name=name,
            num_cpus=0,
            max_concurrency=concurrent_calls(),
            **on_card(node, card if settings.device == "cuda" else None),
        )
        server = actor.remote(settings)
        self.servers, self._server_handle, self._server_address = [server], server, name
        await server.__ray_ready__.remote()
        mark_stage("rollout")


class TransformersRollout(BaseRollout):  # type: ignore[misc]
    """Sends weights from the trainer's worker to its servers."""

    async def resume(self, tags: list[str]) -> None:
        """The server releases nothing."""

    async def release(self) -> None:
        """The server releases nothing."""

    async def update_weights(
        self,
        weights: Any,
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        peft_config: Mapping[str, Any] | None = None,
        base_sync_done: bool = True,
        **_unused: Any,
    ) -> None:
        """Adapters only when there are any: the server has the same base weights from the same folder.

        A worker without a server goes through the weights as well: that is what gathers them.
        """
        if wire_format != "named_tensors":
            raise TrainingError(f"rollout {ROLLOUT_NAME} cannot read weights sent as {wire_format}")
        if not base_sync_done:
            return
        servers = [ray.get_actor(server_name(number)) for number in own_servers()]
        scale = None if peft_config is None else peft_config["lora_alpha"] / peft_config["r"]
        async for bucket in _buckets(weights):
            await asyncio.gather(*(server.load_weights.remote(bucket, scale) for server in servers))
        await asyncio.gather(*(server.finish_update.remote(global_steps) for server in servers))


async def _buckets(weights: Any) -> AsyncIterator[list[tuple[str, Any]]]:
    """Keep A and B of one layer together: verl yields them next to each other, a bucket ends after B."""
    from verl.workers.rollout.utils import ensure_async_iterator

    bucket: list[tuple[str, Any]] = []
    size = 0
    async for name, tensor in ensure_async_iterator(weights):
        array = tensor.detach().float().cpu().numpy()
        bucket.append((name, array))
        size += array.nbytes
        if size >= _BUCKET_BYTES and ".lora_A" not in name:
            yield bucket
            bucket, size = [], 0
    if bucket:
        yield bucket


RolloutReplicaRegistry.register(ROLLOUT_NAME, lambda: TransformersReplica)
_ROLLOUT_REGISTRY[(ROLLOUT_NAME, "async")] = f"{__name__}.TransformersRollout"
