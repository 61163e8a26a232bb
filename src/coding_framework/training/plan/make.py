"""From a config and a machine to a plan, or to a refusal. Loads no torch and starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from coding_framework.config import FrameworkConfig
from coding_framework.data.tasks.split import training_tasks
from coding_framework.monitoring.run_folder import RunFolder, run_name
from coding_framework.records import Record
from coding_framework.training.plan.disk import disk_at_most, disk_left
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.phases import phases
from coding_framework.training.plan.records import DevicePlan, JudgePlan, Role, Settled, TrainingPlan
from coding_framework.training.plan.refusals import raise_first, refusals
from coding_framework.training.plan.resolve import judge_place, resolve
from coding_framework.training.plan.rl_refusals import algorithm_refusals
from coding_framework.training.plan.room import no_room
from coding_framework.training.plan.shape import model_shape
from coding_framework.training.plan.task_order import task_order_plan, task_order_refusals


def make_plan(config: FrameworkConfig, machine: Machine, run: RunFolder | None = None) -> TrainingPlan:
    """What training with `config` on `machine` means; `run` is one that is taken up again.

    Raises where it cannot work, with everything that stands in the way.
    """
    shape = model_shape(config.model.name)
    resolved = resolve(config, machine, shape)
    tasks = [task.name for task in training_tasks(resolved.tasks)]
    finished = frozenset(one.name for one in run.state().phases) if run else frozenset()
    in_the_way = [
        *refusals(config, resolved, machine),
        *algorithm_refusals(resolved),
        *task_order_refusals(resolved),
        *no_room(resolved, machine, shape, disk_at_most(resolved, shape), new=run is None),
    ]
    raise_first(in_the_way)
    folder = run.path if run else resolved.run.output_dir / run_name(resolved.run.name)
    return TrainingPlan(
        folder=folder,
        resumes=run is not None,
        config=resolved,
        settled=tuple(_settled(config, resolved)),
        machine=machine,
        phases=phases(resolved, machine, shape, tasks, finished),
        devices=_devices(resolved, machine),
        judge=_judge(resolved),
        task_order=task_order_plan(resolved, tasks),
        disk_bytes=disk_left(resolved, shape),
    )


def _settled(asked: Record, resolved: Record, prefix: str = "") -> Iterator[Settled]:
    """What differs between the two, by dotted key."""
    for name in type(asked).model_fields:
        before, after = getattr(asked, name), getattr(resolved, name)
        if isinstance(before, Record) and isinstance(after, Record):
            yield from _settled(before, after, f"{prefix}{name}.")
        elif before != after:
            value: JsonValue = str(after) if isinstance(after, Path) else after
            if isinstance(after, tuple):
                value = list(after)
            yield Settled(key=prefix + name, value=value)


def _devices(config: FrameworkConfig, machine: Machine) -> tuple[DevicePlan, ...]:
    num_gpus = config.rl.num_gpus or 0
    if not num_gpus:
        host = DevicePlan(
            device="CPU",
            name=f"{machine.cores} cores",
            memory_bytes=machine.memory_bytes,
            used_by=tuple(_without_cards(config)),
        )
        judged_on = (config.judge.gpu_indices or ()) if config.judge.executor == "gpu" else ()
        return (host, *(_card(config, machine, index, ("judge",)) for index in judged_on))
    users = card_users(config)
    return tuple(_card(config, machine, index, tuple(roles)) for index, roles in enumerate(users))


def card_users(config: FrameworkConfig) -> list[list[Role]]:
    """Of each card of a resolved config, in the order in which `GPUAllocation` gives them out."""
    gpus, rl = config.rl.gpus, config.rl
    with_actor: list[Role] = ["actor", "critic"] if rl.algorithm == "ppo" else ["actor"]
    with_actor += [] if gpus.rollout else ["rollout"]
    with_actor += ["reference"] if rl.kl_coef and not gpus.reference else []
    users: list[list[Role]] = [list(with_actor) for _ in range(gpus.actor or 1)]
    users += [["reference"] for _ in range(gpus.reference or 0)]
    users += [["rollout"] for _ in range(gpus.rollout or 0)]
    users += [["judge"] for _ in range(gpus.judge or 0)]
    if config.judge.executor == "gpu" and not gpus.judge:
        for index in config.judge.gpu_indices or ():
            users[index].append("judge")
    return users


def _without_cards(config: FrameworkConfig) -> Iterator[Role]:
    yield "actor"
    if config.rl.algorithm == "ppo":
        yield "critic"
    yield "rollout"
    if config.rl.kl_coef:
        yield "reference"
    if config.judge.executor != "gpu":
        yield "judge"


def _card(config: FrameworkConfig, machine: Machine, index: int, users: tuple[Role, ...]) -> DevicePlan:
    card, nodes = machine.cards[index], config.rl.nodes
    device = f"GPU {index}" + (f" of each of {nodes} nodes" if nodes > 1 else "")
    return DevicePlan(device=device, name=card.name, memory_bytes=card.memory_bytes, used_by=users)


def _judge(config: FrameworkConfig) -> JudgePlan:
    return JudgePlan(
        executor="gpu" if config.judge.executor == "gpu" else "emulator",
        place=judge_place(config),
        workers=config.judge.workers,
    )
