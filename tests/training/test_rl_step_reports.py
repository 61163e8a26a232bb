"""What is reported for a step comes from the files of that step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coding_framework.config import ConversationConfig, JudgeConfig, RewardConfig
from coding_framework.cuda.pool import PoolCounts
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import append_line
from coding_framework.records import Conversation, ConversationTurn, Generation, Message, Verdict
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.episode_runner import EpisodeFault
from coding_framework.training.rl.judge_counts import JudgeCounts
from coding_framework.training.rl.overlong import OverlongShaping, overlong_values
from coding_framework.training.rl.step_reports import LineTail, conversation_values
from coding_framework.training.rl.step_watcher import StepWatcher
from coding_framework.training.rl.turn_taking import ActivitySpan
from coding_framework.training.rl.verl_log import last_error
from coding_framework.training.rl.worker_settings import WorkerSettings
from tests_support import EvaluationFactory


def conversation(step: int, *speedups: float | None) -> Conversation:
    make, reward, turns = EvaluationFactory(), CUDAPerformanceReward(), []
    for index, speedup in enumerate(speedups):
        evaluation = make.passed(speedup) if speedup is not None else make.failed(Verdict.COMPILE_ERROR)
        turns.append(
            ConversationTurn(
                index=index,
                agent="generator",
                messages=(Message(role="user", content="write"),),
                generation=Generation(text="", token_ids=(1, 2, 3), log_probs=(0.0, 0.0, 0.0)),
                evaluation=evaluation,
                reward=reward(evaluation),
            )
        )
    return Conversation(
        conversation_id=f"{step}-{speedups}",
        task="vector_add",
        turns=tuple(turns),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=len(turns),
        step=step,
        phase="train",
    )


def fault(step: int, *, fatal: bool = False) -> EpisodeFault:
    return EpisodeFault(step=step, task="scale", error="WorkerDied: gone", fatal=fatal)


def test_rates_and_speedups_are_those_of_the_best_turn_of_each_episode() -> None:
    values = conversation_values(
        [conversation(1, None, 2.0), conversation(1, None, None)], [fault(1)], lambda _: 0
    )
    assert values["episodes"] == 2
    assert values["episodes_lost"] == 1
    assert values["pass_rate"] == 0.5
    assert values["compile_rate"] == 0.5
    assert values["speedup_mean"] == pytest.approx(2.0)
    assert values["turns_mean"] == 2
    assert values["answer_tokens_mean"] == 3


def test_a_step_without_a_passing_kernel_has_no_speedup() -> None:
    assert "speedup_mean" not in conversation_values([conversation(1, None)], [], lambda _: 0)


def test_what_long_answers_lose_is_reported() -> None:
    shaping = OverlongShaping(limit_tokens=4, buffer_tokens=2, weight=0.5)
    assert overlong_values([conversation(1, None, 2.0)], shaping) == {
        "overlong_share": 1.0,
        "overlong_penalty": 0.25,
    }
    assert overlong_values([conversation(1, None)], None) == {}


def test_a_tail_gives_whole_lines_once(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = LineTail(path)
    assert tail.new_lines() == []
    path.write_bytes(b"one\ntw")
    assert tail.new_lines() == [b"one"]
    path.write_bytes(b"one\ntwo\n")
    assert tail.new_lines() == [b"two"]
    assert LineTail(path, from_end=True).new_lines() == []


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    made = WorkerSettings(
        run_dir=RunFolder.create(tmp_path, "run", "{}").path,
        conversation=ConversationConfig(),
        reward=RewardConfig(),
        judge=JudgeConfig(executor="emulator"),
    )
    made.write()
    return made


def test_a_step_is_reported_when_verl_logs_it_with_its_own_conversations(settings: WorkerSettings) -> None:
    run, log = RunFolder(settings.run_dir), settings.rl_dir / "verl.jsonl"
    run.append_conversation(conversation(1, 4.0))
    watcher = StepWatcher(log, settings)
    run.append_conversation(conversation(1, None))
    run.append_conversation(conversation(2, 2.0))
    append_line(settings.fault_file, fault(1).model_dump_json())
    assert watcher.new_points() == []
    append_line(log, json.dumps({"step": 1, "data": {"actor/grad_norm": 0.5, "timing_s/gen": 3}}))
    (point,) = watcher.new_points()
    assert (point.phase, point.step) == ("rl", 1)
    assert point.values["episodes"] == 1, "the conversation of an earlier start does not count"
    assert point.values["episodes_lost"] == 1
    assert (point.values["grad_norm"], point.values["rollout_s"]) == (0.5, 3.0)
    append_line(log, json.dumps({"step": 2, "data": {}}))
    assert watcher.new_points()[0].values["pass_rate"] == 1.0


def test_what_the_judge_counted_and_how_long_it_took_belongs_to_its_step(settings: WorkerSettings) -> None:
    log = settings.rl_dir / "verl.jsonl"
    watcher = StepWatcher(log, settings)
    for step in (1, 2):
        counts = JudgeCounts(step=step, counts=PoolCounts(judged=step, remembered=1, waited_s=6))
        append_line(settings.judge_file, counts.model_dump_json())
        span = ActivitySpan(step=step, activity="judging", seconds=2, entries=2, began_s=10 * step)
        append_line(settings.activity_file, span.model_dump_json())
    append_line(log, json.dumps({"step": 1, "data": {"timing_s/step": 9, "timing_s/update_actor": 3}}))
    values = watcher.new_points()[0].values
    assert (values["judged"], values["judgements_per_s"], values["judge_queue"]) == (1, 1, 3)
    assert (values["judging_alone_s"], values["other_s"]) == (2, 4)
    append_line(log, json.dumps({"step": 2, "data": {}}))
    values = watcher.new_points()[0].values
    assert values["judged"] == 2
    assert "other_s" not in values


def test_steps_of_a_second_policy_are_counted_on_from_the_first(settings: WorkerSettings) -> None:
    second = settings.model_copy(update={"steps_before": 10})
    log = settings.rl_dir / "verl.jsonl"
    watcher = StepWatcher(log, second)
    RunFolder(settings.run_dir).append_conversation(conversation(11, 4.0))
    append_line(log, json.dumps({"step": 1, "data": {}}))
    (point,) = watcher.new_points()
    assert (point.step, point.values["episodes"]) == (11, 1)


def test_a_fatal_fault_is_noticed_at_once(settings: WorkerSettings) -> None:
    watcher = StepWatcher(settings.rl_dir / "verl.jsonl", settings)
    append_line(settings.fault_file, fault(1, fatal=True).model_dump_json())
    assert watcher.new_points() == []
    assert watcher.fatal == fault(1, fatal=True)


def test_the_reason_of_an_end_is_the_last_exception_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "verl.log"
    assert last_error(log) == "it wrote no log"
    log.write_text("starting\n\x1b[36m(TaskRunner pid=12)\x1b[0m ValueError: too many\n    at work\nbye\n")
    assert last_error(log) == "ValueError: too many"
    log.write_text("starting\nkilled\n")
    assert last_error(log) == "killed"
