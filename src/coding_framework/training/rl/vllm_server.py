"""The process of a vLLM engine, as a Ray actor.

Whoever starts it imports neither vLLM nor verl's server: that takes half a minute, and the process
does it on its own, beside everything else. For the same reason this module imports nothing of verl.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

from coding_framework.training.rl.own_cards import on_card
from coding_framework.training.rl.placement import rollout_cards
from coding_framework.training.rl.worker_settings import WorkerSettings, concurrent_calls


class VLLMServer:
    """verl's server, whose libraries are loaded in its own process alone: that takes half a minute."""

    def __init__(self, **settings: Any) -> None:
        from verl.workers.rollout.replica import RolloutMode
        from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer

        self._card = settings["cuda_visible_devices"]
        self._server = vLLMHttpServer(rollout_mode=RolloutMode.HYBRID, **settings)

    async def card(self) -> str:
        """As CUDA_VISIBLE_DEVICES names it."""
        return str(self._card)

    async def call(self, method: str, *args: Any, **keywords: Any) -> Any:
        """One of the server's own methods."""
        result = getattr(self._server, method)(*args, **keywords)
        return await result if inspect.isawaitable(result) else result


def _forwarding(method: str) -> Any:
    async def forward(self: VLLMServer, *args: Any, **keywords: Any) -> Any:
        return await self.call(method, *args, **keywords)

    forward.__name__ = method
    return forward


for _method in (
    *("generate", "collective_rpc", "launch_server", "get_server_address", "get_rollout_config"),
    *("wake_up", "sleep", "clear_kv_cache", "release_kv_cache", "resume_kv_cache", "set_global_steps"),
    *("abort_all_requests", "abort_request", "resume_generation", "resume_engine_generation"),
    *("open_submission_gate", "wait_for_requests_to_drain", "start_profile", "stop_profile"),
):
    setattr(VLLMServer, _method, _forwarding(_method))


def start_server(rollout: Any, model: Any, rank: int, node: str, card: str) -> tuple[Any, Any]:
    """The server's process, which begins to load at once, and its promise to be ready."""
    import ray

    server = (
        ray.remote(VLLMServer)
        .options(
            name=f"vllm_server_{rank}_0",  # verl's worker looks it up by this
            num_cpus=0,
            max_concurrency=concurrent_calls(),
            **on_card(node, card),
        )
        .remote(
            config=rollout,
            model_config=model,
            workers=[],
            replica_rank=rank,
            node_rank=0,
            gpus_per_node=1,
            nnodes=1,
            cuda_visible_devices=card,
        )
    )
    return server, server.launch_server.remote()


early_servers: dict[int, tuple[Any, Any]] = {}
"""Started before it was known which worker they sample for; taken by `VLLMReplica`."""


def start_early(config: Any) -> None:
    """Begin, where it is known beforehand on which cards they will be; `config` is verl's."""
    import ray

    rollout = config.actor_rollout_ref.rollout
    if rollout.name != "vllm":
        return
    cards = rollout_cards(WorkerSettings.from_environment().rl.gpus)
    only = config.trainer.n_gpus_per_node * config.trainer.nnodes == 1
    if not cards and only and config.ray_kwargs.ray_init.address == "local":
        cards = [card for card in os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[:1] if card]
    node = ray.get_runtime_context().get_node_id()
    for rank, card in enumerate(cards):
        early_servers[rank] = start_server(rollout, config.actor_rollout_ref.model, rank, node, card)
