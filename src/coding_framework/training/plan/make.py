"""From a config and a machine to a plan, or to a refusal. Loads no torch and starts nothing, except that a
reward of the user's own is tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from coding_framework.config import FrameworkConfig
from coding_framework.data.tasks.split import training_tasks
from coding_framework.monitoring.run_folder import RunFolder, run_name
from coding_framework.records import Record
from coding_framework.training.plan.card_refusals import card_refusals
from coding_framework.training.plan.changes import settled_keys, value_at
from coding_framework.training.plan.devices import devices
from coding_framework.training.plan.disk import disk_at_most, disk_left
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.phases import phases
from coding_framework.training.plan.progress import progress_of, too_few_steps
from coding_framework.training.plan.records import JudgePlan, Settled, TrainingPlan
from coding_framework.training.plan.refusals import raise_first, refusals
from coding_framework.training.plan.resolve import judge_place, resolve
from coding_framework.training.plan.rl_refusals import algorithm_refusals
from coding_framework.training.plan.room import no_room
from coding_framework.training.plan.sft_refusals import compiler_refusals, sft_refusals
from coding_framework.training.plan.shape import model_shape
from coding_framework.training.plan.sink_refusals import sink_refusals
from coding_framework.training.plan.task_order import task_order_plan, task_order_refusals
from coding_framework.training.plan.tasks import keep_to_the_run, task_notes, task_refusals
from coding_framework.training.rl.leftovers import shared_bytes_left


def make_plan(config: FrameworkConfig, machine: Machine, run: RunFolder | None = None) -> TrainingPlan:
    """What training with `config` on `machine` means; `run` is one that is taken up again.

    Raises where it cannot work, with everything that stands in the way.
    """
    shape = model_shape(config.model.name)
    config = keep_to_the_run(config, run)
    resolved = resolve(config, machine, shape)
    progress, at_most = progress_of(run, resolved), disk_at_most(resolved, shape)
    in_the_way = [
        *refusals(config, resolved, machine),
        *card_refusals(config, resolved, machine),
        *algorithm_refusals(resolved),
        *sft_refusals(resolved),
        *compiler_refusals(resolved),
        *too_few_steps(run, resolved),
        *task_refusals(resolved, machine),
        *task_order_refusals(resolved),
        *sink_refusals(resolved, machine),
        *no_room(resolved, _taken_up(machine, run), shape, at_most, run),
    ]
    raise_first(in_the_way)
    tasks = [task.name for task in training_tasks(resolved.tasks)]
    folder = run.path if run else resolved.run.output_dir / run_name(resolved.run.name)
    return TrainingPlan(
        folder=folder,
        resumes=run is not None,
        config=resolved,
        settled=tuple(_all_settled(config, resolved, run)),
        machine=machine,
        phases=phases(resolved, machine, shape, tasks, progress),
        devices=devices(resolved, machine, shape),
        judge=_judge(resolved),
        task_order=task_order_plan(resolved, tasks),
        disk_bytes=disk_left(resolved, shape),
        tasks=task_notes(resolved),
        disk_at_most_bytes=at_most,
    )


def _all_settled(
    asked: FrameworkConfig, resolved: FrameworkConfig, run: RunFolder | None
) -> Iterator[Settled]:
    """Now, or when the run was started: such decisions may be made anew when it is taken up again."""
    now = {one.key: one for one in _settled(asked, resolved)}
    for key, value in (settled_keys(run) if run is not None else {}).items():
        if key not in now and as_json(value_at(resolved, key)) == value:
            yield Settled(key=key, value=value)
    yield from now.values()


def _settled(asked: Record, resolved: Record, prefix: str = "") -> Iterator[Settled]:
    """What differs between the two, by dotted key."""
    for name in type(asked).model_fields:
        before, after = getattr(asked, name), getattr(resolved, name)
        if isinstance(before, Record) and isinstance(after, Record):
            yield from _settled(before, after, f"{prefix}{name}.")
        elif before != after:
            yield Settled(key=prefix + name, value=as_json(after))


def _taken_up(machine: Machine, run: RunFolder | None) -> Machine:
    """With the shared memory that a killed start of this run holds: it goes before any is needed."""
    free, left = machine.free_shared_bytes, shared_bytes_left(run.path) if run else 0
    return machine if free is None else machine.model_copy(update={"free_shared_bytes": free + left})


def as_json(value: Any) -> JsonValue:
    """As a settled value stands in the plan's file."""
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def _judge(config: FrameworkConfig) -> JudgePlan:
    return JudgePlan(
        executor="gpu" if config.judge.executor == "gpu" else "emulator",
        place=judge_place(config),
        workers=config.judge.workers,
    )
