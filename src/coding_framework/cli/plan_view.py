"""A plan in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from coding_framework.training.plan.records import DevicePlan, Estimate, Phase, PhasePlan, TrainingPlan, Unknown

_TITLES: dict[Phase, str] = {
    "model": "model",
    "pairs": "pairs",
    "sft": "SFT",
    "rl": "RL",
    "rl_generator": "RL generator",
    "rl_optimizer": "RL optimizer",
    "evaluation": "evaluation",
}
_PLACES = {
    "no_card": "times are modelled",
    "own_card": "times are measured on a card of its own",
    "card_in_turns": "times are measured while the policy rests",
}


def show_plan(console: Console, plan: TrainingPlan) -> None:
    """What it will do, where, and what it may cost."""
    console.print(Group(_head(plan), Text(), _phases(plan), Text(), _devices(plan), Text(), *_notes(plan)))


def _head(plan: TrainingPlan) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("run folder", f"{plan.folder} ({'goes on' if plan.resumes else 'new'})")
    grid.add_row("model", plan.config.model.name)
    disk = plan.disk_bytes
    grid.add_row("disk", f"up to {disk.value / 1e9:.1f} GB" if isinstance(disk, Estimate) else "not known")
    return grid


def _phases(plan: TrainingPlan) -> RenderableType:
    table = Table(title="Plan", title_justify="left")
    table.add_column("phase", no_wrap=True)
    table.add_column("what")
    for name in ("steps", "episodes", "time", "memory"):
        table.add_column(name, justify="right", no_wrap=True)
    for phase in plan.phases:
        table.add_row(_TITLES[phase.name], phase.what, *_numbers(phase))
    return table


def _numbers(phase: PhasePlan) -> Iterable[str]:
    yield _count(phase.steps)
    yield _count(phase.episodes)
    yield "done" if phase.finished else _time(phase.seconds)
    memory = phase.memory_bytes
    yield f"{memory.value / 1e9:.1f} GB" if isinstance(memory, Estimate) else ("?" if memory else "")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _time(seconds: Estimate | Unknown) -> str:
    if isinstance(seconds, Unknown):
        return "?"
    value = seconds.value
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


def _devices(plan: TrainingPlan) -> RenderableType:
    table = Table(title="Who computes where", title_justify="left")
    for name in ("device", "name", "memory", "needed", "used by"):
        table.add_column(name)
    for device in plan.devices:
        needed = "" if device.held_bytes is None else f"{device.held_bytes / 1e9:.1f} GB"
        there = f"{device.memory_bytes / 1e9:.0f} GB"
        table.add_row(device.device, device.name, there, needed, _users(device))
    return table


def _users(device: DevicePlan) -> str:
    later = ", ".join(role for role in device.used_by if role != "sft")
    if "sft" not in device.used_by:
        return later or "nobody"
    return f"SFT, then {later}" if later else "SFT"


def _notes(plan: TrainingPlan) -> Iterable[RenderableType]:
    judge = plan.judge
    width = f"{judge.workers} at a time" if judge.workers else "as many at a time as the cluster has room for"
    yield Text(f"judge: {judge.executor}, {width}; {_PLACES[judge.place]}")
    if plan.settled:
        yield Text("settled for this machine: " + ", ".join(f"{one.key}={one.value}" for one in plan.settled))
    for words in dict.fromkeys(_grounds(plan)):
        yield Text(words, style="dim")


def _grounds(plan: TrainingPlan) -> Iterable[str]:
    for phase in plan.phases:
        if isinstance(phase.seconds, Estimate):
            yield f"times are estimates; they rest on {phase.seconds.rests_on}"
        else:
            yield f"time of {_TITLES[phase.name]}: {phase.seconds.because}"
