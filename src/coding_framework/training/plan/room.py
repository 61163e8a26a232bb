"""Whether cards, main memory and disk hold what is planned."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.config import FrameworkConfig
from coding_framework.training.plan import memory
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.memory import GB, USABLE_SHARE, Holding
from coding_framework.training.plan.records import Estimate, Unknown
from coding_framework.training.plan.refusals import Refusal
from coding_framework.training.plan.shape import ModelShape, model_folder


def no_room(
    config: FrameworkConfig,
    machine: Machine,
    shape: ModelShape | None,
    disk: Estimate | Unknown,
    *,
    new: bool,
) -> Iterator[Refusal]:
    """Nothing is said of a model whose sizes are not known."""
    if shape is None:
        return
    yield from _context(config, shape)
    num_gpus = config.rl.num_gpus or 0
    if num_gpus <= len(machine.cards):
        yield from _cards(config, machine, shape) if num_gpus else _host(config, machine, shape)
        yield from _shared_memory(config, machine, shape)
    if new and isinstance(disk, Estimate):
        yield from _disk(config, machine, disk)


def _context(config: FrameworkConfig, shape: ModelShape) -> Iterator[Refusal]:
    longest = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    if longest > shape.max_position_embeddings:
        yield Refusal(
            "settings",
            f"{config.model.name} reads {shape.max_position_embeddings} tokens at most, but "
            f"conversation.max_prompt_tokens + max_response_tokens are {longest}: lower them",
        )


def _cards(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> Iterator[Refusal]:
    card = min(machine.cards[: config.rl.num_gpus], key=lambda one: one.memory_bytes)
    if config.sft.enabled:
        held = memory.sft_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"SFT on {card.name}", _SFT_ADVICE)
    if config.rl.enabled:
        held = memory.rl_actor_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"RL on {card.name}", _RL_ADVICE)
    if config.rl.enabled and config.rl.gpus.rollout:
        held = memory.rl_rollout_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"sampling on {card.name}", _RL_ADVICE)
    if config.rl.enabled and config.rl.gpus.reference:
        held = memory.rl_reference_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"the reference on {card.name}", _RL_ADVICE)


def _shared_memory(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> Iterator[Refusal]:
    free = machine.free_shared_bytes
    needed = memory.weights_under_way(config, shape) if config.rl.rollout == "vllm" else 0
    if config.rl.enabled and free is not None and needed > free:
        yield Refusal(
            "machine",
            f"new weights travel to rl.gpus.rollout through /dev/shm, which needs {needed / GB:.1f} GB "
            f"there, and {free / GB:.1f} GB are free: make it larger (docker run --shm-size), or set "
            "rl.gpus.rollout=0",
        )


def _host(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> Iterator[Refusal]:
    if config.sft.enabled:
        held = memory.sft_host(config, shape)
        yield from _too_much(held, machine.memory_bytes, "SFT in main memory", _SFT_ADVICE)
    if config.rl.enabled:
        held = memory.rl_host(config, shape)
        yield from _too_much(held, machine.memory_bytes, "RL in main memory", _RL_ADVICE)


_SFT_ADVICE = "lower sft.batch_size, sft.batch_tokens or sft.max_length, or take a smaller model.name"
_RL_ADVICE = (
    "lower the rows (conversation.max_prompt_tokens, max_response_tokens), or take a smaller model.name"
)


def _too_much(held: Holding, there: int, where: str, advice: str) -> Iterator[Refusal]:
    if held.total > USABLE_SHARE * there:
        parts = sorted(held.parts.items(), key=lambda part: -part[1])[:3]
        most = ", ".join(f"{name} {size / GB:.1f}" for name, size in parts)
        yield Refusal(
            "machine",
            f"{where} needs about {held.total / GB:.0f} GB (most of it: {most}), and {there / GB:.0f} GB are "
            f"there: {advice}",
        )


def _disk(config: FrameworkConfig, machine: Machine, disk: Estimate) -> Iterator[Refusal]:
    free = machine.free_disk_bytes
    embedded = EMBEDDED_MODELS.get(config.model.name)
    if free is not None and disk.value > free:
        yield Refusal(
            "disk",
            f"a run needs up to {disk.value / GB:.1f} GB of disk and {free / GB:.1f} GB are free at "
            f"{config.run.output_dir}: make room or set run.output_dir to another disk",
        )
    cache = machine.free_cache_bytes
    needed = 0 if embedded is None or model_folder(embedded.name) else 4 * embedded.download_bytes
    if cache is not None and needed > cache:
        yield Refusal(
            "disk",
            f"fetching {config.model.name} needs up to {needed / GB:.1f} GB of disk and {cache / GB:.1f} GB "
            "are "
            "free in the cache folder: make room or move it with CODING_FRAMEWORK_CACHE",
        )
