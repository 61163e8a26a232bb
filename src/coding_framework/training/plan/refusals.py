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
    yield from _cards(config, machine)
    yield from _sft_workers(config, machine)
    yield from _judge_cards(config, machine)
    yield from _allocation(asked, config)
    yield from _cluster(config)
    yield from _without_gpu(config)
    yield from _packages(config, machine)
    yield from _own_reward(config)
    yield from evaluation_refusals(config, machine)


def evaluation_refusals(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """Whatever keeps models from being sampled as the evaluation says."""
    if config.evaluation.engine != "vllm":
        return
    if not machine.cards:
        yield _missing(
            f"evaluation.engine is `vllm`, which needs a GPU ({machine.no_cards_because}): set it to "
            "`transformers` or leave it out"
        )
    elif "vllm" not in machine.packages:
        yield _missing(
            "evaluation.engine is `vllm`, which is not installed: run  pip install vllm  , or leave it out"
        )


def _model(config: FrameworkConfig) -> Iterator[Refusal]:
    """Whether it can exist and be trained; what may be on the hub is asked there."""
    if names_own_model(config.model.name):
        yield _wrong(f"model.name {config.model.name} {NOT_TO_BE_TRAINED}")
        return
    try:
        check_model_name(config.model.name)
    except ModelNotFoundError as error:
        yield _wrong(f"model.name: {error}")
        return
    if is_agent_folder(Path(config.model.name).expanduser()):
        yield _wrong(
            f"model.name {config.model.name} has weights of single agents: it can be evaluated and asked, "
            "to train name one model"
        )
    if (strange := strange_attention(config)) is not None:
        yield _wrong(f"{config.model.name} cannot be trained: {strange}")


def _contradictions(asked: FrameworkConfig, config: FrameworkConfig) -> Iterator[Refusal]:
    if not config.sft.enabled and not config.rl.enabled:
        yield _wrong(
            "sft.enabled and rl.enabled are both false, so nothing would be trained: leave one of them on, "
            "or "
            "evaluate a model with  cuda-rl evaluate"
        )
    if config.judge.executor == "emulator" and (config.judge.profile or config.judge.torch_baselines):
        yield _wrong(
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
        yield _wrong(f"{', '.join(idle)} is for vLLM alone: set rl.rollout=vllm or leave it out")
    if rl.rollout == "vllm" and rl.lora_rank and config.model.dtype == "float32":
        yield _wrong("vLLM adds adapters to 16-bit weights only: set model.dtype=bfloat16 or rl.lora_rank=0")
    longest = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    if rl.update_tokens is not None and rl.update_tokens < longest:
        yield _wrong(
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
    yield _wrong(
        f"{episodes} episodes in a step (rl.prompts_per_step × rl.group_size) cannot be dealt out evenly to "
        f"{workers} actors (rl.gpus.actor × rl.nodes): set rl.prompts_per_step={prompts}"
        f"{cards if episodes % (fewer * rl.nodes) == 0 else ''}"
    )


def _policies(config: FrameworkConfig) -> Iterator[Refusal]:
    if config.rl.adapters == "shared":
        if config.sft.enabled and config.sft.adapters == "per_agent":
            yield _wrong(
                "rl.adapters=shared trains one policy from one model, but sft.adapters=per_agent leaves an "
                "adapter for each agent: set rl.adapters=per_agent, sft.adapters=shared or rl.enabled=false"
            )
        return
    if config.conversation.max_turns < 2:
        yield _wrong(NO_TURN_FOR_THE_OPTIMIZER)
    if config.evaluation.max_turns < 2:
        yield _wrong(
            "rl.adapters=per_agent trains an optimizer that no evaluation would hear, since evaluation."
            "max_turns is 1: set it to 2 or more"
        )


def _sft_workers(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    workers, there = config.sft.workers or 1, len(machine.cards)
    if config.sft.enabled and 0 < there < workers:
        yield _missing(
            f"sft.workers is {workers}, and each needs a GPU of its own, but this machine has {there}: set "
            f"it to {there}"
        )


def _cards(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    num_gpus, there = config.rl.num_gpus or 0, len(machine.cards)
    because = f" ({machine.no_cards_because})" if machine.no_cards_because else ""
    found = f"{there} GPU{'s' if there != 1 else ''}" if there else f"no GPU{because}"
    if num_gpus > there:
        instead = (
            f"rl.num_gpus={there} trains on what is there"
            if there
            else "--config quick or --config cpu trains without one"
        )
        yield _missing(f"rl.num_gpus is {num_gpus}, but this machine has {found}: {instead}")
    indices = config.judge.gpu_indices or ()
    if config.judge.executor == "gpu" and any(index >= max(there, num_gpus) for index in indices):
        yield _missing(
            f"judge.executor is `gpu` and judge.gpu_indices {list(indices)}, but this machine has "
            f"{found}: set judge.executor=emulator or other indices"
        )


def _judge_cards(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    indices = config.judge.gpu_indices or ()
    if config.judge.executor != "gpu":
        return
    if len(indices) > (config.judge.workers or len(indices)):
        yield _wrong(
            f"judge.workers is {config.judge.workers}, but {len(indices)} cards judge: each needs a worker"
        )
    names = {machine.cards[index].name for index in indices if index < len(machine.cards)}
    if len(names) > 1:
        yield _wrong(
            f"judge.gpu_indices names cards of several kinds ({', '.join(sorted(names))}), whose times "
            "cannot be compared: name cards of one kind"
        )
    beside = [index for index in indices if index >= (config.rl.num_gpus or 0)]
    if config.rl.enabled and config.rl.num_gpus and beside:
        yield _wrong(
            f"judge.gpu_indices names cards {beside}, which training does not count: raise rl.num_gpus and "
            "give the judge cards with rl.gpus.judge"
        )


def _allocation(asked: FrameworkConfig, config: FrameworkConfig) -> Iterator[Refusal]:
    gpus, num_gpus = config.rl.gpus, config.rl.num_gpus or 0
    own = {name: value for name, value in gpus.model_dump().items() if value and name != "actor"}
    named = ", ".join(f"{name} {value}" for name, value in own.items())
    if not config.rl.enabled:
        return
    yield from _reference(config)
    if gpus.rollout and config.rl.rollout_sleeps:
        yield _wrong(
            "rl.rollout_sleeps gives vLLM's memory to the update, but with rl.gpus.rollout they are on "
            "different cards: leave one of them out"
        )
    if not num_gpus:
        if gpus.judge:
            yield _wrong("rl.gpus.judge gives the judge a card, but training uses none: leave it out")
        return
    last = list(range(num_gpus - (gpus.judge or 0), num_gpus))
    named_by_hand = asked.judge.gpu_indices
    if gpus.judge and named_by_hand is not None and sorted(named_by_hand) != last:
        yield _wrong(
            f"rl.gpus.judge gives the judge cards {last}, but judge.gpu_indices names {list(named_by_hand)}: "
            "leave one of them out"
        )
    given = (gpus.actor or 1) + sum(own.values())
    if given != num_gpus:
        yield _wrong(
            f"rl.gpus gives away {given} cards (actor {gpus.actor}{', ' if named else ''}{named}), but "
            f"rl.num_gpus is {num_gpus}: make them equal"
        )
    if gpus.judge and config.judge.executor != "gpu":
        yield _wrong(
            "rl.gpus.judge gives the judge a card, but judge.executor is `emulator`: set it to `gpu`"
        )


def _cluster(config: FrameworkConfig) -> Iterator[Refusal]:
    """What Ray hands out, and what has to be in one place."""
    rl, judge = config.rl, config.judge
    measured = judge.executor == "gpu" and bool(rl.num_gpus)
    if not rl.enabled:
        return
    if rl.ray_address is None:
        if rl.nodes > 1:
            yield _wrong(
                f"rl.nodes is {rl.nodes}, but Ray is to be started on this machine alone: name a running "
                "cluster with rl.ray_address, or set rl.nodes=1"
            )
        if judge.pool == "ray" and measured:
            yield _wrong(
                "judge.pool=ray lets Ray choose the judge's cards, but a Ray started for training holds the "
                "actor's alone: set rl.ray_address to a running cluster, or judge.pool=local"
            )
        return
    if rl.gpus.rollout:
        yield _wrong(
            "rl.gpus.rollout needs cards that Ray does not hand out and memory that actor and vLLM share, "
            "which a cluster does not promise: set it to 0, vLLM then runs beside the actor"
        )
    if measured and judge.pool == "local":
        yield _wrong(
            "with rl.ray_address the judge's card is Ray's to give: set judge.pool=ray and rl.gpus.judge, or "
            "judge.executor=emulator"
        )
    if measured and judge.pool == "ray" and not rl.gpus.judge:
        yield _wrong(
            "judge.pool=ray leases whole cards, and the actor has them all: give the judge some with "
            "rl.gpus.judge"
        )


def _reference(config: FrameworkConfig) -> Iterator[Refusal]:
    rl = config.rl
    if not rl.gpus.reference:
        return
    if not rl.kl_coef:
        yield _wrong(
            "rl.gpus.reference gives the start model a card, but rl.kl_coef is 0: nothing would use it"
        )
    elif rl.lora_rank:
        yield _wrong(
            "with rl.lora_rank the reference is the actor with its adapter switched off and needs no card: "
            "set "
            "rl.gpus.reference=0, or rl.lora_rank=0 to train all weights"
        )


def _own_reward(config: FrameworkConfig) -> Iterator[Refusal]:
    """One of the user's own is tried, in a process of its own too."""
    try:
        checked_reward(config.reward)
    except FrameworkError as error:
        yield _wrong(str(error))


def _without_gpu(config: FrameworkConfig) -> Iterator[Refusal]:
    if config.rl.num_gpus:
        return
    if config.rl.enabled and config.rl.rollout == "vllm":
        yield _wrong(
            "rl.rollout is `vllm`, which needs a GPU: set it to `transformers` or rl.num_gpus to 1 or more"
        )
    if config.sft.enabled and config.sft.method == "qlora":
        yield _wrong("sft.method is `qlora`, which needs a GPU: set it to `lora` or rl.num_gpus to 1 or more")
    if config.model.attention == "flash_attention_2":
        yield _wrong("model.attention is `flash_attention_2`, which needs a GPU: leave it out")


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
        yield _missing(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not installed: run  pip install "
            f"'coding_framework[{extra}]'  (or `make setup`, which installs every extra)"
        )
    without_vllm = bool(machine.cards) and "vllm" not in machine.packages
    if config.rl.enabled and config.rl.rollout == "vllm" and without_vllm:
        yield _missing(
            "rl.rollout is `vllm`, which is not installed: run  pip install vllm  , or set "
            "rl.rollout=transformers (slow on a GPU)"
        )
    if config.model.attention == "flash_attention_2" and "flash_attn" not in machine.packages:
        yield _missing(
            "model.attention is `flash_attention_2`, but flash-attn is not installed: leave it out"
        )


def _wrong(words: str) -> Refusal:
    return Refusal("settings", words)


def _missing(words: str) -> Refusal:
    return Refusal("machine", words)
