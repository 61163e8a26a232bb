"""Which process stands on which card, and which worker sends its weights to which server.

With `rl.gpus.rollout` the engines have cards of their own, as many as there are cards, whatever the number
of workers; else each stands on the card of the worker with its number.
"""

from __future__ import annotations

import os
from typing import Any

from coding_framework.training.rl.placement import servers_of
from coding_framework.training.rl.worker_settings import WorkerSettings


async def place_of(worker: Any) -> tuple[str, str]:
    """(node, card) of one of verl's workers."""
    import ray

    node, card = await worker.__ray_call__.remote(
        lambda _: (
            ray.get_runtime_context().get_node_id(),
            ray.get_runtime_context().get_accelerator_ids()["GPU"][0],
        )
    )
    return str(node), str(card)


def on_card(node: str, card: str | None) -> dict[str, Any]:
    """Options of a Ray actor that stands on one node, and sees that card alone where one is named."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=node, soft=False)}
    if card is None:
        return there
    seen = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": card}
    return {**there, "runtime_env": {"env_vars": seen}}


def own_servers() -> list[int]:
    """Numbers of the servers that this worker of the actor sends its weights to."""
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    apart = WorkerSettings.from_environment().rl.gpus.rollout
    return servers_of(rank, workers, apart) if apart else [rank]
