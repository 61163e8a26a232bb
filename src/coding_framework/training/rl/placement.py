"""Who gets which card, in verl's and Ray's words.

The cards of a machine are given out in this order: actor (FSDP2), reference, rollout, judge. Ray is told
the first two only and hands them to verl's workers; the engines of the rollout are started on theirs by
number (`rollout_cards`), and the judge opens its own. On a machine without a GPU the same numbers are
processes, and Ray's `GPU` is a logical slot.

A cluster that runs already (`rl.ray_address`) has its own numbers: nothing is told it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from coding_framework.config import FrameworkConfig, GPUAllocation
from coding_framework.training.rl.paths import RLPaths

Value = str | int | bool
_OBJECT_STORE_BYTES = 400_000_000
_CPU_SLOTS_OF_A_WORKER = 3
"""verl reserves so many beside each GPU slot, for processes that share it."""
_CPU_SLOTS_OF_HELPERS = 5
"""Logical: verl's helper actors each ask for one and mostly wait."""


def placement(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    """verl's settings for the cards of a resolved config."""
    return {
        "trainer.nnodes": config.rl.nodes,
        "trainer.n_gpus_per_node": config.rl.gpus.actor or 1,
        **_engines(config.rl.gpus.rollout or 0),
        **_ray(config, paths),
    }


def _engines(apart: int) -> Mapping[str, Value]:
    """verl wants to know of those that are not beside its workers."""
    rollout = "actor_rollout_ref.rollout"
    return {f"{rollout}.nnodes": 1, f"{rollout}.n_gpus_per_node": apart} if apart else {}


def _ray(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    prefix = "+ray_kwargs.ray_init"
    if config.rl.ray_address is not None:
        return {f"{prefix}.address": config.rl.ray_address}
    workers = (config.rl.gpus.actor or 1) + (config.rl.gpus.reference or 0)
    judges = (config.judge.workers or 1) if config.judge.pool == "ray" else 0
    return {
        "ray_kwargs.ray_init.num_cpus": _CPU_SLOTS_OF_HELPERS + _CPU_SLOTS_OF_A_WORKER * workers + judges,
        f"{prefix}.num_gpus": workers,
        f"{prefix}.address": "local",
        f"{prefix}.include_dashboard": False,
        f"{prefix}.object_store_memory": _OBJECT_STORE_BYTES,
        f"{prefix}._temp_dir": str(paths.ray_temp_dir),
    }


def rollout_cards(gpus: GPUAllocation) -> list[str]:
    """Those that engines have for themselves, as CUDA_VISIBLE_DEVICES names them."""
    first = (gpus.actor or 1) + (gpus.reference or 0)
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return [visible[card] if visible else str(card) for card in range(first, first + (gpus.rollout or 0))]


def servers_of(worker: int, num_workers: int, num_servers: int) -> list[int]:
    """The servers that a worker of the actor sends its weights to; each server has one sender."""
    return list(range(worker, num_servers, num_workers))
