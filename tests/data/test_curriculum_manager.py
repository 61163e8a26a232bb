"""The curriculum: gates proven by intervals, regressions, review, learnability, checkpoints."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.config import CurriculumConfig, CurriculumTier, load_config
from coding_framework.data.curriculum.outcome import Episode
from coding_framework.data.curriculum.statistics import median_speedup, tier_rates
from coding_framework.data.curriculum_manager import (
    CurriculumManager,
    CurriculumState,
    EpisodeOutcome,
    PerformanceHistory,
)
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task
from coding_framework.errors import ConfigError, UnknownTaskError, WorkerDied
from coding_framework.records import (
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    RewardComponents,
    Task,
    TimeKind,
    Verdict,
)
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

    @given(
        share=st.floats(0.0, 0.5),
        seed=st.integers(0, 999),
    )
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
        drawn |= {task.name for task in curriculum.sample(50)}
        assert not drawn & {"secret", "t0b", "t1c"}

    def test_the_shipped_catalogue_is_drawn_without_its_held_out_families(self) -> None:
        curriculum = CurriculumManager()
        assert {task.family for task in all_tasks()} & HELD_OUT_FAMILIES
        assert not {task.family for task in curriculum.tasks} & HELD_OUT_FAMILIES
        assert {task.tier for task in curriculum.sample(20)} == {0}

    @given(results=st.lists(st.tuples(st.sampled_from(["t0a", "t0b", "t0c"]), outcomes), max_size=100))
    @settings(max_examples=40, deadline=None)
    def test_weights_are_positive_and_add_up_to_one(self, results: list[tuple[str, EpisodeOutcome]]) -> None:
        curriculum = manager()
        for name, outcome in results:
            curriculum.record(name, outcome)
        for chosen in (None, ["t0a", "t0b", "t0c"], [task.name for task in curriculum.tasks]):
            weights = curriculum.weights(chosen)
            assert all(weight > 0 for weight in weights.values())
            assert sum(weights.values()) == pytest.approx(1.0)
            assert max(weights.values()) <= 10.001 * min(weights.values())

    def test_a_task_solved_half_of_the_time_is_worth_more_than_one_always_or_never_solved(self) -> None:
        curriculum = manager()
        for number in range(30):
            curriculum.record("t0a", passed())
            curriculum.record("t0b", WRONG)
            curriculum.record("t0c", passed() if number % 2 else WRONG)
        weights = curriculum.weights(["t0a", "t0b", "t0c", "t2a"])
        assert weights["t0c"] > 4 * weights["t0a"]
        assert weights["t0c"] > 4 * weights["t0b"]
        assert weights["t2a"] == pytest.approx(weights["t0c"]), "a task never tried is worth a try"
        drawn = Counter(task.name for task in curriculum.sample(600) if task.tier == 0)
        assert drawn["t0c"] > drawn["t0a"] > 0
        assert drawn["t0b"] > 0

    def test_a_task_mastered_long_ago_keeps_its_least_weight(self) -> None:
        curriculum = manager(QUICK.model_copy(update={"task_window": 300}))
        for _ in range(300):
            curriculum.record("t0a", passed())
        weights = curriculum.weights(["t0a", "t0b"])
        assert weights["t0a"] / weights["t0b"] == pytest.approx(QUICK.least_weight)

    def test_a_task_that_passes_may_still_have_its_speed_to_learn(self) -> None:
        curriculum = manager()
        for number in range(30):
            curriculum.record("t1a", passed(3.0))
            curriculum.record("t1b", passed(3.0 if number % 2 else 1.0))
        weights = curriculum.weights(["t1a", "t1b"])
        assert weights["t1b"] > 4 * weights["t1a"]

    @given(results=st.lists(mostly_good, max_size=120), seed=st.integers(0, 99))
    @settings(max_examples=20, deadline=None)
    def test_chances_add_up_over_what_may_be_drawn_and_are_zero_elsewhere(
        self, results: list[EpisodeOutcome], seed: int
    ) -> None:
        curriculum = manager(seed=seed, held_out=("t0b",))
        for outcome in results:
            curriculum.record(curriculum.next_task().name, outcome)
        chances = dict(zip([task.name for task in TASKS], curriculum.chances(TASKS), strict=True))
        assert sum(chances.values()) == pytest.approx(1.0)
        assert chances["secret"] == chances["t0b"] == 0.0
        tier = int(curriculum.tier.name[-1])
        for task in curriculum.tasks:
            assert (chances[task.name] > 0) == (task.tier <= tier)

    def test_draws_follow_the_chances(self) -> None:
        curriculum = manager()
        practise(curriculum, 90, always(passed(3.0)))
        chances = dict(zip([task.name for task in TASKS], curriculum.chances(TASKS), strict=True))
        drawn = Counter(task.name for task in curriculum.sample(4000))
        for name, chance in chances.items():
            assert drawn[name] / 4000 == pytest.approx(chance, abs=0.03)

    def test_earlier_tiers_are_reviewed_by_their_share_and_those_that_slipped_more_often(self) -> None:
        curriculum = manager(CurriculumConfig(**{**QUICK.model_dump(), "review_share": 0.3}))
        practise(curriculum, 200, always(passed()))
        assert curriculum.tier.name == "rung 2"
        for number in range(60):
            curriculum.record("t0a", passed())
            curriculum.record("t1a", passed() if number % 2 else WRONG)
        drawn = Counter(task.tier for task in curriculum.sample(2000))
        assert 0.25 < (drawn[0] + drawn[1]) / 2000 < 0.35
        assert drawn[1] > 2 * drawn[0] > 0


class TestCheckpoints:
    @given(
        before=st.lists(mostly_good, max_size=120),
        after=st.lists(mostly_good, min_size=1, max_size=60),
        seed=st.integers(0, 99),
    )
    @settings(max_examples=25, deadline=None)
    def test_it_resumes_bit_for_bit(
        self, before: list[EpisodeOutcome], after: list[EpisodeOutcome], seed: int
    ) -> None:
        original = manager(seed=seed)
        for outcome in before:
            original.record(original.next_task().name, outcome)
        stored = original.state().model_dump_json()
        resumed = CurriculumManager.from_state(CurriculumState.model_validate_json(stored), TASKS)
        assert resumed.state() == original.state()
        for outcome in after:
            names = [curriculum.next_task().name for curriculum in (original, resumed)]
            assert names[0] == names[1]
            changes = [curriculum.record(names[0], outcome) for curriculum in (original, resumed)]
            assert changes[0] == changes[1]
        assert resumed.state().model_dump_json() == original.state().model_dump_json()

    def test_another_process_draws_the_same(self) -> None:
        code = (
            "from coding_framework.data.curriculum_manager import CurriculumManager\n"
            "print(*[task.name for task in CurriculumManager(seed=3).sample(8)])"
        )
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        )
        assert answer.stdout.split() == [task.name for task in CurriculumManager(seed=3).sample(8)]

    def test_another_seed_draws_otherwise(self) -> None:
        first, second = ([task.name for task in manager(seed=seed).sample(30)] for seed in (1, 2))
        assert first != second

    def test_a_state_without_its_tasks_is_refused(self) -> None:
        state = manager().state()
        with pytest.raises(ConfigError, match="tasks that were not given: t0a"):
            CurriculumManager.from_state(state, TASKS[1:])

    def test_a_state_of_other_held_out_families_is_refused(self) -> None:
        state = manager().state()
        moved = [task.model_copy(update={"tier": 0}) for task in TASKS]
        with pytest.raises(ConfigError, match="other tiers"):
            CurriculumManager.from_state(state, moved)


class TestRecording:
    def test_an_evaluation_is_taken_as_it_is(self) -> None:
        outcome = EpisodeOutcome.of(MAKE.passed(1.5))
        assert outcome == passed(1.5)
        assert EpisodeOutcome.of(MAKE.failed(Verdict.DATA_RACE)) == WRONG
        assert EpisodeOutcome.of(MAKE.failed(Verdict.NO_CANDIDATE)) == BROKEN
        curriculum = manager()
        curriculum.record("t0a", MAKE.passed(1.5))
        assert curriculum.state().task_outcomes == {"t0a": (passed(1.5),)}

    def test_a_conversation_counts_by_its_fastest_turn_else_by_the_furthest(self) -> None:
        def conversation(*evaluations: Evaluation) -> Conversation:
            turns = [
                ConversationTurn(
                    index=index,
                    agent="generator",
                    messages=(Message(role="user", content="write it"),),
                    generation=Generation(text="// kernel"),
                    evaluation=evaluation,
                    reward=RewardComponents(preset="none", parts={}, total=0.0, explanation=""),
                )
                for index, evaluation in enumerate(evaluations)
            ]
            return Conversation(
                conversation_id="c",
                task="t0a",
                turns=tuple(turns),
                stop_reason="max_turns",
                discount=0.9,
                max_turns=len(turns),
            )

        broken, wrong = MAKE.failed(Verdict.COMPILE_ERROR), MAKE.failed(Verdict.WRONG_RESULT)
        for turns, wanted in (
            ((broken, MAKE.passed(2.0), MAKE.passed(1.2), wrong), passed(2.0)),
            ((wrong, broken), WRONG),
            ((broken, broken), BROKEN),
        ):
            curriculum = manager()
            curriculum.record("t0a", conversation(*turns))
            assert curriculum.state().task_outcomes["t0a"] == (wanted,)

    def test_faults_of_the_judge_are_counted_and_change_nothing_else(self) -> None:
        curriculum = manager()
        practise(curriculum, 5, always(WRONG))
        before = curriculum.state()
        curriculum.record_fault("t0a")
        assert curriculum.state() == before.model_copy(update={"faults": 1})
        with pytest.raises(TypeError, match="record_fault"):
            curriculum.record("t0a", WorkerDied("gone"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["secret", "nothing"])
    def test_what_cannot_be_drawn_cannot_be_recorded_or_weighed(self, name: str) -> None:
        curriculum = manager()
        for use in (
            lambda: curriculum.record(name, WRONG),
            lambda: curriculum.record_fault(name),
            lambda: curriculum.weights([name]),
        ):
            with pytest.raises(UnknownTaskError, match="not in this curriculum"):
                use()

    def test_an_outcome_that_contradicts_itself_cannot_be_built(self) -> None:
        for values in (
            {"compiled": False, "passed": True, "speedup": 1.0, "time_kind": "modelled"},
            {"compiled": True, "passed": True},
            {"compiled": True, "passed": False, "speedup": 1.0, "time_kind": "modelled"},
            {"compiled": True, "passed": True, "speedup": 1.0},
        ):
            with pytest.raises(ValueError, match="passed"):
                EpisodeOutcome(**values)

    def test_the_history_has_points_for_plots_with_steps_tiers_and_intervals(self) -> None:
        curriculum = manager()
        for episode in range(60):
            curriculum.record(curriculum.next_task().name, passed(), step=episode // 4)
        history = curriculum.history
        assert isinstance(history, PerformanceHistory)
        assert [point.episode for point in history.points] == sorted(
            {point.episode for point in history.points}
        )
        assert len(history.points) >= 6
        assert history.points[0].step == 2
        assert len(history.changes) >= 1
        first = history.of_tier("rung 0")[0].rates
        assert first.success_rate.low < first.success_rate.value <= first.success_rate.high


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
            ("curriculum.least_weight=0", "greater than 0"),
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


class TestStatistics:
    @given(results=st.lists(st.tuples(st.sampled_from("ab"), outcomes), min_size=1, max_size=60))
    @settings(deadline=None)
    def test_intervals_hold_their_values(self, results: list[tuple[str, EpisodeOutcome]]) -> None:
        window = [Episode(task=task, outcome=outcome) for task, outcome in results]
        for equally in (True, False):
            rates = tier_rates(window, count_tasks_equally=equally)
            assert rates is not None
            for rate in (rates.compile_rate, rates.success_rate):
                assert rate.low <= rate.value + 1e-12
                assert rate.value <= rate.high + 1e-12
            assert rates.success_rate.value <= rates.compile_rate.value + 1e-12

    def test_the_interval_of_the_median_is_that_of_the_sign_test(self) -> None:
        """Known ranks for 95 %: none below six samples, 1 of 6, 3 of 12, 6 of 20, 40 of 100."""
        for samples, rank in ((5, 0), (6, 1), (12, 3), (20, 6), (100, 40)):
            window = [Episode(task="a", outcome=passed(float(n))) for n in range(1, samples + 1)]
            found = median_speedup(window)
            assert (int(found.low) if found else 0) == rank
            if found:
                assert found.high == samples + 1 - rank
