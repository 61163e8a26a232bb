"""What a step is played on, and what the curriculum is told of it, as the trainer does it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from coding_framework.config import (
    ConversationConfig,
    CurriculumConfig,
    CurriculumTier,
    JudgeConfig,
    RewardConfig,
    RLConfig,
)
from coding_framework.data.curriculum_manager import EpisodeOutcome
from coding_framework.errors import TrainingError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import append_line
from coding_framework.records import Conversation, ConversationTurn, Generation, Message, Verdict
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.openings import Opening
from coding_framework.training.rl.step_reports import LineTail, curriculum_values
from coding_framework.training.rl.step_watcher import StepWatcher
from coding_framework.training.rl.task_choice import CurriculumStep, EpisodeReport, TaskChoice
from coding_framework.training.rl.worker_settings import WorkerSettings
from tests_support import EvaluationFactory

RIGHT = EpisodeOutcome(compiled=True, passed=True, speedup=2.0, time_kind="modelled")
WRONG = EpisodeOutcome(compiled=True, passed=False)
TIERS = tuple(
    CurriculumTier(
        name=name, catalogue_tiers=(tier,), min_compile_rate=0.3, min_success_rate=0.2, min_episodes=6
    )
    for tier, name in enumerate(["first steps", "harder"])
)
CURRICULUM = CurriculumConfig(tiers=TIERS, window=12, demotion_window=10)


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    made = WorkerSettings(
        run_dir=RunFolder.create(tmp_path, "run", "{}").path,
        conversation=ConversationConfig(),
        reward=RewardConfig(),
        judge=JudgeConfig(executor="emulator"),
        rl=RLConfig(steps=4, prompts_per_step=2),
        tasks=("vector_add", "axpy", "transpose", "matvec"),
        curriculum=CURRICULUM,
    )
    made.write()
    return made


def report(task: object, outcome: EpisodeOutcome | None) -> EpisodeReport:
    return EpisodeReport(task=str(task), outcome=outcome)


def play(choice: TaskChoice, step: int) -> list[object]:
    """One step of four prompts with two episodes each, of which the luck of the step says how they went."""
    rows = choice.next_rows(3) + choice.next_rows(1)
    luck = Random(step)
    reports = [report(row["task"], RIGHT if luck.random() < 0.8 else WRONG) for row in rows for _ in range(2)]
    choice.record(step, reports)
    return [row["task"] for row in rows]


def lines(settings: WorkerSettings) -> list[CurriculumStep]:
    if not settings.curriculum_file.exists():
        return []
    return [
        CurriculumStep.model_validate_json(line)
        for line in settings.curriculum_file.read_bytes().splitlines()
    ]


def test_a_step_says_where_the_curriculum_stands_what_it_drew_and_what_came_of_it(
    settings: WorkerSettings,
) -> None:
    choice = TaskChoice.from_settings(settings)
    rows = choice.next_rows(2)
    assert {row["task"] for row in rows} <= {"vector_add", "axpy"}
    reports = [report(row["task"], outcome) for row in rows for outcome in (RIGHT, WRONG, None)]
    step = choice.record(1, reports)
    assert step is not None
    assert (step.tier, step.tier_index, step.learnability) == ("first steps", 0, 1.0)
    assert step.tasks == tuple(row["task"] for row in rows)
    assert step.pass_rates == {"first steps": 0.5}, "what the judge lost says nothing"
    assert step.missing[0] == "4 of 6 episodes"
    assert not step.changes
    assert lines(settings) == [step]
    assert choice.pipeline.curriculum is not None
    assert choice.pipeline.curriculum.faults == 2
    assert curriculum_values([step]) == {"curriculum_tier": 0.0, "learnability_mean": 1.0}


def test_a_training_that_is_killed_after_any_step_climbs_where_it_would_have_climbed(
    settings: WorkerSettings, tmp_path: Path
) -> None:
    alone = TaskChoice.from_settings(settings)
    drawn = [play(alone, step) for step in range(1, 11)]
    expected = lines(settings)
    climbed = [one.step for one in expected if one.changes]
    assert 1 <= climbed[0] < 9, "it happens in the middle"
    for last in range(1, 10):
        settings.curriculum_file.unlink()
        killed = TaskChoice.from_settings(settings)
        before = [play(killed, step) for step in range(1, last + 1)]
        killed.write(tmp_path / str(last))
        play(killed, last + 1)
        resumed = TaskChoice.read(settings, tmp_path / str(last))
        after = [play(resumed, step) for step in range(last + 1, 11)]
        assert before + after == drawn
        assert lines(settings)[:last] + lines(settings)[last + 1 :] == expected
        assert resumed.pipeline.state == alone.pipeline.state


def test_a_checkpoint_without_the_state_is_refused(settings: WorkerSettings, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"data_pipeline\.json is missing"):
        TaskChoice.read(settings, tmp_path)


def test_in_the_uniform_order_nothing_is_written(settings: WorkerSettings) -> None:
    off = settings.model_copy(update={"curriculum": CurriculumConfig(enabled=False)})
    choice = TaskChoice.from_settings(off)
    rows = choice.next_rows(4)
    assert sorted(str(row["task"]) for row in rows) == sorted(settings.tasks)
    assert choice.record(1, [report(row["task"], RIGHT) for row in rows]) is None
    assert lines(off) == []


def opening(visit: int, task: str, *, is_open: bool = True) -> Opening:
    evaluation = EvaluationFactory().failed(Verdict.COMPILE_ERROR)
    turn = ConversationTurn(
        index=0,
        agent="generator",
        messages=(Message(role="user", content="write"),),
        generation=Generation(text="", token_ids=(1,), log_probs=(0.0,)),
        evaluation=evaluation,
        reward=CUDAPerformanceReward()(evaluation),
    )
    played = Conversation(
        conversation_id=f"o{visit}",
        task=task,
        turns=(turn,),
        stop_reason="max_turns" if is_open else "early_stop",
        discount=0.9,
        max_turns=1,
    )
    return Opening(visit=visit, task=task, played=played)


def test_the_optimizer_meets_tasks_with_an_opening_and_their_openings_take_turns(
    settings: WorkerSettings,
) -> None:
    settings = settings.model_copy(update={"agent": "optimizer"})
    settings.rl_dir.mkdir(parents=True)
    played = [
        *(opening(0, "vector_add"), opening(1, "axpy", is_open=False), opening(2, "matvec")),
        *(opening(3, "vector_add"), opening(4, "axpy", is_open=False), opening(5, "vector_add")),
    ]
    for one in played:
        append_line(settings.openings_file, one.model_dump_json())
    choice = TaskChoice.from_settings(settings)
    rows = choice.next_rows(5)
    assert rows == [{"task": "vector_add", "opening": visit} for visit in (0, 3, 5, 0, 3)]
    choice.record(1, [report("vector_add", RIGHT)] * 6)
    assert {"task": "matvec", "opening": 2} in choice.next_rows(10)


def test_every_move_is_logged_once_with_its_reason(
    settings: WorkerSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    import structlog

    log = settings.rl_dir / "verl.jsonl"
    watcher = StepWatcher(log, settings)
    choice = TaskChoice.from_settings(settings)
    choice.next_rows(2)
    with structlog.testing.capture_logs() as said:
        choice.record(1, [report("vector_add", RIGHT)] * 8)
        append_line(log, json.dumps({"step": 1, "data": {}}))
        (point,) = watcher.new_points()
        choice.next_rows(2)
        choice.record(2, [report("matvec", WRONG)] * 2)
        append_line(log, json.dumps({"step": 2, "data": {}}))
        (second,) = watcher.new_points()
    moves = [one for one in said if one["event"] == "curriculum_moved"]
    assert [(one["step"], one["to_tier"]) for one in moves] == [(1, "harder")]
    assert "success rate 100%" in moves[0]["reason"]
    assert (point.values["curriculum_tier"], second.values["curriculum_tier"]) == (0.0, 1.0)
    assert LineTail(settings.curriculum_file, from_end=True).new_lines() == []
