"""verl's synchronous trainer with parts that have cards of their own.

verl places actor, reference and rollout on the same cards. Its trainer has the seams for more: which role
uses which pool of cards, and whether engines stand beside the workers. Both are set here, from
`rl.gpus`; everything else stays verl's. Steps stay synchronous: while the actor computes, cards
of the others wait.

Guaranteed: engines on cards of their own hold the weights of the last update before anything is sampled,
as with shared cards, because the same call sends them. Requests go to the engine with the fewest.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

import ray
from verl.single_controller.ray import ResourcePoolManager
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.llm_server import LLMServerManager

from coding_framework.config import GPUAllocation
from coding_framework.training.rl.placement import rollout_cards
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.worker_settings import WorkerSettings

_REFERENCE_POOL = "reference_pool"


class PolicyWorker(ActorRolloutRefWorker):  # type: ignore[misc]
    """Actor and sender of weights, where verl gives the role of the actor alone."""

    def __init__(self, config: Any, role: str, **settings: Any) -> None:
        super().__init__(config=config, role=str(Role.ActorRollout), **settings)


class ServersApart(LLMServerManager):  # type: ignore[misc]
    """Engines on cards of their own, on the machine of the trainer."""

    async def _initialize_llm_servers(self, start_rank: int | None = None) -> None:
        cards, node = rollout_cards(_gpus()), ray.get_runtime_context().get_node_id()
        self.rollout_replicas = [
            self.rollout_replica_class(
                replica_rank=rank, config=self.rollout_config, model_config=self.model_config, gpus_per_node=1
            )
            for rank in range(len(cards))
        ]
        pairs = zip(self.rollout_replicas, cards, strict=True)
        await asyncio.gather(*(replica.launch_apart(node, card) for replica, card in pairs))
        self.server_handles = [replica.server_handle for replica in self.rollout_replicas]
        self.server_addresses = [replica.server_address for replica in self.rollout_replicas]


class PlacedTrainer(PPOTrainerSync):  # type: ignore[misc]
    """Who has which cards."""

    resource_pool_manager: Any

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        gpus = _gpus()
        if gpus.reference and Role.ActorRolloutRef in self.role_worker_mapping:
            self._give_cards_to_the_reference(gpus.reference)
        self._enable_hybrid_replicas = not gpus.rollout

    def _give_cards_to_the_reference(self, cards: int) -> None:
        del self.role_worker_mapping[Role.ActorRolloutRef], self.mapping[Role.ActorRolloutRef]
        self.role_worker_mapping |= {
            Role.Actor: ray.remote(PolicyWorker),
            Role.RefPolicy: ray.remote(ActorRolloutRefWorker),
        }
        self.mapping |= {Role.Actor: "global_pool", Role.RefPolicy: _REFERENCE_POOL}
        pools = dict(self.resource_pool_manager.resource_pool_spec)
        pools[_REFERENCE_POOL] = [cards] * int(self.config.trainer.nnodes)
        self.resource_pool_manager = ResourcePoolManager(resource_pool_spec=pools, mapping=self.mapping)

    def _setup(self) -> None:
        super()._setup()
        if not self._enable_hybrid_replicas:
            mark_stage("policy")
            self.llm_server_manager = ServersApart.create(
                config=self.config, worker_group=self.actor_rollout_wg
            )

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        """Workers of the reference get equally many rows as well."""
        reference = (_gpus().reference or 0) * int(self.config.trainer.nnodes)
        return math.lcm(dp_size, int(self.config.actor_rollout_ref.rollout.n), reference or 1)


def _gpus() -> GPUAllocation:
    return WorkerSettings.from_environment().rl.gpus
