"""How long phases may take: tokens times weights, divided by what was once measured elsewhere.

Without a GPU the figures are those of the quick test on two cores of a server (SmolLM2-135M: 4.5
minutes of SFT, four RL steps in 5.6 minutes), so much per core. With a GPU only what was measured on
an H200 is used, and only for an H200; for other cards nothing is known, and that is what the plan says.
Answers are taken to be half as long as they may be, prompts a third: what that quick test saw.
"""

from __future__ import annotations

from coding_framework.config import FrameworkConfig, RLConfig
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.records import Estimate, Unknown
from coding_framework.training.plan.shape import ModelShape

_SAMPLING = 6e9
"""Weights times sampled tokens, per core and second."""
_UPDATE = 1.1e10
"""Weights times tokens of the update under verl, per core and second."""
_SFT = 4e10
"""Weights times tokens of SFT pairs with a shared beginning, per core and second."""
_JUDGEMENT_S = 0.3
"""Of one core with the emulator."""
_RL_START_S = 70.0
"""Ray, verl and the export."""
_ON_TWO_CORES = "the quick test on two cores of a server, scaled by cores, weights and tokens"


def episode_tokens(config: FrameworkConfig, turns: int) -> tuple[float, float]:
    """(prompt, answer) tokens of one episode, as they come out on average."""
    return (
        turns * config.conversation.max_prompt_tokens / 3,
        turns * config.conversation.max_response_tokens / 2,
    )


def pairs_seconds(config: FrameworkConfig, machine: Machine, pairs: int) -> Estimate | Unknown:
    """Judging the pairs of SFT."""
    if config.judge.executor == "gpu":
        return Unknown(because="how fast pairs are judged on this card was not measured yet")
    return Estimate(value=pairs * _JUDGEMENT_S / machine.cores, rests_on=_ON_TWO_CORES)


def sft_seconds(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, steps: int
) -> Estimate | Unknown:
    """All steps."""
    if shape is None or config.rl.num_gpus:
        return _unknown(config, shape)
    tokens = (
        steps * config.sft.batch_size * config.sft.gradient_accumulation_steps * config.sft.max_length / 2
    )
    return Estimate(value=tokens * shape.parameters / (_SFT * machine.cores), rests_on=_ON_TWO_CORES)


def rl_seconds(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, turns: int, openings: int = 0
) -> Estimate | Unknown:
    """All steps of a policy with so many turns an episode, start-up, export and the openings before it."""
    if shape is None or config.rl.num_gpus:
        return _unknown(config, shape)
    rl = config.rl
    episodes = rl.steps * rl.prompts_per_step * rl.group_size
    prompt, answer = episode_tokens(config, turns)
    work = shape.parameters * (answer / _SAMPLING + _passes(rl) * (prompt + answer) / _UPDATE)
    seconds = episodes * (work + turns * _JUDGEMENT_S)
    seconds += openings * (shape.parameters * episode_tokens(config, 1)[1] / _SAMPLING + _JUDGEMENT_S)
    return Estimate(value=_RL_START_S + seconds / machine.cores, rests_on=_ON_TWO_CORES)


def _passes(rl: RLConfig) -> float:
    """Updates of a row, the critic's included; a forward pass alone is a third of one."""
    forward = rl.recomputes_log_probs + (rl.kl_coef > 0) + (rl.algorithm == "ppo")
    return rl.epochs * (2 if rl.algorithm == "ppo" else 1) + forward / 3


def evaluation_seconds(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, episodes: int
) -> Estimate | Unknown:
    """All models."""
    if shape is None or config.rl.num_gpus:
        return _unknown(config, shape)
    turns = config.evaluation.max_turns
    _, answer = episode_tokens(config, turns)
    per_episode = shape.parameters * answer / _SAMPLING + turns * _JUDGEMENT_S
    return Estimate(value=episodes * per_episode / machine.cores, rests_on=_ON_TWO_CORES)


def _unknown(config: FrameworkConfig, shape: ModelShape | None) -> Unknown:
    if shape is None:
        return Unknown(because=f"the sizes of {config.model.name} are known once it is fetched")
    return Unknown(because="nothing of this kind was measured on such a card yet")
