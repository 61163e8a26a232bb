"""What training holds in memory, worked out from the model's sizes.

Counted: trained weights with their gradients and Adam's two moments (float32), frozen weights, what
autograd keeps of one forward pass, what samples (vLLM, or transformers), and a round sum for everything else.
Fragmentation is not known beforehand: nine tenths of a card are taken to be usable.
"""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.config import FrameworkConfig
from coding_framework.training.plan.records import Estimate
from coding_framework.training.plan.shape import ModelShape
from coding_framework.training.rl.names import MOST_ROWS
from coding_framework.training.sft.memory import activation_bytes_per_token

GB = 10**9
USABLE_SHARE = 0.9
_TRAINED_BYTES = 16
"""Of a trained weight: itself, its gradient and Adam's two moments, in float32."""
_PROCESS_BYTES = 2 * GB
"""CUDA's context, libraries and buffers of one training process; on a host Ray and verl's processes."""
_TRANSFER_BYTES = 2 * 2**30
"""verl's buffer for weights on their way."""
_JUDGE_BYTES = 4 * GB
"""Inputs, outputs and the flushed cache of timed kernels, on a card that the judge shares."""
_JUDGE_WORKER_BYTES = GB // 2
"""One judging process with the emulator."""


@dataclass(frozen=True)
class Holding:
    """Parts of what is held at the same time, by name."""

    parts: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    def estimate(self) -> Estimate:
        words = ", ".join(f"{name} {size / GB:.1f}" for name, size in self.parts.items() if size >= 0.05 * GB)
        return Estimate(value=self.total, rests_on=f"the model's sizes, in GB: {words}")


def sft_card(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """On the card during SFT, with activations computed twice unless that was ruled out."""
    sft = config.sft
    row = sft.batch_tokens or sft.max_length * sft.batch_size
    trained = shape.parameters if sft.method == "full" else shape.adapter_parameters(sft.lora_rank)
    frozen = {"full": 0.0, "lora": 2.0, "qlora": 0.6}[sft.method]
    return Holding(
        {
            "frozen weights": frozen * shape.parameters,
            "trained weights": _TRAINED_BYTES * trained,
            "activations": _activations(shape, row, twice=sft.checkpoint_activations is not False),
            "the rest": _PROCESS_BYTES,
        }
    )


def sft_host(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """In main memory during SFT without a card."""
    sft = config.sft
    trained = shape.parameters if sft.method == "full" else shape.adapter_parameters(sft.lora_rank)
    tokens = sft.max_length * sft.batch_size
    workers = sft.workers or 1
    return Holding(
        {
            "frozen weights": 0 if sft.method == "full" else workers * 4 * shape.parameters,
            "trained weights": workers * _TRAINED_BYTES * trained,
            "activations": 2 * _activations(shape, tokens, twice=bool(sft.checkpoint_activations)),
            "the rest": workers * _PROCESS_BYTES / 2,
        }
    )


def rl_actor_card(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """On one of the actor's cards, in the fuller of its two states.

    While weights are updated vLLM may sleep; while it samples it is awake, and the actor keeps its weights
    and moments on the card.
    """
    states = (_while_updating(config, shape), _while_sampling(config, shape))
    return max(states, key=lambda held: held.total)


def _while_sampling(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """What the update alone needs is free then."""
    awake = config.rl.model_copy(update={"rollout_sleeps": False})
    parts = _while_updating(config.model_copy(update={"rl": awake}), shape).parts
    return Holding({**parts, **dict.fromkeys(("activations", "logits"), 0.0)})


def _while_updating(config: FrameworkConfig, shape: ModelShape) -> Holding:
    rl = config.rl
    workers = rl.gpus.actor or 1
    shared_reference = rl.kl_coef > 0 and not rl.lora_rank and not rl.gpus.reference
    judge_shares = config.judge.executor == "gpu" and not rl.gpus.judge
    return Holding(
        {
            **_policy(config, shape, workers),
            "critic": _critic(config, shape, workers),
            "activations": _activations(shape, rl.update_tokens or 0, twice=bool(rl.checkpoint_activations)),
            "logits": _logits(config, shape),
            "reference": 4 * shape.parameters / workers if shared_reference else 0,
            **({} if rl.gpus.rollout else _sampler(config, shape)),
            "judge": _JUDGE_BYTES if judge_shares else 0,
            "the rest": _PROCESS_BYTES,
        }
    )


def rl_host(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """In main memory during RL without a card."""
    rl = config.rl
    workers = rl.gpus.actor or 1
    policy = {name: workers * size for name, size in _policy(config, shape, workers).items()}
    tokens, servers = workers * (rl.update_tokens or 0), rl.gpus.rollout or workers
    return Holding(
        {
            **policy,
            "critic": workers * _critic(config, shape, workers),
            "activations": 2 * _activations(shape, tokens, twice=bool(rl.checkpoint_activations)),
            "logits": 3 * 4 * shape.vocab_size * tokens,
            **{name: servers * size for name, size in _sampler(config, shape).items()},
            "reference": 4 * shape.parameters if rl.kl_coef > 0 and not rl.lora_rank else 0,
            "judge": (config.judge.workers or 1) * _JUDGE_WORKER_BYTES,
            "the rest": 2 * _PROCESS_BYTES,
        }
    )


def rl_rollout_card(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """On a card that what samples has for itself."""
    return Holding(_sampler(config, shape))


def rl_reference_card(config: FrameworkConfig, shape: ModelShape) -> Holding:
    """On a card that the reference has for itself: it computes forward only."""
    cards = config.rl.gpus.reference or 1
    return Holding(
        {
            "reference": 4 * shape.parameters / cards,
            "gathered layers": 0 if cards == 1 else 4 * shape.vocab_size * shape.hidden_size,
            "activations": _activations(shape, config.rl.update_tokens or 0, twice=True),
            "logits": _logits(config, shape),
            "the rest": _PROCESS_BYTES,
        }
    )


def weights_under_way(config: FrameworkConfig, shape: ModelShape) -> float:
    """In shared memory of the host, while an engine with a card of its own gets new weights."""
    rank = config.rl.lora_rank
    size = 2 * (shape.adapter_parameters(rank) if rank else shape.parameters)
    return float(min(size, _TRANSFER_BYTES) * min(config.rl.gpus.actor or 1, config.rl.gpus.rollout or 0))


def _sampler(config: FrameworkConfig, shape: ModelShape) -> dict[str, float]:
    return _vllm(config, shape) if config.rl.rollout == "vllm" else _transformers(config, shape)


def _vllm(config: FrameworkConfig, shape: ModelShape) -> dict[str, float]:
    """16-bit weights, keys and values of the rows that are sampled at once, and graphs; asleep its context.

    As many rows as the cache may hold, and one at least.
    """
    rl = config.rl
    if rl.rollout_sleeps:
        return {"vLLM": _PROCESS_BYTES / 2}
    row = _row_bytes(config, shape)
    rows = min(512, rl.prompts_per_step * rl.group_size) * row
    cache = max(row, min(rows, rl.rollout_cache_bytes or rows))
    return {"vLLM": 2 * shape.parameters + cache + 1.5 * _PROCESS_BYTES}


def _transformers(config: FrameworkConfig, shape: ModelShape) -> dict[str, float]:
    """One server: the model, a copy of every layer that an adapter is added to, and keys and values.

    On a card also the context of its process; nothing of it sleeps.
    """
    rl, width = config.rl, 4 if config.model.dtype == "float32" else 2
    rows = min(MOST_ROWS, rl.prompts_per_step * rl.group_size)
    return {
        "sampling model": width * shape.parameters,
        "its layers without the adapter": width * shape.linear_parameters if rl.lora_rank else 0,
        "keys and values": rows * _row_bytes(config, shape) * width / 2,
        "sampling process": _PROCESS_BYTES if rl.num_gpus else 0,
    }


def _row_bytes(config: FrameworkConfig, shape: ModelShape) -> int:
    """Keys and values of the longest row, in 16 bits."""
    conversation = config.conversation
    return (conversation.max_prompt_tokens + conversation.max_response_tokens) * shape.cache_bytes_per_token


def _policy(config: FrameworkConfig, shape: ModelShape, workers: int) -> dict[str, float]:
    """Of one worker; FSDP2 cuts weights and optimizer into as many pieces as there are workers."""
    rank = config.rl.lora_rank
    trained = shape.adapter_parameters(rank) if rank else shape.parameters
    return {
        "frozen weights": 4 * shape.parameters / workers if rank else 0,
        "trained weights": _TRAINED_BYTES * trained / workers,
        "gathered layers": 0 if workers == 1 else 4 * shape.vocab_size * shape.hidden_size,
    }


def _critic(config: FrameworkConfig, shape: ModelShape, workers: int) -> float:
    """A second model of the policy's kind, whose updates come in turns with the policy's."""
    return sum(_policy(config, shape, workers).values()) if config.rl.algorithm == "ppo" else 0.0


def _activations(shape: ModelShape, tokens: int, *, twice: bool) -> float:
    everything = activation_bytes_per_token(shape)
    if not twice:
        return float(tokens * everything)
    borders = 2 * shape.hidden_size * shape.num_hidden_layers
    return float(tokens * (borders + everything / shape.num_hidden_layers))


def _logits(config: FrameworkConfig, shape: ModelShape) -> float:
    """Packed rows compute them in pieces; padded ones keep them, their softmax and its gradient."""
    if config.model.attention != "sdpa":
        return 0.5 * GB
    return float(3 * 4 * shape.vocab_size * (config.rl.update_tokens or 0))
