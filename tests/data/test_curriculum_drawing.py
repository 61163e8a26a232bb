"""Which task comes next: review, learnability, nothing held out."""

from __future__ import annotations

from collections import Counter

import pytest
from curriculum_support import (
    QUICK,
    WRONG,
    always,
    manager,
    mostly_good,
    outcomes,
    passed,
    practise,
    sample,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.config import CurriculumConfig
from coding_framework.data.curriculum_manager import CurriculumManager, EpisodeOutcome
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks


class TestDrawing:
    @given(seed=st.integers(0, 10_000), results=st.lists(outcomes, max_size=60))
    @settings(max_examples=30, deadline=None)
    def test_what_is_held_out_is_never_drawn(self, seed: int, results: list[EpisodeOutcome]) -> None:
        curriculum = manager(seed=seed, held_out=("t0b", "t1c"))
        drawn = set()
        for outcome in results:
            task = curriculum.next_task()
            drawn.add(task.name)
            curriculum.record(task.name, outcome)
        drawn |= {task.name for task in sample(curriculum, 50)}
        assert not drawn & {"secret", "t0b", "t1c"}

    def test_the_shipped_catalogue_is_drawn_without_its_held_out_families(self) -> None:
        curriculum = CurriculumManager()
        assert {task.family for task in all_tasks()} & HELD_OUT_FAMILIES
        assert not {task.family for task in curriculum.tasks} & HELD_OUT_FAMILIES
        assert {task.tier for task in sample(curriculum, 20)} == {0}

    @given(results=st.lists(st.tuples(st.sampled_from(["t0a", "t0b", "t0c"]), outcomes), max_size=100))
    @settings(max_examples=40, deadline=None)
    def test_from_every_task_there_is_something_to_learn(
        self, results: list[tuple[str, EpisodeOutcome]]
    ) -> None:
        curriculum = manager()
        for name, outcome in results:
            curriculum.record(name, outcome)
        for task in curriculum.tasks:
            assert QUICK.least_weight <= curriculum.learnability(task.name) <= 1

    def test_a_task_solved_half_of_the_time_is_worth_more_than_one_always_or_never_solved(self) -> None:
        curriculum = manager()
        for number in range(30):
            curriculum.record("t0a", passed())
            curriculum.record("t0b", WRONG)
            curriculum.record("t0c", passed() if number % 2 else WRONG)
        weights = {name: curriculum.learnability(name) for name in ("t0a", "t0b", "t0c", "t2a")}
        assert weights["t0c"] > 4 * weights["t0a"]
        assert weights["t0c"] > 4 * weights["t0b"]
        assert weights["t2a"] == pytest.approx(weights["t0c"]), "a task never tried is worth a try"
        drawn = Counter(task.name for task in sample(curriculum, 600) if task.tier == 0)
        assert drawn["t0c"] > drawn["t0a"] > 0
        assert drawn["t0b"] > 0

    def test_a_task_mastered_long_ago_keeps_its_least_weight(self) -> None:
        curriculum = manager(QUICK.model_copy(update={"task_window": 300}))
        for _ in range(300):
            curriculum.record("t0a", passed())
        assert curriculum.learnability("t0b") == 1
        assert curriculum.learnability("t0a") == QUICK.least_weight

    def test_a_task_that_passes_may_still_have_its_speed_to_learn(self) -> None:
        curriculum = manager()
        for number in range(30):
            curriculum.record("t1a", passed(3.0))
            curriculum.record("t1b", passed(3.0 if number % 2 else 1.0))
        assert curriculum.learnability("t1b") > 4 * curriculum.learnability("t1a")

    @given(results=st.lists(mostly_good, max_size=120), seed=st.integers(0, 99))
    @settings(max_examples=20, deadline=None)
    def test_chances_add_up_over_what_may_be_drawn_and_nothing_else_has_one(
        self, results: list[EpisodeOutcome], seed: int
    ) -> None:
        curriculum = manager(seed=seed, held_out=("t0b",))
        for outcome in results:
            curriculum.record(curriculum.next_task().name, outcome)
        chances = curriculum.chances()
        assert sum(chances.values()) == pytest.approx(1.0)
        assert all(chance > 0 for chance in chances.values())
        tier = int(curriculum.tier.name[-1])
        assert set(chances) == {task.name for task in curriculum.tasks if task.tier <= tier}
        assert not set(chances) & {"secret", "t0b"}

    def test_draws_follow_the_chances(self) -> None:
        curriculum = manager()
        practise(curriculum, 90, always(passed(3.0)))
        chances = curriculum.chances()
        assert len(chances) > 3
        drawn = Counter(task.name for task in sample(curriculum, 4000))
        for name, chance in chances.items():
            assert drawn[name] / 4000 == pytest.approx(chance, abs=0.03)

    def test_earlier_tiers_are_reviewed_by_their_share_and_those_that_slipped_more_often(self) -> None:
        curriculum = manager(CurriculumConfig(**{**QUICK.model_dump(), "review_share": 0.3}))
        practise(curriculum, 200, always(passed()))
        assert curriculum.tier.name == "rung 2"
        for number in range(60):
            curriculum.record("t0a", passed())
            curriculum.record("t1a", passed() if number % 2 else WRONG)
        drawn = Counter(task.tier for task in sample(curriculum, 2000))
        assert 0.25 < (drawn[0] + drawn[1]) / 2000 < 0.35
        assert drawn[1] > 2 * drawn[0] > 0
