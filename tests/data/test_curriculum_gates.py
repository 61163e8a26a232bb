"""Tiers of the curriculum: up when intervals prove it, down when it forgets."""

from __future__ import annotations

from random import Random

import pytest
from curriculum_support import BROKEN, QUICK, WRONG, always, manager, mostly_good, passed, practise
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.data.curriculum_manager import EpisodeOutcome


class TestMovingUp:
    @given(results=st.lists(mostly_good, min_size=1, max_size=150), seed=st.integers(0, 99))
    @settings(max_examples=60, deadline=None)
    def test_it_never_advances_below_its_gates(self, results: list[EpisodeOutcome], seed: int) -> None:
        curriculum = manager(seed=seed)
        stay: list[EpisodeOutcome] = []
        for outcome in results:
            task, tier = curriculum.next_task(), curriculum.tier
            practised = task.tier in tier.catalogue_tiers
            stay += [outcome] if practised else []
            change = curriculum.record(task.name, outcome)
            if change is None:
                continue
            if change.direction == "advanced":
                assert practised
                assert len(stay) >= tier.min_episodes
                point = curriculum.history.points[-1]
                assert point.tier_name == tier.name
                assert point.rates.compile_rate.low > tier.min_compile_rate
                assert point.rates.success_rate.low > tier.min_success_rate
                if tier.min_speedup is not None:
                    assert point.rates.speedup is not None
                    assert point.rates.speedup.low > tier.min_speedup
            stay = []

    @given(share=st.floats(0.0, 0.5), seed=st.integers(0, 999))
    @settings(max_examples=20, deadline=None)
    def test_a_policy_at_or_below_the_gate_stays_even_if_it_is_lucky_for_a_while(
        self, share: float, seed: int
    ) -> None:
        """Exactly `share` of every ten episodes pass, in random order: the true rate is below the gate."""
        random, curriculum = Random(seed), manager(seed=seed)
        good = round(10 * share)
        for _ in range(12):
            batch = [passed()] * good + [WRONG] * (10 - good)
            random.shuffle(batch)
            for number, outcome in enumerate(batch):
                curriculum.record(f"t0{'abc'[number % 3]}", outcome)
        assert curriculum.tier.name == "rung 0"
        assert any("success rate" in words for words in curriculum.missing())

    def test_a_raw_rate_above_the_gate_is_not_enough(self) -> None:
        curriculum = manager()
        for number in range(30):
            curriculum.record("t0a", passed() if number % 10 >= 4 else WRONG)
        rates = curriculum.rates()
        assert rates is not None
        assert rates.success_rate.value == pytest.approx(0.6)
        assert rates.success_rate.low < 0.5
        assert curriculum.tier.name == "rung 0"

    def test_not_before_the_least_number_of_episodes(self) -> None:
        curriculum = manager()
        practise(curriculum, 19, always(passed()))
        assert curriculum.missing() == ("19 of 20 episodes",)
        change = curriculum.record("t0a", passed())
        assert change is not None
        assert (change.direction, change.to_tier) == ("advanced", "rung 1")

    def test_a_tier_that_asks_for_speed_is_not_left_by_slow_kernels(self) -> None:
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        for _ in range(60):
            curriculum.record("t1a", passed(1.1))
        assert curriculum.tier.name == "rung 1"
        assert any("median speedup" in words for words in curriculum.missing())

    def test_each_gate_holds_for_itself_and_by_its_lower_end(self) -> None:
        """Passing is likely enough, compiling is not; the median is above the gate, its interval is not."""
        tier = QUICK.resolved_tiers[0].model_copy(update={"min_compile_rate": 0.88})
        curriculum = manager(QUICK.model_copy(update={"tiers": (tier, QUICK.resolved_tiers[1])}))
        for number in range(80):
            curriculum.record("t0a", BROKEN if number % 12 == 0 else passed())
        (missing,) = curriculum.missing()
        assert "compile rate" in missing
        fast = QUICK.resolved_tiers[0].model_copy(update={"min_speedup": 1.2})
        curriculum = manager(QUICK.model_copy(update={"tiers": (fast, QUICK.resolved_tiers[1])}))
        for number in range(81):
            curriculum.record("t0a", passed(1.5 if number % 2 == 0 else 1.0))
        (missing,) = curriculum.missing()
        assert "median speedup 1.25× [1.00–1.50]" in missing

    def test_modelled_and_measured_speedups_never_meet_in_one_window(self) -> None:
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        for _ in range(19):
            curriculum.record("t1a", passed(9.0, "modelled"))
        for number in range(1, 6):
            assert curriculum.record("t1a", passed(9.0, "measured")) is None, number
            rates = curriculum.rates()
            assert rates is not None
            assert rates.speedup is None
        assert curriculum.record("t1a", passed(9.0, "measured")) is not None

    def test_the_last_tier_is_mastered_and_not_left(self) -> None:
        curriculum = manager()
        practise(curriculum, 400, always(passed()))
        assert curriculum.tier.name == "rung 2"
        assert curriculum.mastered

    def test_an_easy_task_drawn_rarely_counts_as_much_as_a_hard_one_drawn_often(self) -> None:
        strict = QUICK.resolved_tiers[0].model_copy(update={"min_success_rate": 0.8})
        curriculum = manager(QUICK.model_copy(update={"tiers": (strict,)}))
        for _ in range(24):
            curriculum.record("t0a", passed())
            curriculum.record("t0b", passed())
            curriculum.record("t0c", WRONG)
            curriculum.record("t0c", WRONG)
        rates = curriculum.rates()
        assert rates is not None
        assert rates.success_rate.value == pytest.approx(2 / 3)


class TestMovingDown:
    def test_a_tier_that_regresses_is_left_downwards_and_regained(self) -> None:
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        for _ in range(15):
            curriculum.record("t1a", passed(1.1))
        for _ in range(20):
            curriculum.record("t1a", BROKEN)
        change = curriculum.history.changes[-1].change
        assert change is not None
        assert (change.direction, change.to_tier) == ("demoted", "rung 0")
        assert "below" in change.reason
        practise(curriculum, 25, always(passed()))
        assert curriculum.tier.name == "rung 1"

    def test_a_tier_that_is_merely_hard_is_no_regression(self) -> None:
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        for _ in range(200):
            curriculum.record("t1a", WRONG)
        assert curriculum.tier.name == "rung 1"

    def test_a_forgotten_tier_is_practised_again(self) -> None:
        curriculum = manager()
        practise(curriculum, 200, always(passed()))
        assert curriculum.tier.name == "rung 2"
        for _ in range(20):
            if curriculum.tier.name != "rung 0":
                curriculum.record("t0a", BROKEN)
        assert curriculum.tier.name == "rung 0"

    def test_noise_between_threshold_and_gate_moves_nothing(self) -> None:
        """Four of ten episodes pass: below the gate of 50 %, above the threshold of 30 %."""
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        random = Random(5)
        for _ in range(500):
            curriculum.record("t1b", passed() if random.random() < 0.4 else WRONG)
        assert curriculum.tier.name == "rung 1"
        assert len(curriculum.history.changes) == 1

    @given(seed=st.integers(0, 999), bad=st.integers(20, 80))
    @settings(max_examples=15, deadline=None)
    def test_whatever_went_wrong_a_good_policy_climbs_again(self, seed: int, bad: int) -> None:
        curriculum, random = manager(seed=seed), Random(seed)
        practise(curriculum, 60, always(passed()))
        practise(curriculum, bad, lambda task: random.choice((BROKEN, WRONG, passed(0.5))))
        practise(curriculum, 300, always(passed()))
        assert curriculum.mastered

    def test_evidence_of_an_earlier_stay_does_not_count(self) -> None:
        curriculum = manager()
        practise(curriculum, 20, always(passed()))
        for _ in range(15):
            curriculum.record("t1a", passed(1.1))
        while curriculum.tier.name == "rung 1":
            curriculum.record("t1a", BROKEN)
        tiers = curriculum.state().tiers
        assert all(tier.window == () for tier in tiers)
        assert all(tier.episodes == 0 for tier in tiers)
        assert curriculum.record("t0a", passed()) is None
