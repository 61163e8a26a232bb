"""The phases of a training with their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.config import FrameworkConfig, RLConfig, SFTConfig
from coding_framework.data.tasks import get_task
from coding_framework.data.tasks.split import evaluation_tasks, held_out_names
from coding_framework.training.plan import memory, pace
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.records import Estimate, Phase, PhasePlan, Unknown
from coding_framework.training.plan.shape import ModelShape, model_folder
from coding_framework.training.plan.task_order import drawn_tasks
from coding_framework.training.rl.prompts_file import num_prompts


def phases(
    config: FrameworkConfig,
    machine: Machine,
    shape: ModelShape | None,
    tasks: Sequence[str],
    finished: frozenset[str],
) -> tuple[PhasePlan, ...]:
    """In the order in which they run; those that are switched off are left out."""
    found = _phases(config, machine, shape, tasks)
    return tuple(one.model_copy(update={"finished": one.name in finished}) for one in found)


def _phases(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, tasks: Sequence[str]
) -> Iterator[PhasePlan]:
    yield _model(config)
    if config.sft.enabled:
        yield from _sft(config, machine, shape, tasks)
    if config.rl.enabled:
        yield from _rl(config, machine, shape, drawn_tasks(config, tasks))
    yield _evaluation(config, machine, shape)


def _model(config: FrameworkConfig) -> PhasePlan:
    name = config.model.name
    if model_folder(name) is not None:
        return PhasePlan(
            name="model",
            what=f"{name}, which is on this machine",
            seconds=Estimate(value=0, rests_on="nothing has to be fetched"),
        )
    embedded = EMBEDDED_MODELS.get(name)
    size = f", {embedded.download_bytes / 1e6:,.0f} MB" if embedded else ""
    return PhasePlan(
        name="model",
        what=f"fetch {name}{size}",
        seconds=Unknown(because="how fast the network is was not tried"),
    )


def _sft(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, tasks: Sequence[str]
) -> Iterator[PhasePlan]:
    sft = config.sft
    families = {get_task(name).family for name in tasks}
    pairs = sft.pairs if sft.pairs is not None else sft.pairs_per_family * len(families)
    whence = "" if sft.pairs is not None else f" of each of {len(families)} families"
    yield PhasePlan(
        name="pairs",
        tasks=tuple(tasks),
        what=f"{sft.pairs or sft.pairs_per_family:,} judged pairs{whence}",
        seconds=pace.pairs_seconds(config, machine, pairs),
    )
    steps = _sft_steps(sft, pairs)
    kind = {"lora": f"adapter of rank {sft.lora_rank}", "qlora": f"4-bit, adapter of rank {sft.lora_rank}"}
    yield PhasePlan(
        name="sft",
        steps=steps,
        tasks=tuple(tasks),
        what=f"{sft.batch_size * sft.gradient_accumulation_steps} pairs a step, "
        f"{kind.get(sft.method, 'all weights')}{_for_whom(sft)}",
        seconds=pace.sft_seconds(config, machine, shape, steps),
        memory_bytes=_memory(config, shape, memory.sft_card, memory.sft_host),
    )


def _sft_steps(sft: SFTConfig, pairs: int) -> int:
    """Of all adapters; how many pairs each agent will have is known once they are judged."""
    if sft.adapters == "shared":
        return sft.num_steps(pairs)
    return len(sft.agents) * sft.num_steps(max(1, pairs // len(sft.agents)))


def _for_whom(sft: SFTConfig) -> str:
    return f", one each for {' and '.join(sft.agents)}" if sft.adapters == "per_agent" else ""


def _rl(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, tasks: Sequence[str]
) -> Iterator[PhasePlan]:
    turns, openings = config.conversation.max_turns, num_prompts(config.rl)
    if config.rl.adapters == "shared":
        yield _rl_of("rl", config, machine, shape, tasks, turns, f"up to {turns} turns")
        return
    yield _rl_of("rl_generator", config, machine, shape, tasks, 1, "first kernels")
    what = f"{turns - 1} turns at most after one of {openings:,} openings"
    yield _rl_of("rl_optimizer", config, machine, shape, tasks, turns - 1, what, openings)


def _rl_of(
    name: Phase,
    config: FrameworkConfig,
    machine: Machine,
    shape: ModelShape | None,
    tasks: Sequence[str],
    turns: int,
    what: str,
    openings: int = 0,
) -> PhasePlan:
    """One policy, in episodes of at most so many turns of its own."""
    rl = config.rl
    trained = f"adapter of rank {rl.lora_rank}" if rl.lora_rank else "all weights"
    return PhasePlan(
        name=name,
        steps=rl.steps,
        episodes=rl.steps * rl.prompts_per_step * rl.group_size,
        tasks=tuple(tasks),
        what=f"{_algorithm(rl)}, {rl.prompts_per_step} tasks × {rl.group_size} episodes a step, "
        f"{what}, {trained}{_updates(rl)}{_kl(rl)}",
        seconds=pace.rl_seconds(config, machine, shape, turns, openings),
        memory_bytes=_memory(config, shape, memory.rl_actor_card, memory.rl_host),
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


def _evaluation(config: FrameworkConfig, machine: Machine, shape: ModelShape | None) -> PhasePlan:
    tasks = evaluation_tasks(config)
    models = 1 + config.sft.enabled + config.rl.enabled
    episodes = models * len(tasks) * config.evaluation.samples_per_task
    return PhasePlan(
        name="evaluation",
        episodes=episodes,
        tasks=tasks,
        held_out=held_out_names(config.tasks),
        what=f"{models} models × {len(tasks)} tasks × {config.evaluation.samples_per_task} samples",
        seconds=pace.evaluation_seconds(config, machine, shape, episodes),
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
