"""Settings that go together, settled together: no `auto` and no None is left that depends on the machine.

Whatever comes after the plan reads the resolved config and decides nothing again.
"""

from __future__ import annotations

import math

from coding_framework.config import (
    EvaluationConfig,
    FrameworkConfig,
    GPUAllocation,
    JudgeConfig,
    ModelConfig,
    RLConfig,
    SFTConfig,
    TasksConfig,
)
from coding_framework.config.tree import DEFAULT_SFT_STEPS
from coding_framework.cuda.secrecy import repeatable
from coding_framework.cuda.toolchain.detect import DEFAULT_ARCHITECTURE
from coding_framework.data.tasks.split import asked_tasks
from coding_framework.records import JudgePlace
from coding_framework.training.plan.fit import fit
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.shape import ModelShape, model_shape


def resolve(config: FrameworkConfig, machine: Machine, shape: ModelShape | None = None) -> FrameworkConfig:
    """The same config for this machine; `shape` are the sizes of its model, if they are known."""
    there = len(machine.cards) if config.rl.num_gpus is None else config.rl.num_gpus
    num_gpus = _dealt_out(config.rl, there) if config.rl.num_gpus is None else there
    model = _model(config.model, machine, num_gpus)
    rl = _rl(config, num_gpus)
    settled = config.model_copy(
        update={
            "model": model,
            "sft": _pairs(_sft(config.sft, model.attention, machine, there), config.tasks),
            "rl": rl,
            "evaluation": _evaluation(config.evaluation, machine, num_gpus),
            "judge": repeatable(_judge(config.judge, machine, rl), config.run.seed),
        }
    )
    return fit(settled, machine, shape or model_shape(config.model.name))


def _dealt_out(rl: RLConfig, there: int) -> int:
    """Cards of RL where nobody said how many: as many actors as its episodes can be dealt out to evenly."""
    own = sum(value or 0 for value in (rl.gpus.reference, rl.gpus.rollout, rl.gpus.judge))
    if not rl.enabled or rl.gpus.actor is not None or there <= own:
        return there
    return own + fewer_actors(rl, there - own)


def fewer_actors(rl: RLConfig, at_most: int) -> int:
    """The most that get equally many episodes of a step; one does always."""
    episodes = rl.prompts_per_step * rl.group_size
    return next(
        number for number in range(at_most, 0, -1) if episodes % (number * rl.nodes) == 0 or number == 1
    )


def _model(model: ModelConfig, machine: Machine, num_gpus: int) -> ModelConfig:
    dtype = model.dtype if model.dtype != "auto" else ("bfloat16" if num_gpus else "float32")
    packed = "flash_attention_2" if "flash_attn" in machine.packages else "packed"
    fitting = packed if num_gpus else "sdpa"
    attention = fitting if model.attention == "auto" else model.attention
    return model.model_copy(update={"dtype": dtype, "attention": attention})


def _sft(sft: SFTConfig, attention: str, machine: Machine, num_gpus: int) -> SFTConfig:
    """Packed rows of 16,384 tokens keep a large card busy; a smaller one holds what its memory holds."""
    sft = sft.model_copy(update={"workers": sft.workers or max(1, min(num_gpus, len(machine.cards)))})
    if attention == "sdpa":
        return sft
    memory = min((card.memory_bytes for card in machine.cards), default=0)
    fitting = max(sft.max_length, min(16_384, memory // 2**30 * 205)) if memory else 4 * sft.max_length
    return sft.model_copy(update={"batch_tokens": sft.batch_tokens or fitting})


def _evaluation(evaluation: EvaluationConfig, machine: Machine, num_gpus: int) -> EvaluationConfig:
    fitting = "vllm" if num_gpus and "vllm" in machine.packages else "transformers"
    engine = fitting if evaluation.engine == "auto" else evaluation.engine
    batch_size = evaluation.batch_size or (128 if engine == "vllm" else 16)
    return evaluation.model_copy(update={"engine": engine, "batch_size": batch_size})


def _pairs(sft: SFTConfig, tasks: TasksConfig) -> SFTConfig:
    """No more are judged than the steps use: left open, a few hundred steps would see a part of them."""
    if sft.pairs is not None or sft.pairs_per_family is not None or sft.epochs is not None:
        return sft
    families = len({task.family for task in asked_tasks(tasks)})
    adapters = len(sft.agents) if sft.adapters == "per_agent" else 1
    used = (sft.steps or DEFAULT_SFT_STEPS) * sft.pairs_per_step * adapters
    of_each = min(sft.pairs_of_a_family, math.ceil(used / max(1, families)))
    return sft.model_copy(update={"pairs_per_family": of_each})


def _rl(config: FrameworkConfig, num_gpus: int) -> RLConfig:
    rl = config.rl
    gpus = _allocation(rl.gpus, num_gpus)
    share = rl.rollout_memory_share or (0.85 if gpus.rollout else 0.3)
    rollout = rl.rollout if rl.rollout != "auto" else ("vllm" if num_gpus else "transformers")
    return rl.model_copy(
        update={
            "num_gpus": num_gpus,
            "rollout": rollout,
            "gpus": gpus,
            "rollout_memory_share": share if rollout == "vllm" else None,
        }
    )


def _judge(judge: JudgeConfig, machine: Machine, rl: RLConfig) -> JudgeConfig:
    """A judge on a running cluster learns there how many cores it has."""
    on_gpu = judge.executor == "gpu" or (judge.executor == "auto" and bool(rl.num_gpus))
    own = (rl.gpus.judge or 0) if on_gpu else 0
    by_ray = judge.pool == "ray"
    indices = judge.gpu_indices or _last(own, rl.num_gpus or 0)
    workers = judge.workers or max(min(machine.cores, 16), own)
    architecture = judge.architecture
    if architecture == "auto":
        cards = machine.cards[indices[0] :] if on_gpu else ()
        architecture = next((card.architecture for card in cards), DEFAULT_ARCHITECTURE)
    return judge.model_copy(
        update={
            "executor": "gpu" if on_gpu else "emulator",
            "gpu_indices": indices if on_gpu and not by_ray else judge.gpu_indices,
            "cluster_gpus": judge.cluster_gpus or own * rl.nodes or None if by_ray else None,
            "workers": judge.workers if by_ray and rl.ray_address else workers,
            "architecture": architecture,
        }
    )


def _last(count: int, num_gpus: int) -> tuple[int, ...]:
    """The judge's cards come last; with none of its own it shares the first."""
    return tuple(range(num_gpus - count, num_gpus)) if 0 < count < num_gpus else (0,)


def _allocation(gpus: GPUAllocation, num_gpus: int) -> GPUAllocation:
    given = {name: value or 0 for name, value in gpus.model_dump().items()}
    rest = max(1, num_gpus - given["rollout"] - given["reference"] - given["judge"])
    return GPUAllocation(**{**given, "actor": gpus.actor or rest})


def judge_place(config: FrameworkConfig) -> JudgePlace:
    """Where a resolved config has kernels timed."""
    if config.judge.executor != "gpu":
        return "no_card"
    return "own_card" if config.rl.gpus.judge or not config.rl.num_gpus else "card_in_turns"
