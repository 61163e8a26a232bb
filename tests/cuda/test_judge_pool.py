"""Many judgements at once on this machine, with the real compiler and the real emulator."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from structlog.testing import capture_logs

from coding_framework.config import JudgeConfig
from coding_framework.cuda.backend import choose_executor
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lane_process import LaneFailure, LaneReply, ProcessLane, travels
from coding_framework.cuda.lanes import JudgeLane, LaneAnswer, code_key
from coding_framework.cuda.pool import MAX_ATTEMPTS, PAUSES_S, JudgePool, LocalLanes, open_pool
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.errors import (
    ConfigError,
    JudgeFault,
    MissingExtraError,
    NotAvailableError,
    WorkerDied,
    WorkerTimeout,
)
from coding_framework.records import Candidate, Evaluation, ModuleTask, Task, Verdict
from tests_support import EvaluationFactory

CANDIDATES = Path(__file__).parent / "candidates"
VECTOR_ADD = get_task("vector_add")
NO_CODES: frozenset[str] = frozenset()


def candidate(name: str) -> Candidate:
    return Candidate(source=(CANDIDATES / f"{name}.cu").read_text())


class ScriptedLane:
    """Answers or faults as the script says; counts what happens to it."""

    made = 0
    closed = 0

    def __init__(self, script: Iterator[Evaluation | Exception]) -> None:
        ScriptedLane.made += 1
        self._script = script

    def judge(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        step = next(self._script)
        if isinstance(step, Exception):
            raise step
        return LaneAnswer(step, "", None, 0.1)

    def close(self) -> None:
        ScriptedLane.closed += 1


def scripted(*steps: Evaluation | Exception) -> JudgePool:
    ScriptedLane.made = ScriptedLane.closed = 0
    script, config = iter(steps), JudgeConfig(executor="emulator", workers=1)
    return JudgePool(config, lanes=LocalLanes(config, lambda _: ScriptedLane(script)))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Those that would have been made."""
    made: list[float] = []
    monkeypatch.setattr("coding_framework.cuda.pool.sleep", made.append)
    return made


@pytest.fixture(scope="module")
def pool() -> Iterator[JudgePool]:
    with JudgePool(JudgeConfig(executor="emulator", workers=2)) as pool:
        yield pool


@pytest.mark.skipif(bool(find_gpus()[1]), reason="`auto` has nothing to say where there is a GPU")
def test_what_the_lanes_log_is_heard_once() -> None:
    kernels = [candidate("right"), Candidate(source=VECTOR_ADD.baseline), candidate("wrong")]
    with JudgePool(JudgeConfig(executor="auto", workers=2)) as pool, capture_logs() as said:
        pool.judge_many([(VECTOR_ADD, each) for each in kernels])
    assert [(event["event"], event["log_level"]) for event in said] == [("no_gpu", "info")]
    assert "modelled" in said[0]["taken"]


def test_what_lanes_say_later_is_heard_every_time(evaluations: EvaluationFactory) -> None:
    config, heard = JudgeConfig(executor="emulator", workers=2), set[str]()
    lanes = [ProcessLane(config, heard=heard) for _ in range(2)]
    event = {"event": "emulator_failed", "log_level": "warning", "reason": "it crashed"}
    answer = LaneAnswer(evaluations.passed(), "", None, 0.1)
    with capture_logs() as said:
        for lane in lanes:
            lane._repeat(LaneReply(answer, [event], is_first=True))
        assert said == [event]
        for lane in lanes:
            lane._repeat(LaneReply(answer, [{**event, "reason": "again"}], is_first=False))
    assert len(said) == 3
    assert len(heard) == 1


class TestRealLanes:
    def test_answers_come_in_the_order_of_the_questions(self, pool: JudgePool) -> None:
        names = ["right", "wrong", "does_not_compile", "right"]
        seen: list[Evaluation] = []
        evaluations = pool.judge_many([(VECTOR_ADD, candidate(name)) for name in names], seen.append)
        assert [e.verdict.value for e in evaluations] == ["passed", "wrong_result", "compile_error", "passed"]
        assert seen == evaluations

    async def test_the_same_candidate_is_judged_once(self, pool: JudgePool) -> None:
        asked = Candidate(source="// only here\n" + VECTOR_ADD.baseline.replace("256", "128"))
        judged, remembered = pool.num_judged, pool.num_remembered
        first = await pool.judge_async(VECTOR_ADD, asked)
        again = await pool.judge_async(VECTOR_ADD, asked)
        assert (pool.num_judged - judged, pool.num_remembered - remembered) == (1, 1)
        assert first == again

    def test_the_same_code_in_other_words_shares_a_pass_and_keeps_its_own_text(self, pool: JudgePool) -> None:
        first = pool.judge(VECTOR_ADD, candidate("right"))
        shared, other = pool.num_shared, Candidate(source="\n\n// another text\n" + candidate("right").source)
        again = pool.judge(VECTOR_ADD, other)
        assert pool.num_shared == shared + 1
        assert again.passed
        assert (again.timing, again.profile) == (first.timing, first.profile)
        assert again.candidate == other
        assert again.compilation is not None
        assert first.compilation is not None
        assert again.compilation.ptx != first.compilation.ptx  # other lines
        assert pool.judge(VECTOR_ADD, other) is again

    def test_another_launch_plan_for_the_same_code_is_judged(self, pool: JudgePool) -> None:
        pool.judge(VECTOR_ADD, candidate("right"))
        shared = pool.num_shared
        source = candidate("right").source
        evaluation = pool.judge(VECTOR_ADD, Candidate(source=source.replace("grid=(", "grid=(1 + ", 1)))
        assert pool.num_shared == shared
        assert evaluation.verdict in (Verdict.PASSED, Verdict.OUT_OF_BOUNDS)

    def test_a_rejection_is_found_anew_with_its_own_line(self, pool: JudgePool) -> None:
        first = pool.judge(VECTOR_ADD, candidate("out_of_bounds"))
        moved = pool.judge(VECTOR_ADD, Candidate(source="\n\n" + candidate("out_of_bounds").source))
        assert (first.verdict, moved.verdict) == (Verdict.OUT_OF_BOUNDS, Verdict.OUT_OF_BOUNDS)
        assert first.source_line is not None
        assert moved.source_line == first.source_line + 2

    def test_what_is_forgotten_is_judged_again(self, pool: JudgePool) -> None:
        pool.judge(VECTOR_ADD, candidate("right"))
        judged = pool.num_judged
        pool.forget()
        pool.judge(VECTOR_ADD, candidate("right"))
        assert pool.num_judged == judged + 1

    def test_killing_a_lane_in_the_middle_loses_nothing(self, pool: JudgePool) -> None:
        faults = pool.num_faults
        victims = lane_processes(pool)
        assert victims

        def kill_all() -> None:
            time.sleep(0.1)
            for pid in victims:
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_all)
        items = [(task, Candidate(source="// lane test\n" + task.baseline)) for task in all_tasks()[:10]]
        killer.start()
        evaluations = pool.judge_many(items)
        killer.join()
        assert [evaluation.task for evaluation in evaluations] == [task.name for task, _ in items]
        assert all(evaluation.passed for evaluation in evaluations)
        assert pool.num_faults > faults


@pytest.mark.usefixtures("pauses")
class TestSeveralDevices:
    def test_lanes_are_spread_and_one_that_faults_is_replaced_where_it_was(
        self, evaluations: EvaluationFactory
    ) -> None:
        made: list[int] = []
        steps = iter([WorkerDied("gone"), evaluations.passed()])

        def make(one: JudgeConfig) -> ScriptedLane:
            made.append(one.gpu_index)
            return ScriptedLane(steps)

        config = JudgeConfig(executor="gpu", gpu_indices=(2, 5), workers=4)
        with JudgePool(config, lanes=LocalLanes(config, make)) as pool:
            assert made == [2, 5, 2, 5]
            assert pool.judge(VECTOR_ADD, candidate("right")).passed
        assert made == [2, 5, 2, 5, 5], "the lane that was used last was of device 5"

    def test_without_a_number_of_workers_each_device_has_one(self) -> None:
        assert JudgeConfig(gpu_indices=tuple(range(64))).num_workers == 64
        assert JudgeConfig(gpu_indices=(3, 1)).gpu_index == 3
        assert JudgeConfig().gpu_index == 0

    def test_a_device_that_was_named_is_not_silently_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("coding_framework.cuda.backend.find_gpus", lambda: ("", [], "no driver"))
        assert choose_executor(JudgeConfig(executor="auto")) == "emulator"
        with pytest.raises(NotAvailableError, match="GPU 1, which is not here"):
            choose_executor(JudgeConfig(executor="auto", gpu_indices=(1,)))


def lane_processes(pool: JudgePool) -> list[int]:
    lanes: Any = pool._lanes
    children = [lane._worker._child for lane, _ in list(lanes._idle.queue)]
    return [child.process.pid for child in children if child is not None]


def test_a_closed_pool_leaves_no_process() -> None:
    with JudgePool(JudgeConfig(executor="emulator", workers=2)) as pool:
        new = Candidate(source=f"// {secrets.token_hex(8)}\n" + candidate("wrong").source)
        assert pool.judge(VECTOR_ADD, new).verdict is Verdict.WRONG_RESULT
        (lane,) = lane_processes(pool)
        children = Path(f"/proc/{lane}/task/{lane}/children").read_text().split()
        assert len(children) == 2  # a compiler and an emulator
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in (lane, *children)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.usefixtures("pauses")
class TestFaults:
    def test_a_lane_that_faults_is_replaced_and_its_question_asked_again(
        self, evaluations: EvaluationFactory
    ) -> None:
        passed = evaluations.passed()
        with scripted(WorkerDied("gone"), WorkerTimeout("late"), passed) as pool:
            assert pool.judge(VECTOR_ADD, candidate("right")) is passed
            assert pool.num_faults == 2
            assert (ScriptedLane.made, ScriptedLane.closed) == (3, 2)
        assert ScriptedLane.closed == 3

    def test_a_fault_that_stays_is_raised_after_some_attempts(self, pauses: list[float]) -> None:
        with scripted(*[WorkerDied("gone")] * 10) as pool:
            with pytest.raises(WorkerDied):
                pool.judge(VECTOR_ADD, candidate("right"))
            assert pool.num_faults == MAX_ATTEMPTS
        assert pauses == [*PAUSES_S]

    def test_a_fault_is_not_remembered(self, evaluations: EvaluationFactory) -> None:
        passed = evaluations.passed()
        with scripted(*[WorkerDied("gone")] * MAX_ATTEMPTS, passed) as pool:
            with pytest.raises(WorkerDied):
                pool.judge(VECTOR_ADD, candidate("right"))
            assert pool.judge(VECTOR_ADD, candidate("right")) is passed

    def test_an_error_of_the_user_is_raised_at_once(self) -> None:
        with scripted(ConfigError("nonsense")) as pool, pytest.raises(ConfigError):
            pool.judge(VECTOR_ADD, candidate("right"))

    def test_a_question_asked_twice_at_once_is_answered_by_one_judgement(
        self, evaluations: EvaluationFactory
    ) -> None:
        passed, config, begun, go = (
            evaluations.passed(),
            JudgeConfig(executor="emulator", workers=1),
            threading.Event(),
            threading.Event(),
        )

        class SlowLane(ScriptedLane):
            def judge(self, task: Any, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
                begun.set()
                go.wait(30)
                return super().judge(task, candidate, known)

        with JudgePool(config, lanes=LocalLanes(config, lambda _: SlowLane(iter([passed])))) as pool:
            first = threading.Thread(target=pool.judge, args=(VECTOR_ADD, candidate("right")))
            first.start()
            begun.wait(30)
            answers: list[Evaluation] = []
            second = threading.Thread(
                target=lambda: answers.append(pool.judge(VECTOR_ADD, candidate("right")))
            )
            second.start()
            time.sleep(0.05)
            go.set()
            first.join()
            second.join()
            assert answers == [passed]
            assert (pool.num_judged, pool.num_remembered) == (1, 1)


class TestLanes:
    def test_an_error_of_ours_arrives_as_what_it_was(self) -> None:
        for error in (ConfigError("bad flag"), MissingExtraError("ray", "verl"), WorkerDied("gone")):
            rebuilt = LaneFailure.of(error).rebuilt()
            assert (type(rebuilt), str(rebuilt)) == (type(error), str(error))
        assert type(LaneFailure("SomethingElse", "?").rebuilt()) is JudgeFault

    def test_a_bad_configuration_is_the_users_error_in_a_lane_too(self) -> None:
        lane = ProcessLane(JudgeConfig(executor="emulator", compile_flags=("--no-such-flag",)))
        try:
            with pytest.raises(ConfigError, match="no-such-flag"):
                lane.judge(VECTOR_ADD, candidate("right"), NO_CODES)
        finally:
            lane.close()

    def test_a_task_whose_truth_lives_elsewhere_is_judged_here(self) -> None:
        def oracle(xp: ModuleType, inputs: Any, dimensions: Any) -> Any:
            return {"y": inputs["a"] + inputs["b"]}

        ours = VECTOR_ADD.model_copy(update={"oracle": oracle})
        assert travels(VECTOR_ADD)
        assert not travels(ours)
        assert not travels(VECTOR_ADD.model_copy(update={"oracle": _in_the_package(oracle)}))
        lane = ProcessLane(JudgeConfig(executor="emulator"))
        try:
            answer = lane.judge(ours, Candidate(source=VECTOR_ADD.baseline), NO_CODES)
            assert answer.evaluation is not None
            assert answer.evaluation.passed
            assert lane._worker._child is None
        finally:
            lane.close()

    def test_code_that_is_known_is_not_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lane = JudgeLane(JudgeConfig(executor="emulator"))
        try:
            first = lane.judge(VECTOR_ADD, candidate("right"), NO_CODES)
            other = Candidate(source="// words\n" + candidate("right").source)
            second = lane.judge(VECTOR_ADD, other, frozenset({first.code_key}))
            assert first.evaluation is not None
            assert second.evaluation is None
            assert second.code_key == first.code_key
            assert second.compilation is not None
        finally:
            lane.close()

    def test_what_does_not_compile_has_no_code(self) -> None:
        lane = JudgeLane(JudgeConfig(executor="emulator"))
        try:
            answer = lane.judge(VECTOR_ADD, candidate("does_not_compile"), frozenset({""}))
            assert answer.evaluation is not None
            assert answer.code_key == ""
        finally:
            lane.close()

    def test_code_belongs_to_a_task_and_a_plan(self, evaluations: EvaluationFactory) -> None:
        built = evaluations.compilation().model_copy(update={"ptx_key": "ptx"})
        source = VECTOR_ADD.baseline
        key = code_key(VECTOR_ADD, Candidate(source=source), built)
        assert key
        assert code_key(VECTOR_ADD, Candidate(source="\n" + source), built) == key
        assert code_key(VECTOR_ADD, Candidate(source=source.replace("256", "128")), built) != key
        assert code_key(VECTOR_ADD, Candidate(source="no plan"), built) == ""
        assert code_key(VECTOR_ADD, Candidate(source=source, contract="extension"), built) == ""
        assert code_key(ModuleTask(name="m", source="x"), Candidate(source=source), built) == ""


def _in_the_package(function: Any) -> Any:
    function.__module__ = "coding_framework.data.tasks"
    return function


@pytest.mark.usefixtures("pauses")
def test_a_fault_in_the_judge_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def die(self: Judge, task: Task, candidate: Candidate) -> Evaluation:
        calls.append(1)
        raise WorkerDied("gone")

    monkeypatch.setattr(Judge, "judge", die)
    with JudgePool(JudgeConfig(executor="emulator", workers=1)) as pool, pytest.raises(WorkerDied):
        pool.judge(VECTOR_ADD, Candidate(source="x"))
    assert len(calls) == MAX_ATTEMPTS


def test_the_configuration_names_the_pool() -> None:
    with open_pool() as pool:
        assert type(pool) is JudgePool
        assert pool.config == JudgeConfig()
