"""Cards that are not there, or that are given away twice, to nobody, or to two who cannot share them."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.config import FrameworkConfig
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.refusals import Refusal, missing_here, wrong


def card_refusals(asked: FrameworkConfig, config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    """`asked` is the config as the user gave it, `config` the same with every setting settled."""
    yield from _cards(config, machine)
    yield from _sft_workers(config, machine)
    yield from _judge_cards(config, machine)
    yield from _allocation(asked, config)
    yield from _cluster(config)


def _sft_workers(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    workers, there = config.sft.workers or 1, len(machine.cards)
    if config.sft.enabled and 0 < there < workers:
        yield missing_here(
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
        yield missing_here(f"rl.num_gpus is {num_gpus}, but this machine has {found}: {instead}")
    indices = config.judge.gpu_indices or ()
    if config.judge.executor == "gpu" and any(index >= max(there, num_gpus) for index in indices):
        yield missing_here(
            f"judge.executor is `gpu` and judge.gpu_indices {list(indices)}, but this machine has "
            f"{found}: set judge.executor=emulator or other indices"
        )


def _judge_cards(config: FrameworkConfig, machine: Machine) -> Iterator[Refusal]:
    indices = config.judge.gpu_indices or ()
    if config.judge.executor != "gpu":
        return
    if len(indices) > (config.judge.workers or len(indices)):
        yield wrong(
            f"judge.workers is {config.judge.workers}, but {len(indices)} cards judge: each needs a worker"
        )
    names = {machine.cards[index].name for index in indices if index < len(machine.cards)}
    if len(names) > 1:
        yield wrong(
            f"judge.gpu_indices names cards of several kinds ({', '.join(sorted(names))}), whose times "
            "cannot be compared: name cards of one kind"
        )
    beside = [index for index in indices if index >= (config.rl.num_gpus or 0)]
    if config.rl.enabled and config.rl.num_gpus and beside:
        yield wrong(
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
        yield wrong(
            "rl.rollout_sleeps gives vLLM's memory to the update, but with rl.gpus.rollout they are on "
            "different cards: leave one of them out"
        )
    if not num_gpus:
        if gpus.judge:
            yield wrong("rl.gpus.judge gives the judge a card, but training uses none: leave it out")
        return
    last = list(range(num_gpus - (gpus.judge or 0), num_gpus))
    named_by_hand = asked.judge.gpu_indices
    if gpus.judge and named_by_hand is not None and sorted(named_by_hand) != last:
        yield wrong(
            f"rl.gpus.judge gives the judge cards {last}, but judge.gpu_indices names {list(named_by_hand)}: "
            "leave one of them out"
        )
    given = (gpus.actor or 1) + sum(own.values())
    if given != num_gpus:
        yield wrong(
            f"rl.gpus gives away {given} cards (actor {gpus.actor}{', ' if named else ''}{named}), but "
            f"rl.num_gpus is {num_gpus}: make them equal"
        )
    if gpus.judge and config.judge.executor != "gpu":
        yield wrong("rl.gpus.judge gives the judge a card, but judge.executor is `emulator`: set it to `gpu`")


def _cluster(config: FrameworkConfig) -> Iterator[Refusal]:
    """What Ray hands out, and what has to be in one place."""
    rl, judge = config.rl, config.judge
    measured = judge.executor == "gpu" and bool(rl.num_gpus)
    if not rl.enabled:
        return
    if rl.ray_address is None:
        if rl.nodes > 1:
            yield wrong(
                f"rl.nodes is {rl.nodes}, but Ray is to be started on this machine alone: name a running "
                "cluster with rl.ray_address, or set rl.nodes=1"
            )
        if judge.pool == "ray" and measured:
            yield wrong(
                "judge.pool=ray lets Ray choose the judge's cards, but a Ray started for training holds the "
                "actor's alone: set rl.ray_address to a running cluster, or judge.pool=local"
            )
        return
    if rl.gpus.rollout:
        yield wrong(
            "rl.gpus.rollout needs cards that Ray does not hand out and memory that actor and vLLM share, "
            "which a cluster does not promise: set it to 0, vLLM then runs beside the actor"
        )
    if measured and judge.pool == "local":
        yield wrong(
            "with rl.ray_address the judge's card is Ray's to give: set judge.pool=ray and rl.gpus.judge, or "
            "judge.executor=emulator"
        )
    if measured and judge.pool == "ray" and not rl.gpus.judge:
        yield wrong(
            "judge.pool=ray leases whole cards, and the actor has them all: give the judge some with "
            "rl.gpus.judge"
        )


def _reference(config: FrameworkConfig) -> Iterator[Refusal]:
    rl = config.rl
    if not rl.gpus.reference:
        return
    if not rl.kl_coef:
        yield wrong(
            "rl.gpus.reference gives the start model a card, but rl.kl_coef is 0: nothing would use it"
        )
    elif rl.lora_rank:
        yield wrong(
            "with rl.lora_rank the reference is the actor with its adapter switched off and needs no card: "
            "set "
            "rl.gpus.reference=0, or rl.lora_rank=0 to train all weights"
        )
