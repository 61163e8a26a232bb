"""What a run leaves on the disk, and what it needs until then.

A finished phase leaves its model and its last checkpoint with the optimizer, from which it can be
extended. While it runs there are two finished checkpoints and one that is being written.
"""

from __future__ import annotations

from coding_framework.config import FrameworkConfig, SFTConfig
from coding_framework.training.plan.records import Estimate, Unknown
from coding_framework.training.plan.shape import ModelShape

_LOGS_BYTES = 0.02e9
"""Tokenizers, pairs, conversations, logs and the report."""
_FURTHER_CHECKPOINTS = 2
"""While a phase runs."""
_TRAINED_BYTES = 12
"""A weight and its two moments, in float32."""


def disk_left(config: FrameworkConfig, shape: ModelShape | None) -> Estimate | Unknown:
    """By a finished run."""
    if shape is None:
        return _unknown(config)
    size = _LOGS_BYTES
    size += _sft_left(config.sft, shape) if config.sft.enabled else 0
    size += _rl_left(config, shape) if config.rl.enabled else 0
    return Estimate(value=size, rests_on="exported models, and the checkpoints from which a run is extended")


def disk_at_most(config: FrameworkConfig, shape: ModelShape | None) -> Estimate | Unknown:
    """At the worst moment of a run."""
    left = disk_left(config, shape)
    if shape is None or isinstance(left, Unknown):
        return _unknown(config)
    checkpoints = [_sft_trained(config.sft, shape) if config.sft.enabled else 0]
    checkpoints += [_rl_trained(config, shape) if config.rl.enabled else 0]
    further = _TRAINED_BYTES * max(checkpoints) + (_critic(config, shape) if config.rl.enabled else 0)
    return Estimate(value=left.value + _FURTHER_CHECKPOINTS * further, rests_on=left.rests_on)


def _unknown(config: FrameworkConfig) -> Unknown:
    return Unknown(because=f"the sizes of {config.model.name} are known once it is fetched")


def _sft_left(sft: SFTConfig, shape: ModelShape) -> float:
    """The model in 16 bits, the adapter in 32, and the checkpoint: of each agent, where each has its own."""
    trained = _sft_trained(sft, shape)
    adapter = 0 if sft.method == "full" else trained
    number = len(sft.agents) if sft.adapters == "per_agent" else 1
    return number * (2 * shape.parameters + 4 * adapter + _TRAINED_BYTES * trained)


def _rl_left(config: FrameworkConfig, shape: ModelShape) -> float:
    """The same without the adapter, of each policy; all weights that were trained in float32 stay so."""
    stays_long = not config.rl.lora_rank and config.model.dtype == "float32"
    policy = (4 if stays_long else 2) * shape.parameters + _TRAINED_BYTES * _rl_trained(config, shape)
    return config.rl.all_steps // config.rl.steps * (policy + _critic(config, shape))


def _critic(config: FrameworkConfig, shape: ModelShape) -> float:
    """A checkpoint of it holds the weights below its adapter too."""
    if config.rl.algorithm != "ppo":
        return 0
    return 4 * shape.parameters + 8 * _rl_trained(config, shape)


def _sft_trained(sft: SFTConfig, shape: ModelShape) -> int:
    return shape.parameters if sft.method == "full" else shape.adapter_parameters(sft.lora_rank)


def _rl_trained(config: FrameworkConfig, shape: ModelShape) -> int:
    rank = config.rl.lora_rank
    return shape.adapter_parameters(rank) if rank else shape.parameters
