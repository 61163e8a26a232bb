"""verl plug-in: vLLM starts beside the policy, not after it.

Most of the start of a run is vLLM's: it loads its libraries twice, compiles and records graphs. verl
begins that when the policy is loaded. Here the trainer calls `start_early` as its first act, and
`launch_servers` only waits for what is under way. Nothing is measured meanwhile that the other could
disturb: vLLM is told the size of its cache (`overrides`) and does not probe the card for it.

Guaranteed: a server stands on the card of the worker that it samples for; one that was started on
another card is ended and started anew. Not supported: an engine on several cards.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.workers.rollout.replica import RolloutMode, RolloutReplica, RolloutReplicaRegistry

from coding_framework.errors import TrainingError
from coding_framework.training.rl.start_stages import mark_stage

_NO_RESTRICTION = "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"


class VLLMServer:
    """verl's server, whose libraries are loaded in its own process alone: that takes half a minute."""

    def __init__(self, **settings: Any) -> None:
        from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer

        self._card = settings["cuda_visible_devices"]
        self._server = vLLMHttpServer(**settings)

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


def _name(rank: int) -> str:
    """The name that verl's worker looks its server up by."""
    return f"vllm_server_{rank}_0"


_early: list[tuple[Any, Any]] = []


def start_early(config: Any) -> None:
    """Begin, where it is known beforehand on which card the one worker will be."""
    rollout = config.actor_rollout_ref.rollout
    card = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    if rollout.name != "vllm" or config.trainer.n_gpus_per_node * config.trainer.nnodes != 1 or not card:
        return
    replica = VLLMReplica(0, rollout, config.actor_rollout_ref.model, gpus_per_node=1)
    _early.append(replica.start(ray.get_runtime_context().get_node_id(), card))


class VLLMReplica(RolloutReplica):  # type: ignore[misc]
    """One engine on the card of one worker."""

    async def launch_servers(self) -> None:
        mark_stage("policy")
        if self.world_size != 1:
            raise TrainingError("vLLM serves one model per card here: set tensor parallelism to 1")
        worker = self.workers[0]
        node, card = await worker.__ray_call__.remote(
            lambda _: (
                ray.get_runtime_context().get_node_id(),
                ray.get_runtime_context().get_accelerator_ids()["GPU"][0],
            )
        )
        server, ready = await self._server_on(node, str(card))
        await ready
        address, port = await server.get_server_address.remote()
        self.servers, self._server_handle = [server], server
        self._server_address = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        mark_stage("rollout")

    async def _server_on(self, node: str, card: str) -> tuple[Any, Any]:
        if _early and self.replica_rank == 0:
            server, ready = _early.pop()
            if await server.card.remote() == card:
                return server, ready
            ray.kill(server)
        return self.start(node, card)

    def start(self, node: str, card: str) -> tuple[Any, Any]:
        """The server's process, which begins to load at once, and its promise to be ready."""
        server = (
            ray.remote(VLLMServer)
            .options(
                name=_name(self.replica_rank),
                num_cpus=0,
                max_concurrency=self.max_concurrency,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
                runtime_env={"env_vars": {_NO_RESTRICTION: "1"}},
            )
            .remote(
                config=self.config,
                model_config=self.model_config,
                rollout_mode=RolloutMode.HYBRID,
                workers=[],
                replica_rank=self.replica_rank,
                node_rank=0,
                gpus_per_node=1,
                nnodes=1,
                cuda_visible_devices=card,
            )
        )
        return server, server.launch_server.remote()

    async def sleep(self) -> None:
        """Once nothing is under way."""
        await self.servers[0].wait_for_requests_to_drain.remote()
        await super().sleep()

    async def release_kv_cache(self) -> None:
        """Once nothing is under way."""
        await self.servers[0].wait_for_requests_to_drain.remote()
        await super().release_kv_cache()


RolloutReplicaRegistry.register("vllm", lambda: VLLMReplica)
