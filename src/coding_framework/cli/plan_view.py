"""A plan in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from coding_framework.training.plan.records import (
    DevicePlan,
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


_TASKS_SHOWN = 24
_NARROW = 80
"""Columns of a terminal."""
_NUMBERS = ("steps", "episodes", "time", "memory")


def show_plan(console: Console, plan: TrainingPlan) -> None:
    """What it will do, where, and what it may cost."""
    console.print(
        Group(
            _head(plan),
            Text(),
            _phases(plan, console.width),
            Text(),
            *_order(plan),
            _devices(plan),
            Text(),
            *_notes(plan),
        )
    )


def _head(plan: TrainingPlan) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("run folder", f"{plan.folder} ({'goes on' if plan.resumes else 'new'})")
    grid.add_row("model", plan.config.model.name)
    if not plan.config.reward.is_built_in:
        grid.add_row("reward", f"{plan.config.reward.title} (tried on recorded evaluations)")
    grid.add_row("time", _total(plan))
    grid.add_row("disk", _disk(plan))
    return grid


def _total(plan: TrainingPlan) -> str:
    """Of what is left to do."""
    left = [phase for phase in plan.phases if not phase.finished]
    known = sum(phase.seconds.value for phase in left if isinstance(phase.seconds, Estimate))
    unknown = [_TITLES[phase.name] for phase in left if isinstance(phase.seconds, Unknown)]
    if not left:
        return "everything is done"
    if not unknown:
        return f"about {_duration(known)}"
    return f"not known for {', '.join(unknown)}" + (f"; the rest about {_duration(known)}" if known else "")


def _disk(plan: TrainingPlan) -> str:
    most, left = plan.disk_at_most_bytes, plan.disk_bytes
    if isinstance(most, Unknown) or isinstance(left, Unknown):
        return "not known"
    return f"{_gigabytes(most.value)} at most, {_gigabytes(left.value)} when done"


def _gigabytes(size: float) -> str:
    if size < 1e8:
        return f"{size / 1e6:.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e10 else f"{size / 1e9:.0f} GB"


def _phases(plan: TrainingPlan, width: int) -> RenderableType:
    """In a narrow terminal the numbers stand below the words, so that none is cut off."""
    table = Table(title="Plan", title_justify="left")
    table.add_column("phase", no_wrap=True)
    table.add_column("what", overflow="fold")
    if width < _NARROW:
        for phase in plan.phases:
            named = zip(_NUMBERS, _numbers(phase), strict=True)
            below = ", ".join(f"{name} {value}" for name, value in named if value)
            table.add_row(_TITLES[phase.name], f"{phase.what}\n{below}")
        return table
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for phase in plan.phases:
        table.add_row(_TITLES[phase.name], phase.what, *_numbers(phase))
    return table


def _numbers(phase: PhasePlan) -> Iterable[str]:
    yield _count(phase.steps) + (
        f", {phase.steps_done:,} done" if phase.steps_done and not phase.finished else ""
    )
    yield _count(phase.episodes)
    yield "done" if phase.finished else _time(phase.seconds)
    memory = phase.memory_bytes
    yield f"{memory.value / 1e9:.1f} GB" if isinstance(memory, Estimate) else ("?" if memory else "")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _time(seconds: Estimate | Unknown) -> str:
    return "?" if isinstance(seconds, Unknown) else _duration(seconds.value)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.0f} days"


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
    judge, evaluation = plan.judge, plan.phases[-1]
    width = f"{judge.workers} at a time" if judge.workers else "as many at a time as the cluster has room for"
    yield Text(f"judge: {judge.executor}, {width}; {_PLACES[judge.place]}{_sandbox(plan)}")
    trained = next((phase.tasks for phase in plan.phases if phase.tasks and phase is not evaluation), ())
    yield Text(f"trained on {_named(trained)}")
    yield Text(f"held out for the evaluation: {_named(evaluation.held_out)}")
    if plan.settled:
        yield Text(
            f"chosen for this machine: {_choices(plan)} ({len(plan.settled)} settings; --json names them)"
        )
    yield from (Text(words) for words in plan.tasks)
    for words in dict.fromkeys(_grounds(plan)):
        yield Text(words, style="dim")


def _sandbox(plan: TrainingPlan) -> str:
    """Of host code, which kernel candidates do not hold."""
    sandbox = plan.config.judge.sandbox
    return "" if sandbox == "auto" else f"; sandbox: {'never Docker' if sandbox == 'no_docker' else sandbox}"


def _named(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _TASKS_SHOWN} more (--json names them)" if len(tasks) > _TASKS_SHOWN else ""
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}: {', '.join(tasks[:_TASKS_SHOWN])}{more}"


def _choices(plan: TrainingPlan) -> str:
    rl, model = plan.config.rl, plan.config.model
    cards = f"{rl.num_gpus} card{'' if rl.num_gpus == 1 else 's'}" if rl.num_gpus else "the CPU"
    sampler = [f"{'vLLM' if rl.rollout == 'vllm' else 'transformers'} samples"] if rl.enabled else []
    return ", ".join((model.dtype, *sampler, cards))


def _grounds(plan: TrainingPlan) -> Iterable[str]:
    left = [phase for phase in plan.phases if not phase.finished]
    for phase in left:
        if isinstance(phase.seconds, Estimate) and phase.seconds.rests_on:
            yield f"times are estimates; they rest on {phase.seconds.rests_on}"
    unknown: dict[str, list[str]] = {}
    for phase in left:
        if isinstance(phase.seconds, Unknown):
            unknown.setdefault(phase.seconds.because, []).append(_TITLES[phase.name])
    for because, names in unknown.items():
        yield f"time of {' and '.join(names)}: not known ({because})"
