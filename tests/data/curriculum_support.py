"""A small ladder of tasks, and ways to practise on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from coding_framework.config import CurriculumConfig, CurriculumTier
from coding_framework.data.curriculum_manager import CurriculumManager, EpisodeOutcome
from coding_framework.data.tasks import HELD_OUT_FAMILIES, get_task
from coding_framework.records import Task, TimeKind
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()
BROKEN = EpisodeOutcome(compiled=False, passed=False)
WRONG = EpisodeOutcome(compiled=True, passed=False)


def passed(speedup: float = 3.0, kind: TimeKind = "modelled") -> EpisodeOutcome:
    return EpisodeOutcome(compiled=True, passed=True, speedup=speedup, time_kind=kind)


def small_catalogue() -> tuple[Task, ...]:
    """Three tasks in each tier, and one of a held-out family."""
    pattern = get_task("vector_add")
    tasks = [
        pattern.model_copy(update={"name": f"t{tier}{letter}", "tier": tier, "family": "plain"})
        for tier in range(4)
        for letter in "abc"
    ]
    secret = pattern.model_copy(update={"name": "secret", "family": min(HELD_OUT_FAMILIES)})
    return (*tasks, secret)


TASKS = small_catalogue()
QUICK = CurriculumConfig(
    tiers=tuple(
        CurriculumTier(
            name=f"rung {tier}",
            catalogue_tiers=(tier,),
            min_compile_rate=0.6,
            min_success_rate=0.5,
            min_speedup=1.2 if tier else None,
            min_episodes=20,
        )
        for tier in range(3)
    ),
    window=40,
    demotion_window=20,
)
outcomes = st.one_of(
    st.just(BROKEN),
    st.just(WRONG),
    st.builds(passed, st.floats(0.1, 10.0), st.sampled_from(["modelled", "measured"])),
)
mostly_good = st.one_of(*[st.builds(passed, st.floats(1.0, 4.0))] * 4, outcomes)


def manager(config: CurriculumConfig = QUICK, **changes: Any) -> CurriculumManager:
    return CurriculumManager(config, TASKS, **changes)


def practise(curriculum: CurriculumManager, episodes: int, policy: Callable[[Task], EpisodeOutcome]) -> None:
    for _ in range(episodes):
        task = curriculum.next_task()
        curriculum.record(task.name, policy(task))


def always(outcome: EpisodeOutcome) -> Callable[[Task], EpisodeOutcome]:
    return lambda task: outcome


def sample(curriculum: CurriculumManager, draws: int) -> list[Task]:
    return [curriculum.next_task() for _ in range(draws)]
