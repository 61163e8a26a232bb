"""A plan in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from coding_framework.training.plan.records import (
    Estimate,
    Phase,
    PhasePlan,
    TaskOrderPlan,
    TierPlan,
    TrainingPlan,
    Unknown,
)

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
    console.print(
        Group(
            _head(plan), Text(), _phases(plan), Text(), *_order(plan), _devices(plan), Text(), *_notes(plan)
        )
    )


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


def _order(plan: TrainingPlan) -> Iterable[RenderableType]:
    order = plan.task_order
    if order is None:
        return
    if order.order == "uniform":
        yield Text("order of tasks in RL: uniform, each pass has every task once")
    else:
        yield from _tiers(order)
    yield Text()


def _tiers(order: TaskOrderPlan) -> Iterable[RenderableType]:
    table = Table(
        title="Order of tasks in RL: curriculum, by learnability within a tier", title_justify="left"
    )
    for name in ("tier", "tasks", "left when surely above"):
        table.add_column(name)
    for place, tier in enumerate(order.tiers):
        last = place == len(order.tiers) - 1
        table.add_row(tier.name, _some(tier.tasks), "the last one" if last else _gates(tier))
    yield table
    if order.never_drawn:
        yield Text(f"in no tier, and not drawn in RL: {', '.join(order.never_drawn)}")


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + rest


def _gates(tier: TierPlan) -> str:
    speed = f", {tier.min_speedup:g}× at the median" if tier.min_speedup is not None else ""
    rates = f"{tier.min_compile_rate:.0%} compile, {tier.min_success_rate:.0%} pass"
    return f"{rates}{speed}; {tier.min_episodes} episodes at least"


def _devices(plan: TrainingPlan) -> RenderableType:
    table = Table(title="Who computes where", title_justify="left")
    for name in ("device", "name", "memory", "used by"):
        table.add_column(name)
    for device in plan.devices:
        users = ", ".join(device.used_by) or "nobody"
        table.add_row(device.device, device.name, f"{device.memory_bytes / 1e9:.0f} GB", users)
    return table


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
