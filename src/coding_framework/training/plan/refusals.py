"""What cannot work, said before anything is created, fetched or spent.

Each refusal is one sentence: what is wrong, and what to do. All of them are found at once. `asked` is
the config as the user gave it, `config` the same with every setting settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from coding_framework.agents.models.agent_folder import is_agent_folder
from coding_framework.agents.models.own_model import NOT_TO_BE_TRAINED, names_own_model
from coding_framework.agents.models.store import check_model_name
from coding_framework.config import FrameworkConfig, RLConfig
from coding_framework.errors import (
    ConfigError,
    FrameworkError,
    ModelNotFoundError,
    NotAvailableError,
    StorageError,
)
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.resolve import fewer_actors
from coding_framework.training.plan.shape import strange_attention
from coding_framework.training.reward_functions.trial import checked_reward
from coding_framework.training.rl.requirements import NO_TURN_FOR_THE_OPTIMIZER

RL_PACKAGES = ("verl", "ray", "transfer_queue", "tensordict", "pyarrow", "transformers", "peft")
SFT_PACKAGES = ("torch", "transformers", "peft")


class Refusal(NamedTuple):
    """One thing that cannot work."""

    kind: Literal["settings", "machine", "disk"]
    words: str


_ERRORS: dict[str, type[FrameworkError]] = {
    "settings": ConfigError,
    "machine": NotAvailableError,
    "disk": StorageError,
}


def raise_first(refusals: Sequence[Refusal]) -> None:
    """All of them in one error, of the kind of the first."""
    if refusals:
        words = [one.words for one in refusals]
        text = words[0] if len(words) == 1 else "\n".join(f"- {one}" for one in words)
        raise _ERRORS[refusals[0].kind](text)


def refusals(asked: FrameworkConfig, config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """Whatever can be said without the model's sizes."""
    yield from _model(config)
    yield from _contradictions(asked, config)
    yield from _without_gpu(config)
    yield from _packages(config, machine)
    yield from _own_reward(config)
    yield from evaluation_refusals(config, machine)


def _own_reward(config: FrameworkConfig) -> Iterator[Refusal]:
    """One of the user's own is tried, in a process of its own too."""
    try:
        checked_reward(config.reward)
    except FrameworkError as error:
        yield wrong(str(error))


def evaluation_refusals(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """Whatever keeps models from being sampled as the evaluation says."""
    if config.evaluation.engine != "vllm":
        return
    if not machine.cards:
        yield missing_here(
            f"evaluation.engine is `vllm`, which needs a GPU ({machine.no_cards_because}): set it to "
            "`transformers` or leave it out"
        )
    elif "vllm" not in machine.packages:
        yield missing_here(
            "evaluation.engine is `vllm`, which is not installed: run  pip install vllm  , or leave it out"
        )


def _model(config: FrameworkConfig) -> Iterator[Refusal]:
    """Whether it can exist and be trained; what may be on the hub is asked there."""
    if names_own_model(config.model.name):
        yield wrong(f"model.name {config.model.name} {NOT_TO_BE_TRAINED}")
        return
    try:
        check_model_name(config.model.name)
    except ModelNotFoundError as error:
        yield wrong(f"model.name: {error}")
        return
    if is_agent_folder(Path(config.model.name).expanduser()):
        yield wrong(
            f"model.name {config.model.name} has weights of single agents: it can be evaluated and asked, "
            "to train name one model"
        )
    if (strange := strange_attention(config)) is not None:
        yield wrong(f"{config.model.name} cannot be trained: {strange}")


def _contradictions(asked: FrameworkConfig, config: FrameworkConfig) -> Iterator[Refusal]:
    if not config.sft.enabled and not config.rl.enabled:
        yield wrong(
            "sft.enabled and rl.enabled are both false, so nothing would be trained: leave one of them on, "
            "or "
            "evaluate a model with  cuda-rl evaluate"
        )
    if config.judge.executor == "emulator" and (config.judge.profile or config.judge.torch_baselines):
        yield wrong(
            "judge.profile and judge.torch_baselines need a GPU that judges: set judge.executor=gpu or leave "
            "them out"
        )
    rl = config.rl
    if not rl.enabled:
        return
    yield from _policies(config)
    vllms = ("rollout_memory_share", "rollout_cache_bytes", "rollout_sleeps")
    idle = [f"rl.{name}" for name in vllms if getattr(asked.rl, name) is not None]
    if rl.rollout == "transformers" and idle:
        yield wrong(f"{', '.join(idle)} is for vLLM alone: set rl.rollout=vllm or leave it out")
    if rl.rollout == "vllm" and rl.lora_rank and config.model.dtype == "float32":
        yield wrong("vLLM adds adapters to 16-bit weights only: set model.dtype=bfloat16 or rl.lora_rank=0")
    longest = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    if rl.update_tokens is not None and rl.update_tokens < longest:
        yield wrong(
            f"rl.update_tokens is {rl.update_tokens}, but one row may have {longest} tokens (conversation."
            f"max_prompt_tokens + max_response_tokens): set it to {longest} at least"
        )
    yield from _dealing_out(rl)


def _dealing_out(rl: RLConfig) -> Iterator[Refusal]:
    actors, episodes = rl.gpus.actor or 1, rl.prompts_per_step * rl.group_size
    workers = actors * rl.nodes
    if episodes % workers == 0:
        return
    prompts = next(n for n in count(rl.prompts_per_step) if n * rl.group_size % workers == 0)
    fewer = fewer_actors(rl, actors)
    cards = f", or rl.num_gpus={(rl.num_gpus or actors) - actors + fewer} with rl.gpus.actor={fewer}"
    yield wrong(
        f"{episodes} episodes in a step (rl.prompts_per_step × rl.group_size) cannot be dealt out evenly to "
        f"{workers} actors (rl.gpus.actor × rl.nodes): set rl.prompts_per_step={prompts}"
        f"{cards if episodes % (fewer * rl.nodes) == 0 else ''}"
    )


def _policies(config: FrameworkConfig) -> Iterator[Refusal]:
    if config.rl.adapters == "shared":
        if config.sft.enabled and config.sft.adapters == "per_agent":
            yield wrong(
                "rl.adapters=shared trains one policy from one model, but sft.adapters=per_agent leaves an "
                "adapter for each agent: set rl.adapters=per_agent, sft.adapters=shared or rl.enabled=false"
            )
        return
    if config.conversation.max_turns < 2:
        yield wrong(NO_TURN_FOR_THE_OPTIMIZER)
    if config.evaluation.max_turns < 2:
        yield wrong(
            "rl.adapters=per_agent trains an optimizer that no evaluation would hear, since evaluation."
            "max_turns is 1: set it to 2 or more"
        )


def _without_gpu(config: FrameworkConfig) -> Iterator[Refusal]:
    if config.rl.num_gpus:
        return
    if config.rl.enabled and config.rl.rollout == "vllm":
        yield wrong(
            "rl.rollout is `vllm`, which needs a GPU: set it to `transformers` or rl.num_gpus to 1 or more"
        )
    if config.sft.enabled and config.sft.method == "qlora":
        yield wrong("sft.method is `qlora`, which needs a GPU: set it to `lora` or rl.num_gpus to 1 or more")
    if config.model.attention == "flash_attention_2":
        yield wrong("model.attention is `flash_attention_2`, which needs a GPU: leave it out")


def _packages(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    wanted = dict.fromkeys(RL_PACKAGES, "verl") if config.rl.enabled else {}
    wanted |= dict.fromkeys(SFT_PACKAGES, "train")
    if config.sft.enabled and config.sft.method == "qlora":
        wanted["bitsandbytes"] = "train"
    missing: dict[str, list[str]] = {}
    for name, extra in wanted.items():
        if name not in machine.packages:
            missing.setdefault(extra, []).append(name)
    for extra, names in missing.items():
        yield missing_here(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not installed: run  pip install "
            f"'coding_framework[{extra}]'  (or `make setup`, which installs every extra)"
        )
    without_vllm = bool(machine.cards) and "vllm" not in machine.packages
    if config.rl.enabled and config.rl.rollout == "vllm" and without_vllm:
        yield missing_here(
            "rl.rollout is `vllm`, which is not installed: run  pip install vllm  , or set "
            "rl.rollout=transformers (slow on a GPU)"
        )
    if config.model.attention == "flash_attention_2" and "flash_attn" not in machine.packages:
        yield missing_here(
            "model.attention is `flash_attention_2`, but flash-attn is not installed: leave it out"
        )


def wrong(words: str) -> Refusal:
    """Of the settings."""
    return Refusal("settings", words)


def missing_here(words: str) -> Refusal:
    """Of the machine."""
    return Refusal("machine", words)
