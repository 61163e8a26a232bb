"""From a config and a machine to a plan, or to a refusal. Loads no torch and starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from coding_framework.config import FrameworkConfig
from coding_framework.data.tasks.split import training_tasks
from coding_framework.monitoring.run_folder import RunFolder, run_name
from coding_framework.records import Record
from coding_framework.training.plan.devices import devices
from coding_framework.training.plan.disk import disk_at_most, disk_left
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.phases import phases
from coding_framework.training.plan.records import JudgePlan, Settled, TrainingPlan
from coding_framework.training.plan.refusals import raise_first, refusals
from coding_framework.training.plan.resolve import judge_place, resolve
from coding_framework.training.plan.rl_refusals import algorithm_refusals
from coding_framework.training.plan.room import no_room
from coding_framework.training.plan.shape import model_shape


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
        devices=devices(resolved, machine, shape),
        judge=_judge(resolved),
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


def _judge(config: FrameworkConfig) -> JudgePlan:
    return JudgePlan(
        executor="gpu" if config.judge.executor == "gpu" else "emulator",
        place=judge_place(config),
        workers=config.judge.workers,
    )
