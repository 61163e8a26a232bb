"""Whether cards, main memory and disk hold what is planned."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.config import FrameworkConfig
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.plan import memory
from coding_framework.training.plan.advice import Phase, advice
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
    run: RunFolder | None,
) -> Iterator[Refusal]:
    """Of a model whose sizes are not known nothing is said but whether the disk can be written to."""
    if shape is not None:
        yield from _memory(config, machine, shape)
    yield from _disk(config, machine, disk, run)


def _memory(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> Iterator[Refusal]:
    yield from _context(config, shape)
    num_gpus = config.rl.num_gpus or 0
    if num_gpus <= len(machine.cards):
        yield from _cards(config, machine, shape) if num_gpus else _host(config, machine, shape)
        yield from _shared_memory(config, machine, shape)


def _context(config: FrameworkConfig, shape: ModelShape) -> Iterator[Refusal]:
    longest = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    if longest > shape.max_position_embeddings:
        yield Refusal(
            "settings",
            f"{config.model.name} reads {shape.max_position_embeddings} tokens at most, but "
            f"conversation.max_prompt_tokens + max_response_tokens are {longest}: lower them",
        )


def _cards(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> Iterator[Refusal]:
    card, cards = (
        min(machine.cards[: config.rl.num_gpus], key=lambda one: one.memory_bytes),
        len(machine.cards),
    )
    if config.sft.enabled:
        held = memory.sft_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"SFT on {card.name}", "sft", config, cards)
    if config.rl.enabled:
        held = memory.rl_actor_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"RL on {card.name}", "rl", config, cards)
    if config.rl.enabled and config.rl.gpus.rollout:
        held = memory.rl_rollout_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"sampling on {card.name}", "rl", config, cards)
    if config.rl.enabled and config.rl.gpus.reference:
        held = memory.rl_reference_card(config, shape)
        yield from _too_much(held, card.memory_bytes, f"the reference on {card.name}", "rl", config, cards)


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
        yield from _too_much(held, machine.memory_bytes, "SFT in main memory", "sft", config)
    if config.rl.enabled:
        held = memory.rl_host(config, shape)
        yield from _too_much(held, machine.memory_bytes, "RL in main memory", "rl", config)


def _too_much(
    held: Holding, there: int, where: str, phase: Phase, config: FrameworkConfig, cards: int = 0
) -> Iterator[Refusal]:
    usable = USABLE_SHARE * there
    if held.total > usable:
        parts = sorted(held.parts.items(), key=lambda part: -part[1])[:3]
        most = ", ".join(f"{name} {size / GB:.1f}" for name, size in parts)
        yield Refusal(
            "machine",
            f"{where} needs about {held.total / GB:.1f} GB (most of it: {most}); of {there / GB:.0f} GB "
            f"about {usable / GB:.1f} can be used: {advice(held, phase, config, cards)}",
        )


def _disk(
    config: FrameworkConfig, machine: Machine, disk: Estimate | Unknown, run: RunFolder | None
) -> Iterator[Refusal]:
    """What a run that is taken up again has written already is there."""
    if machine.runs_refused_because:
        yield Refusal(
            "disk",
            f"runs are kept in run.output_dir, {config.run.output_dir}, but {machine.runs_refused_because}: "
            "name another folder",
        )
        return
    fetched = fetched_bytes(config)
    free, cache = machine.free_disk_bytes, machine.free_cache_bytes
    needed = max(0, disk.value - _written(run)) if isinstance(disk, Estimate) else 0
    beside = fetched if machine.one_disk else 0
    if free is not None and needed + beside > free:
        model = f" and {beside / GB:.1f} GB for fetching {config.model.name}" if beside else ""
        more = "more " if run is not None else ""
        yield Refusal(
            "disk",
            f"a run needs up to {needed / GB:.1f} GB {more}of disk{model}, and {free / GB:.1f} GB are free "
            f"at {config.run.output_dir}: make room or set run.output_dir to another disk",
        )
    elif cache is not None and fetched > cache:
        yield Refusal(
            "disk",
            f"fetching {config.model.name} needs up to {fetched / GB:.1f} GB of disk and {cache / GB:.1f} GB "
            "are free in the cache folder: make room or move it with CODING_FRAMEWORK_CACHE",
        )


def fetched_bytes(config: FrameworkConfig) -> int:
    """At most, while an embedded model is downloaded and converted; 0 if it is here, or not known."""
    embedded = EMBEDDED_MODELS.get(config.model.name)
    return 0 if embedded is None or model_folder(embedded.name) else 4 * embedded.download_bytes


def _written(run: RunFolder | None) -> int:
    return sum(file.stat().st_size for file in run.path.rglob("*") if file.is_file()) if run else 0
