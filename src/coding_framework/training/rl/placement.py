"""Who gets which card, in verl's and Ray's words.

The actor's workers are `rl.gpus.actor` under FSDP2. On a machine without a GPU the same number are
processes on gloo, and Ray's `GPU` is a logical slot.
"""

from __future__ import annotations

from collections.abc import Mapping

from coding_framework.config import FrameworkConfig


def placement(config: FrameworkConfig) -> Mapping[str, int]:
    """verl's settings for the cards of a resolved config."""
    actor = config.rl.gpus.actor or 1
    return {
        "trainer.nnodes": 1,
        "trainer.n_gpus_per_node": actor,
        "+ray_kwargs.ray_init.num_gpus": actor,
    }
