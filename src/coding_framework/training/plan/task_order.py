"""In which order RL will meet its tasks, and what is wrong with such an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coding_framework.config import CurriculumConfig, FrameworkConfig
from coding_framework.data.sources.book import find_task
from coding_framework.data.tasks.split import asked_tasks
from coding_framework.training.plan.records import TaskOrderPlan, TierPlan
from coding_framework.training.plan.refusals import Refusal


def task_order_plan(config: FrameworkConfig, tasks: Sequence[str]) -> TaskOrderPlan | None:
    """None without RL; `tasks` are those that may be trained on."""
    if not config.rl.enabled:
        return None
    if not config.curriculum.enabled:
        return TaskOrderPlan(order="uniform")
    drawn = drawn_tasks(config, tasks)
    return TaskOrderPlan(
        order="curriculum",
        tiers=tuple(_tiers(config, tasks)),
        never_drawn=tuple(name for name in tasks if name not in drawn),
    )


def drawn_tasks(config: FrameworkConfig, tasks: Sequence[str]) -> tuple[str, ...]:
    """Those of `tasks` that RL may come to."""
    if not config.curriculum.enabled:
        return tuple(tasks)
    held = {name for tier in _tiers(config, tasks) for name in tier.tasks}
    return tuple(name for name in tasks if name in held)


def _tiers(config: FrameworkConfig, tasks: Sequence[str]) -> Iterator[TierPlan]:
    """Those that have a task."""
    tier_of = {name: find_task(config.tasks, name).tier for name in tasks}
    for tier in config.curriculum.resolved_tiers:
        held = tuple(name for name in tasks if tier_of[name] in tier.catalogue_tiers)
        if held:
            yield TierPlan(
                name=tier.name,
                tasks=held,
                min_compile_rate=tier.min_compile_rate,
                min_success_rate=tier.min_success_rate,
                min_speedup=tier.min_speedup,
                min_episodes=tier.min_episodes,
            )


def task_order_refusals(config: FrameworkConfig) -> Iterator[Refusal]:
    """Of RL alone."""
    curriculum = config.curriculum
    if not config.rl.enabled:
        return
    given = [
        f"curriculum.{name}"
        for name, field in CurriculumConfig.model_fields.items()
        if name != "enabled" and getattr(curriculum, name) != field.default
    ]
    if given and not curriculum.enabled:
        yield _wrong(
            f"{', '.join(given)} has no effect while curriculum.enabled is false: leave it out, or switch "
            "the curriculum on"
        )
    if curriculum.tiers and curriculum.preset != CurriculumConfig.model_fields["preset"].default:
        yield _wrong("curriculum.tiers takes the place of curriculum.preset: leave one of them out")
    held = {number for tier in curriculum.resolved_tiers for number in tier.catalogue_tiers}
    wanted = {task.tier for task in asked_tasks(config.tasks)}
    if curriculum.enabled and not held & wanted:
        yield _wrong(
            f"no tier of the curriculum holds a task of tasks.train: its tiers hold those of tiers "
            f"{sorted(held)} of the catalogue, and those to train on are in {sorted(wanted)}: change "
            "curriculum.tiers or tasks.train, or set curriculum.enabled=false"
        )


def _wrong(words: str) -> Refusal:
    return Refusal("settings", words)
