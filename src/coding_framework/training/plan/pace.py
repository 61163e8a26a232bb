"""How long phases may take: tokens times weights, divided by what was once measured elsewhere.

Without a GPU the figures are those of the quick test on two cores of a server, as the README shows it
(SmolLM2-135M; a busy machine takes longer), so much per core. With a GPU they are those of one
H200 (docs/training.md), and only for one card of that kind and a model of about that size; for anything else
nothing is known, and that is what the plan says. Answers are taken to be half as long as they may be,
prompts a third.
"""

from __future__ import annotations

from coding_framework.config import FrameworkConfig, RLConfig
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.records import Estimate, Unknown
from coding_framework.training.plan.shape import ModelShape

_SAMPLING = 1.2e10
"""Weights times tokens that RL samples, per core and second."""
_UPDATE = 1.95e10
"""Weights times tokens that the update computes, per core and second."""
_SFT = 1.1e11
"""Weights times tokens of SFT pairs with a shared beginning, per core and second."""
_ANSWERING = 1.75e10
"""Weights times tokens that the evaluation samples, per core and second."""
_PAIR_S, _JUDGEMENT_S = 0.16, 0.17
"""Of one core with the emulator."""
_RL_START_S, _SFT_START_S, _LOADING_S = 35.0, 16.0, 5.0
"""Ray, verl and the export; SFT's model, pairs and export; a model of the evaluation."""
_ON_TWO_CORES = (
    "the README's quick test on two cores of a server, scaled by cores, weights and tokens; a busy machine "
    "takes longer"
)

_H200_WEIGHTS = 1.54e9
"""Of Qwen2.5-Coder-1.5B, which was trained there; another may have two thirds to three halves of it."""
_H200_SFT, _H200_SAMPLING, _H200_UPDATE = 40_900.0, 10_800.0, 26_600.0
"""Tokens a second."""
_H200_PAIR_TOKENS = 313
"""Prompt and answer, as they came out."""
_H200_START_S, _H200_JUDGING_S, _H200_STEP_S = 126.0, 0.138, 1.3
"""From the command to the first answer; one answer of an untrained model; a step beside its parts."""
_H200_PAIRS = 48.0
"""Judgements a second."""
_ON_H200 = (
    "what was measured once with one H200 and Qwen2.5-Coder-1.5B (docs/training.md), scaled by weights and "
    "tokens"
)


def episode_tokens(config: FrameworkConfig, turns: int) -> tuple[float, float]:
    """(prompt, answer) tokens of one episode, as they come out on average."""
    return (
        turns * config.conversation.max_prompt_tokens / 3,
        turns * config.conversation.max_response_tokens / 2,
    )


def pairs_seconds(config: FrameworkConfig, machine: Machine, pairs: int) -> Estimate | Unknown:
    """Judging the pairs of SFT."""
    if config.judge.executor != "gpu":
        return Estimate(value=pairs * _PAIR_S / _judges(config, machine), rests_on=_ON_TWO_CORES)
    judging = config.judge.gpu_indices or ()
    if len(judging) == 1 and "H200" in machine.cards[judging[0]].name:
        return Estimate(value=pairs / _H200_PAIRS, rests_on=_ON_H200)
    return Unknown(because="how fast pairs are judged there was not measured yet")


def sft_seconds(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, steps: int
) -> Estimate | Unknown:
    """So many steps, with start-up and export where they were measured."""
    if shape is None:
        return _not_fetched(config)
    sft = config.sft
    pairs = steps * sft.pairs_per_step
    if not config.rl.num_gpus:
        starts = len(sft.agents) if sft.adapters == "per_agent" else 1
        work = pairs * sft.max_length / 2 * shape.parameters / (_SFT * machine.cores)
        return Estimate(value=starts * _SFT_START_S + work, rests_on=_ON_TWO_CORES)
    differs = _differs(config, machine, shape) or _sft_differs(config)
    if differs:
        return Unknown(because=differs)
    tokens = pairs * min(_H200_PAIR_TOKENS, sft.max_length)
    return Estimate(value=tokens * shape.parameters / (_H200_WEIGHTS * _H200_SFT), rests_on=_ON_H200)


def rl_seconds(
    config: FrameworkConfig,
    machine: Machine,
    shape: ModelShape | None,
    steps: int,
    turns: int,
    openings: int = 0,
) -> Estimate | Unknown:
    """So many steps of a policy with so many turns an episode, start-up and the openings before it."""
    if shape is None:
        return _not_fetched(config)
    rl = config.rl
    episodes = steps * rl.prompts_per_step * rl.group_size
    prompt, answer = episode_tokens(config, turns)
    opening = openings * episode_tokens(config, 1)[1]
    trained = episodes * _passes(rl) * (prompt + answer)
    judgements = episodes * turns + openings
    judging = judgements * _JUDGEMENT_S / _judges(config, machine)
    if not rl.num_gpus:
        sampled = (episodes * answer + opening) / _SAMPLING
        updated = episodes * _computed_tokens(rl, turns, prompt, answer) / _UPDATE
        seconds = shape.parameters * (sampled + updated) / machine.cores
        return Estimate(value=_RL_START_S + seconds + judging, rests_on=_ON_TWO_CORES)
    differs = _differs(config, machine, shape) or _rl_differs(config)
    if differs:
        return Unknown(because=differs)
    if config.judge.executor == "gpu":
        judging = judgements * _H200_JUDGING_S
    size = shape.parameters / _H200_WEIGHTS
    work = size * ((episodes * answer + opening) / _H200_SAMPLING + trained / _H200_UPDATE)
    return Estimate(value=_H200_START_S + work + judging + steps * _H200_STEP_S, rests_on=_ON_H200)


def _computed_tokens(rl: RLConfig, turns: int, prompt: float, answer: float) -> float:
    """Of an episode in all passes: the prompt of a first turn is computed once for its group, except by a
    critic."""
    critic = rl.epochs + 1 / 3 if rl.algorithm == "ppo" else 0
    first = prompt / turns
    shared = first / rl.group_size + prompt - first + answer
    return (_passes(rl) - critic) * shared + critic * (prompt + answer)


def _passes(rl: RLConfig) -> float:
    """Updates of a row, the critic's included; a forward pass alone is a third of one."""
    forward = rl.recomputes_log_probs + (rl.kl_coef > 0) + (rl.algorithm == "ppo")
    return rl.epochs * (2 if rl.algorithm == "ppo" else 1) + forward / 3


def evaluation_seconds(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, models: int, episodes: int
) -> Estimate | Unknown:
    """So many models with so many episodes each."""
    if shape is None:
        return _not_fetched(config)
    if config.rl.num_gpus:
        return Unknown(because="how long the evaluation takes on a GPU was not measured yet")
    turns = config.evaluation.max_turns
    _, answer = episode_tokens(config, turns)
    sampling = shape.parameters * answer / (_ANSWERING * machine.cores)
    judging = turns * _JUDGEMENT_S / _judges(config, machine)
    return Estimate(value=models * (_LOADING_S + episodes * (sampling + judging)), rests_on=_ON_TWO_CORES)


def _judges(config: FrameworkConfig, machine: Machine) -> int:
    """Of the emulator, at a time."""
    return min(machine.cores, config.judge.workers or machine.cores)


def _not_fetched(config: FrameworkConfig) -> Unknown:
    return Unknown(because=f"the sizes of {config.model.name} are known once it is fetched")


def _differs(config: FrameworkConfig, machine: Machine, shape: ModelShape) -> str | None:
    """Why what was measured with an H200 says nothing here; None if it does."""
    names = {card.name for card in machine.cards[: config.rl.num_gpus]}
    other = sorted(name for name in names if "H200" not in name)
    if other:
        return f"nothing was measured on {' and '.join(other)} yet"
    if config.rl.num_gpus != 1 or config.rl.nodes > 1:
        return "only training on one card was measured so far"
    if not 2 / 3 <= shape.parameters / _H200_WEIGHTS <= 3 / 2:
        return "on this card only a model of 1.5 billion weights was measured"
    return None


def _sft_differs(config: FrameworkConfig) -> str | None:
    lora = config.sft.method == "lora" and config.model.attention != "sdpa"
    return None if lora else "on this card only LoRA with packed rows was measured"


def _rl_differs(config: FrameworkConfig) -> str | None:
    rl = config.rl
    same = (
        rl.lora_rank and rl.rollout == "vllm" and not rl.rollout_sleeps and config.model.attention != "sdpa"
    )
    return None if same else "on this card only an adapter with vLLM awake and packed rows was measured"
