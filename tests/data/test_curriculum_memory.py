"""What the curriculum records, sums up, and finds again after a crash."""

from __future__ import annotations

import subprocess
import sys

import pytest
from curriculum_support import (
    BROKEN,
    MAKE,
    TASKS,
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

from coding_framework.data.curriculum.outcome import Episode
from coding_framework.data.curriculum.statistics import median_speedup, tier_rates
from coding_framework.data.curriculum_manager import (
    CurriculumManager,
    CurriculumState,
    EpisodeOutcome,
    PerformanceHistory,
)
from coding_framework.errors import ConfigError, UnknownTaskError, WorkerDied
from coding_framework.records import (
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    RewardComponents,
    Verdict,
)


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
            lambda: curriculum.learnability(name),
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

    def test_a_long_training_has_no_longer_a_history_and_keeps_every_move(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("coding_framework.data.curriculum_manager._MOST_POINTS", 8)
        curriculum = manager()
        moves = []
        for _ in range(400):
            change = curriculum.record(curriculum.next_task().name, passed())
            moves += [change] if change else []
        points = curriculum.history.points
        assert 4 <= len(points) <= 8
        assert [point.change for point in curriculum.history.changes] == moves
        assert len(moves) == 2
        assert points[-1].episode > 350


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
            "curriculum = CurriculumManager(seed=3)\n"
            "print(*[curriculum.next_task().name for _ in range(8)])"
        )
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        )
        assert answer.stdout.split() == [task.name for task in sample(CurriculumManager(seed=3), 8)]

    def test_another_seed_draws_otherwise(self) -> None:
        first, second = ([task.name for task in sample(manager(seed=seed), 30)] for seed in (1, 2))
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
