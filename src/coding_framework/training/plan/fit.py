"""What the memory of the cards decides: how large a piece of the update is, and what has to give way.

In this order, as long as it does not fit: smaller pieces (nearly free), activations computed twice (a
third more work), fewer answers sampled at once, vLLM asleep during the update (waking costs seconds),
and again fewer answers at once, because vLLM is awake while it samples.
What was given stays as given.
Of a model whose sizes are not known the safest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coding_framework.config import FrameworkConfig, RLConfig
from coding_framework.training.plan import memory
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.shape import ModelShape

_LARGE_PIECE = 16_384
_SMALL_PIECE = 4_096
"""Tokens of a piece that keep a large card busy, and the least that do."""


def fit(config: FrameworkConfig, machine: Machine, shape: ModelShape | None) -> FrameworkConfig:
    """The config with `rl.update_tokens`, activations of SFT and the update and what vLLM takes settled."""
    config = _fit_sft(config, machine, shape)
    there = _memory_bytes(config, machine)
    samplers, updates = list(_samplers(config.rl, there)), list(_updates(config))
    pairs = [(sampler, update) for sampler in samplers for update in updates]
    pairs.append((samplers[-1], _last_resort(config)))
    choices = [
        config.model_copy(update={"rl": config.rl.model_copy(update={**sampler, **update})})
        for sampler, update in pairs
    ]
    if shape is None:
        return choices[-1]
    enough = (one for one in choices if _most(one, shape) <= memory.USABLE_SHARE * there)
    return next(enough, choices[-1])


def _fit_sft(config: FrameworkConfig, machine: Machine, shape: ModelShape | None) -> FrameworkConfig:
    """Of packed rows; of a model whose sizes are not known SFT itself decides, once it is loaded."""
    sft = config.sft
    packed = bool(config.rl.num_gpus and sft.enabled) and config.model.attention != "sdpa"
    if shape is None or not packed or sft.checkpoint_activations is not None:
        return config
    card = min((one.memory_bytes for one in machine.cards[: sft.workers]), default=0)
    keeping = config.model_copy(update={"sft": sft.model_copy(update={"checkpoint_activations": False})})
    if memory.sft_card(keeping, shape).total <= memory.USABLE_SHARE * card:
        return keeping
    return config.model_copy(update={"sft": sft.model_copy(update={"checkpoint_activations": True})})


def _most(config: FrameworkConfig, shape: ModelShape) -> float:
    """Held on the fullest card, or by the host."""
    if not config.rl.num_gpus:
        return memory.rl_host(config, shape).total
    own = [memory.rl_rollout_card] if config.rl.gpus.rollout else []
    return max(held(config, shape).total for held in (memory.rl_actor_card, *own))


def _memory_bytes(config: FrameworkConfig, machine: Machine) -> int:
    cards = machine.cards[: config.rl.num_gpus] if config.rl.num_gpus else ()
    return min((card.memory_bytes for card in cards), default=machine.memory_bytes)


def _samplers(rl: RLConfig, card_bytes: int) -> Iterator[Mapping[str, object]]:
    """How much vLLM takes, best first."""
    if rl.rollout != "vllm":
        yield {}
        return
    whole = int(card_bytes * (rl.rollout_memory_share or 0))
    given = rl.rollout_cache_bytes
    caches = [given] if given else [whole, whole // 2, whole // 4, whole // 8]
    if not rl.rollout_sleeps:
        yield from ({"rollout_cache_bytes": cache, "rollout_sleeps": False} for cache in caches[:3])
    if rl.rollout_sleeps or (rl.rollout_sleeps is None and not rl.gpus.rollout):
        yield from ({"rollout_cache_bytes": cache, "rollout_sleeps": True} for cache in caches)


def _updates(config: FrameworkConfig) -> Iterator[Mapping[str, object]]:
    """How the update is cut, best first."""
    rl, longest = config.rl, _longest_row(config)
    large = [max(longest, size) for size in (_LARGE_PIECE, _LARGE_PIECE // 2, _SMALL_PIECE)]
    pieces = [rl.update_tokens] if rl.update_tokens else dict.fromkeys(large if rl.num_gpus else [longest])
    for twice in (False, True) if rl.checkpoint_activations is None else (rl.checkpoint_activations,):
        for tokens in pieces:
            yield {"update_tokens": tokens, "checkpoint_activations": twice}


def _last_resort(config: FrameworkConfig) -> dict[str, object]:
    """One row at a time."""
    rl = config.rl
    return {
        "update_tokens": rl.update_tokens or _longest_row(config),
        "checkpoint_activations": rl.checkpoint_activations is not False,
    }


def _longest_row(config: FrameworkConfig) -> int:
    return config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
