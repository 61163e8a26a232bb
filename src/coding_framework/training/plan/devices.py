"""Which card does what, and how much of its memory that takes at most."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.config import FrameworkConfig
from coding_framework.training.plan import memory
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.records import DevicePlan, Role
from coding_framework.training.plan.shape import ModelShape


def devices(config: FrameworkConfig, machine: Machine, shape: ModelShape | None) -> tuple[DevicePlan, ...]:
    """Every card that something computes on, or the host and the cards that judge."""
    judging = judging_cards(config)
    if not config.rl.num_gpus:
        return (_host(config, machine, shape), *(_card(config, machine, shape, i, []) for i in judging))
    users = card_users(config)
    return tuple(_card(config, machine, shape, index, roles) for index, roles in enumerate(users))


def card_users(config: FrameworkConfig) -> list[list[Role]]:
    """Of each card of a resolved config: SFT comes first and has left when the others begin.

    With RL they are given out in the order in which `GPUAllocation` names them.
    """
    users = _of_rl(config) if config.rl.enabled else []
    trainers = (config.sft.workers or 1) if config.sft.enabled else 0
    judging = judging_cards(config)
    most = max(len(users), trainers, *(index + 1 for index in judging), 1)
    users += [[] for _ in range(most - len(users))]
    for index in judging:
        if "judge" not in users[index]:
            users[index].append("judge")
    for roles in users[:trainers]:
        roles.insert(0, "sft")
    return users


def judging_cards(config: FrameworkConfig) -> tuple[int, ...]:
    """Those that are named; on a Ray cluster Ray chooses them."""
    return (config.judge.gpu_indices or ()) if config.judge.executor == "gpu" else ()


def _of_rl(config: FrameworkConfig) -> list[list[Role]]:
    gpus = config.rl.gpus
    users: list[list[Role]] = [list(_beside_the_actor(config)) for _ in range(gpus.actor or 1)]
    users += [["reference"] for _ in range(gpus.reference or 0)]
    users += [["rollout"] for _ in range(gpus.rollout or 0)]
    return users + [["judge"] for _ in range(gpus.judge or 0)]


def _beside_the_actor(config: FrameworkConfig) -> Iterator[Role]:
    rl = config.rl
    yield "actor"
    if rl.algorithm == "ppo":
        yield "critic"
    if not rl.gpus.rollout:
        yield "rollout"
    if rl.kl_coef and not rl.gpus.reference:
        yield "reference"


def _host(config: FrameworkConfig, machine: Machine, shape: ModelShape | None) -> DevicePlan:
    roles: list[Role] = ["sft"] if config.sft.enabled else []
    roles += [role for users in (_of_rl(config) if config.rl.enabled else []) for role in users]
    roles += [] if config.judge.executor == "gpu" else ["judge"]
    held = [] if shape is None else [memory.sft_host(config, shape)] * config.sft.enabled
    held += [] if shape is None else [memory.rl_host(config, shape)] * config.rl.enabled
    return DevicePlan(
        device="CPU",
        name=f"{machine.cores} cores",
        memory_bytes=machine.memory_bytes,
        used_by=tuple(dict.fromkeys(roles)),
        held_bytes=_most(held),
    )


def _card(
    config: FrameworkConfig, machine: Machine, shape: ModelShape | None, index: int, roles: list[Role]
) -> DevicePlan:
    card, nodes = machine.cards[index], config.rl.nodes
    return DevicePlan(
        device=f"GPU {index}" + (f" of each of {nodes} nodes" if nodes > 1 else ""),
        name=card.name,
        memory_bytes=card.memory_bytes,
        used_by=tuple(roles or ["judge"]),
        held_bytes=None if shape is None else _most(list(_held(config, shape, roles))),
    )


def _held(config: FrameworkConfig, shape: ModelShape, roles: list[Role]) -> Iterator[memory.Holding]:
    """One after the other."""
    if "sft" in roles:
        yield memory.sft_card(config, shape)
    if "actor" in roles:
        yield memory.rl_actor_card(config, shape)
    elif "rollout" in roles:
        yield memory.rl_rollout_card(config, shape)
    elif "reference" in roles:
        yield memory.rl_reference_card(config, shape)


def _most(held: list[memory.Holding]) -> float | None:
    return max((one.total for one in held), default=None)
