"""Ladders that come with the project, and those that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from curriculum_support import TASKS, always, passed, practise

from coding_framework.config import CurriculumConfig, load_config
from coding_framework.data.curriculum_manager import CurriculumManager
from coding_framework.errors import ConfigError


class TestPresets:
    def test_three_tiers_are_the_ones_asked_for(self) -> None:
        tiers = CurriculumConfig(preset="three_tiers").resolved_tiers
        assert [
            (t.name, t.min_compile_rate, t.min_success_rate, t.min_speedup, t.min_episodes) for t in tiers
        ] == [
            ("easy", 0.80, 0.60, 1.2, 100),
            ("medium", 0.75, 0.50, 1.8, 200),
            ("hard", 0.70, 0.40, 2.5, 300),
        ]

    def test_four_tiers_move_up_only_above_ninety_and_seventy_five_percent(self) -> None:
        tiers = CurriculumConfig(preset="four_tiers").resolved_tiers
        assert [tier.catalogue_tiers for tier in tiers] == [(0,), (1,), (2,), (3,)]
        assert {(tier.min_compile_rate, tier.min_success_rate) for tier in tiers} == {(0.90, 0.75)}

    @pytest.mark.parametrize("preset", ["three_tiers", "four_tiers"])
    def test_a_perfect_policy_climbs_the_shipped_catalogue(self, preset: Any) -> None:
        curriculum = CurriculumManager(CurriculumConfig(preset=preset))
        practise(curriculum, 1200, always(passed(4.0)))
        assert curriculum.mastered
        assert {point.change.direction for point in curriculum.history.changes if point.change} == {
            "advanced"
        }

    def test_tiers_without_tasks_are_left_out_and_none_at_all_is_refused(self) -> None:
        few = [task for task in TASKS if task.tier in (0, 2)]
        curriculum = CurriculumManager(CurriculumConfig(), few)
        assert [tier.name for tier in curriculum.tiers] == ["tier 0", "tier 2"]
        with pytest.raises(ConfigError, match="no task to draw"):
            CurriculumManager(CurriculumConfig(), [TASKS[-1]])

    @pytest.mark.parametrize(
        ("override", "complaint"),
        [
            ("curriculum.window=20", "too short for tier 'tier 0'"),
            ("curriculum.least_weight=0", "must be above 0"),
            ("curriculum.preset=five", "three_tiers"),
            ("curriculum.reviewshare=0.1", "did you mean 'review_share'?"),
            (
                'curriculum.tiers=[{name="a", catalogue_tiers=[0], min_compile_rate=0.5, min_succes_rate=1}]',
                "did you mean 'min_success_rate'?",
            ),
            (
                "curriculum.tiers=["
                '{name="a", catalogue_tiers=[0], min_compile_rate=0.5, min_success_rate=0.5}, '
                '{name="b", catalogue_tiers=[0], min_compile_rate=0.5, min_success_rate=0.5}]',
                "occurs twice",
            ),
        ],
    )
    def test_nonsense_is_refused_before_any_work(self, override: str, complaint: str) -> None:
        with pytest.raises(ConfigError) as caught:
            load_config(None, [override])
        assert complaint in str(caught.value)
