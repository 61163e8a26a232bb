"""The phases of a training with their sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.config import FrameworkConfig, RLConfig, SFTConfig
from coding_framework.config.tree import MOST_PASSES
from coding_framework.data.sources.book import find_task
from coding_framework.data.tasks.split import evaluation_tasks, held_out_names
from coding_framework.training.plan import memory, pace
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.progress import Progress
from coding_framework.training.plan.records import Estimate, Phase, PhasePlan, Unknown
from coding_framework.training.plan.shape import ModelShape, model_folder
from coding_framework.training.rl.prompts_file import num_prompts


def phases(
    config: FrameworkConfig,
    machine: Machine,
    shape: ModelShape | None,
    tasks: Sequence[str],
    progress: Progress,
) -> tuple[PhasePlan, ...]:
    """In the order in which they run; those that are switched off are left out."""
    found = _phases(_Setting(config, machine, shape, tuple(tasks), progress))
    return tuple(one.model_copy(update={"finished": one.name in progress.finished}) for one in found)


@dataclass(frozen=True)
class _Setting:
    """What a phase is worked out from."""

    config: FrameworkConfig
    machine: Machine
    shape: ModelShape | None
    tasks: tuple[str, ...]
    progress: Progress


def _phases(at: _Setting) -> Iterator[PhasePlan]:
    yield _model(at.config)
    if at.config.sft.enabled:
        yield from _sft(at)
    if at.config.rl.enabled:
        yield from _rl(at)
    yield _evaluation(at)


def _model(config: FrameworkConfig) -> PhasePlan:
    name = config.model.name
    if model_folder(name) is not None:
        return PhasePlan(
            name="model",
            what=f"{name}, which is on this machine",
            seconds=Estimate(value=0, rests_on=""),
        )
    embedded = EMBEDDED_MODELS.get(name)
    size = f", {embedded.download_bytes / 1e6:,.0f} MB" if embedded else ""
    return PhasePlan(
        name="model",
        what=f"fetch {name}{size}",
        seconds=Unknown(because="how fast the network is was not tried"),
    )


def _sft(at: _Setting) -> Iterator[PhasePlan]:
    sft, progress = at.config.sft, at.progress
    families = {find_task(at.config.tasks, name).family for name in at.tasks}
    planned = sft.pairs if sft.pairs is not None else sft.pairs_of_a_family * len(families)
    whence = "" if sft.pairs is not None else f" of each of {len(families)} families"
    yield PhasePlan(
        name="pairs",
        tasks=at.tasks,
        what=f"{sft.pairs or sft.pairs_of_a_family:,} judged pairs{whence}",
        seconds=pace.pairs_seconds(at.config, at.machine, planned),
    )
    pairs = progress.pairs or planned
    steps, done = _sft_steps(sft, pairs), progress.steps.get("sft", 0)
    yield PhasePlan(
        name="sft",
        steps=steps,
        steps_done=min(done, steps),
        tasks=at.tasks,
        what=f"{sft.pairs_per_step:,} {'pair' if sft.pairs_per_step == 1 else 'pairs'} a step"
        f"{_passes(sft, steps, pairs)}, "
        f"{_trained(sft)}{_for_whom(sft)}, learning rate {sft.peak_learning_rate:g}",
        seconds=pace.sft_seconds(at.config, at.machine, at.shape, max(0, steps - done)),
        memory_bytes=_memory(at.config, at.shape, memory.sft_card, memory.sft_host),
    )


def _passes(sft: SFTConfig, steps: int, pairs: int) -> str:
    """Over the pairs, of all adapters."""
    passes = steps * sft.gradient_accumulation_steps / math.ceil(pairs / sft.batch_size)
    number = f"{passes:.2g}" if passes < 100 else f"{passes:,.0f}"
    words = f", {number} {'pass' if number == '1' else 'passes'} over the pairs"
    return words + (" (more than two mostly learn them by heart)" if passes > MOST_PASSES + 0.5 else "")


def _trained(sft: SFTConfig) -> str:
    kind = {"lora": f"adapter of rank {sft.lora_rank}", "qlora": f"4-bit, adapter of rank {sft.lora_rank}"}
    return kind.get(sft.method, "all weights")


def _sft_steps(sft: SFTConfig, pairs: int) -> int:
    """Of all adapters; how many pairs each agent will have is known once they are judged."""
    if sft.adapters == "shared":
        return sft.num_steps(pairs)
    return len(sft.agents) * sft.num_steps(max(1, pairs // len(sft.agents)))


def _for_whom(sft: SFTConfig) -> str:
    return f", one each for {' and '.join(sft.agents)}" if sft.adapters == "per_agent" else ""


def _rl(at: _Setting) -> Iterator[PhasePlan]:
    turns, openings = at.config.conversation.max_turns, num_prompts(at.config.rl)
    if at.config.rl.adapters == "shared":
        yield _rl_of("rl", at, turns, f"up to {turns} turns" if turns > 1 else "one turn")
        return
    yield _rl_of("rl_generator", at, 1, "first kernels")
    more = "one turn" if turns == 2 else f"{turns - 1} turns at most"
    yield _rl_of("rl_optimizer", at, turns - 1, f"{more} after one of {openings:,} openings", openings)


def _rl_of(name: Phase, at: _Setting, turns: int, what: str, openings: int = 0) -> PhasePlan:
    """One policy, in episodes of at most so many turns of its own."""
    rl, done = at.config.rl, at.progress.steps.get(name, 0)
    trained = f"adapter of rank {rl.lora_rank}" if rl.lora_rank else "all weights"
    left = max(0, rl.steps - done)
    return PhasePlan(
        name=name,
        steps=rl.steps,
        steps_done=min(done, rl.steps),
        episodes=rl.steps * rl.prompts_per_step * rl.group_size,
        tasks=at.tasks,
        what=f"{_algorithm(rl)}, {rl.prompts_per_step} tasks × {rl.group_size} episodes a step, "
        f"{what}, {trained}, learning rate {rl.learning_rate:g}{_updates(rl)}{_kl(rl)}",
        seconds=pace.rl_seconds(at.config, at.machine, at.shape, left, turns, openings),
        memory_bytes=_memory(at.config, at.shape, memory.rl_actor_card, memory.rl_host),
    )


def _algorithm(rl: RLConfig) -> str:
    if rl.algorithm == "ppo":
        return f"PPO with a critic ({rl.ppo.critic_warmup_steps} steps of it alone)"
    extra = rl.draws_per_step - rl.prompts_per_step
    return f"DAPO (up to {extra} tasks more a step)" if rl.algorithm == "dapo" else "GRPO"


def _updates(rl: RLConfig) -> str:
    passes = f", each step gone through {rl.epochs} times" if rl.epochs > 1 else ""
    return passes + (f", in updates of {rl.update_turns} turns" if rl.update_turns else "")


def _kl(rl: RLConfig) -> str:
    return f", KL kept within {rl.kl_band.low}–{rl.kl_band.high}" if rl.kl_band.enabled else ""


def _evaluation(at: _Setting) -> PhasePlan:
    config = at.config
    tasks, samples = evaluation_tasks(config), config.evaluation.samples_per_task
    models = 1 + config.sft.enabled + config.rl.enabled
    done = sum(name.startswith("evaluation_") for name in at.progress.finished)
    left = models - done
    return PhasePlan(
        name="evaluation",
        episodes=models * len(tasks) * samples,
        tasks=tasks,
        held_out=held_out_names(config.tasks),
        what=f"{models} models × {len(tasks)} tasks × {samples} samples"
        + (f", {done} of the models done" if done and left else ""),
        seconds=pace.evaluation_seconds(config, at.machine, at.shape, left, len(tasks) * samples),
    )


def _memory(
    config: FrameworkConfig,
    shape: ModelShape | None,
    on_card: Callable[[FrameworkConfig, ModelShape], memory.Holding],
    on_host: Callable[[FrameworkConfig, ModelShape], memory.Holding],
) -> Estimate | Unknown:
    if shape is None:
        return Unknown(because=f"the sizes of {config.model.name} are known once it is fetched")
    return (on_card if config.rl.num_gpus else on_host)(config, shape).estimate()
