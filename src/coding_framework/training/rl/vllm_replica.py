"""verl plug-in: vLLM starts beside the policy, not after it.

Most of the start of a run is vLLM's: it loads its libraries twice, compiles and records graphs. verl
begins that when the policy is loaded. Here it began long before (`vllm_server.start_early`), and
`launch_servers` only waits for what is under way. Nothing is measured meanwhile that the other could
disturb: vLLM is told the size of its cache (`overrides`) and does not probe the card for it.

Guaranteed: a server stands on the card of the worker that it samples for, or on the one that was given
it; one that was started on another card is ended and started anew. Not supported: an engine on several
cards.
"""

from __future__ import annotations

from typing import Any

import ray
from verl.workers.rollout.base import _ROLLOUT_REGISTRY
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from coding_framework.errors import TrainingError
from coding_framework.training.rl.own_cards import place_of
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.vllm_server import early_servers, start_server


class VLLMReplica(RolloutReplica):  # type: ignore[misc]
    """One engine on one card."""

    async def launch_servers(self) -> None:
        """On the card of the worker that it samples for."""
        mark_stage("policy")
        if self.world_size != 1:
            raise TrainingError("vLLM serves one model per card here: set tensor parallelism to 1")
        await self._start(*await place_of(self.workers[0]))

    async def launch_apart(self, node: str, card: str) -> None:
        """On a card of its own."""
        await self._start(node, card)

    async def _start(self, node: str, card: str) -> None:
        server, ready = await self._server_on(node, card)
        await ready
        address, port = await server.get_server_address.remote()
        self.servers, self._server_handle = [server], server
        self._server_address = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        mark_stage("rollout")

    async def _server_on(self, node: str, card: str) -> tuple[Any, Any]:
        server, ready = early_servers.pop(self.replica_rank, (None, None))
        if server is not None:
            if await server.card.remote() == card:
                return server, ready
            ray.kill(server)
        return start_server(self.config, self.model_config, self.replica_rank, node, card)

    async def sleep(self) -> None:
        """Once nothing is under way."""
        await self.servers[0].wait_for_requests_to_drain.remote()
        await super().sleep()

    async def release_kv_cache(self) -> None:
        """Once nothing is under way."""
        await self.servers[0].wait_for_requests_to_drain.remote()
        await super().release_kv_cache()


RolloutReplicaRegistry.register("vllm", lambda: VLLMReplica)
_ROLLOUT_REGISTRY[("vllm", "async")] = "coding_framework.training.rl.vllm_sender.VLLMSender"
