"""Whose fault is it when the process that runs a kernel on the GPU is gone? Needs no GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coding_framework.cuda.executors.base import (
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
)
from coding_framework.cuda.executors.gpu.executor import GpuExecutor, GpuVerifier
from coding_framework.cuda.executors.gpu.messages import MeasureOutcome, MeasureRequest, Program, RunAnswer
from coding_framework.cuda.worker import Worker
from coding_framework.errors import WorkerDied, WorkerNotStarted, WorkerTimeout

REQUEST = ExecutionRequest("", (), {})
RIGHT = RunAnswer((ExecutionOutcome(None, {}, ()),))


class ScriptedWorker(Worker):
    """Answers every question about a run with the next of a list; that of checks when they are collected."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(memory_limit_bytes=None)
        self.answers = list(answers)
        self.limits: list[float] = []
        self.asked: list[str] = []
        self.launch_costs_us: list[float] = []
        self._kept: Any = None

    def call(self, function: str, *args: object, timeout_s: float) -> Any:
        name = function.rpartition(":")[2]
        self.asked.append(name)
        if name in ("warm_up", "stage", "renew"):
            return None
        if name == "launch_cost_us":
            return self.launch_costs_us.pop(0) if self.launch_costs_us else 7.0
        if function.endswith("runner:collect"):
            return self._kept
        self.limits.append(timeout_s)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self._kept = answer
        return answer


@pytest.fixture(autouse=True)
def no_file_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What launches cost here is none of these tests' business, and theirs not the machine's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def executor(*answers: Any) -> GpuExecutor:
    made = GpuExecutor(device_index=0, harness_cubin=b"")
    made._worker = ScriptedWorker(*answers)
    return made


def test_one_death_may_come_from_outside_and_is_asked_again() -> None:
    assert executor(WorkerDied("killed"), RIGHT).run(REQUEST, timeout_s=1).fault is None


def test_two_deaths_are_the_kernels() -> None:
    fault = executor(WorkerDied("a"), WorkerDied("b")).run(REQUEST, timeout_s=1).fault
    assert fault is not None
    assert fault.kind is FaultKind.CRASHED


def test_a_hang_beside_others_may_be_theirs_and_is_asked_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    leases: list[bool] = []

    @contextmanager
    def lease(device_index: int, *, shared: bool = False) -> Iterator[None]:
        leases.append(shared)
        yield

    monkeypatch.setattr("coding_framework.cuda.executors.gpu.executor.gpu_lease", lease)
    made = executor(WorkerTimeout("slow"), RIGHT)
    assert made.run(REQUEST, timeout_s=1).fault is None
    assert leases == [True, False]
    assert made._worker.limits == [0.5, 1]  # type: ignore[attr-defined]


def test_of_several_runs_the_first_is_tried_by_itself_before_everybody_has_to_wait_for_all() -> None:
    endless = executor(WorkerTimeout("slow"), WorkerTimeout("slow"), RIGHT)
    (outcome,) = endless.run_many([REQUEST] * 3, timeout_s=4)
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.TIMEOUT
    assert endless._worker.limits == [2, 0.5]  # type: ignore[attr-defined]
    all_right = RunAnswer(RIGHT.outcomes * 3)
    slow = executor(WorkerTimeout("slow"), RIGHT, all_right)
    assert [one.fault for one in slow.run_many([REQUEST] * 3, timeout_s=4)] == [None] * 3
    assert slow._worker.limits == [2, 0.5, 4]  # type: ignore[attr-defined]


def test_a_hang_alone_is_the_kernels() -> None:
    fault = executor(WorkerTimeout("slow"), WorkerTimeout("slow"), RIGHT).run(REQUEST, timeout_s=1).fault
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT
    assert "within 1 s" in fault.message


def test_a_step_without_the_kernel_that_hangs_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    made = executor(RIGHT)

    def call(self: ScriptedWorker, function: str, *args: object, timeout_s: float) -> Any:
        raise WorkerTimeout("slow")

    made.prepare()
    monkeypatch.setattr(ScriptedWorker, "call", call)
    with pytest.raises(WorkerTimeout):
        made.run(REQUEST, timeout_s=1)


def test_after_a_death_the_fresh_process_is_warmed_up_too() -> None:
    made = executor(WorkerDied("killed"), RIGHT)
    made.run(REQUEST, timeout_s=1)
    assert made._worker.asked.count("warm_up") == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("step", ["warm_up", "launch_cost_us", "renew"])
def test_a_process_that_ends_before_it_has_seen_the_kernel_is_ours(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    scripted = ScriptedWorker.call

    def call(self: ScriptedWorker, function: str, *args: object, timeout_s: float) -> Any:
        if function.endswith(f":{step}"):
            raise WorkerDied("killed")
        return scripted(self, function, *args, timeout_s=timeout_s)

    monkeypatch.setattr(ScriptedWorker, "call", call)
    if step == "warm_up":
        with pytest.raises(WorkerNotStarted):
            executor(RIGHT).run(REQUEST, timeout_s=1)
    with pytest.raises(WorkerNotStarted):
        measured(None, None, MEASURED)


def test_checks_alone_choose_no_context_because_a_choice_holds_the_device_alone() -> None:
    made = executor(RIGHT, None, None, MEASURED)
    made.run(REQUEST, timeout_s=1)
    assert "launch_cost_us" not in made._worker.asked  # type: ignore[attr-defined]
    made.measure(MEASURE, timeout_s=1)
    asked = made._worker.asked  # type: ignore[attr-defined]
    assert asked.index("launch_cost_us") < asked.index("prepare")


def test_a_fresh_process_chooses_its_context_anew() -> None:
    made = executor(None, WorkerDied("killed"), None, None, MEASURED)
    made._worker.launch_costs_us = [6.5] * 16  # type: ignore[attr-defined]
    made.measure(MEASURE, timeout_s=1)
    asked = made._worker.asked  # type: ignore[attr-defined]
    second = asked.index("warm_up", asked.index("run_prepared"))
    assert "launch_cost_us" in asked[second:]


def test_a_context_of_the_slower_kind_is_replaced_once_both_kinds_are_known() -> None:
    first = executor(RIGHT)
    first._worker.launch_costs_us = [7.0, 6.9, 6.5, 7.0, 6.95, 6.95, 6.55]  # type: ignore[attr-defined]
    first.prepare()
    assert first._worker.asked.count("renew") == 6  # type: ignore[attr-defined]
    second = executor(RIGHT)
    second._worker.launch_costs_us = [6.95, 6.6]  # type: ignore[attr-defined]
    second.prepare()
    second.prepare()
    assert second._worker.asked == ["warm_up", "launch_cost_us", "renew", "launch_cost_us"]  # type: ignore[attr-defined]


def test_a_trial_takes_the_context_that_there_is() -> None:
    here = executor(None, None, MEASURED)
    here.measure(replace(MEASURE, is_trial=True), timeout_s=1)
    assert "launch_cost_us" not in here._worker.asked  # type: ignore[attr-defined]


def test_what_still_runs_is_ended_before_the_device_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    @contextmanager
    def lease(device_index: int, *, shared: bool = False) -> Iterator[None]:
        yield
        seen.append("shared" if shared else "alone")

    monkeypatch.setattr("coding_framework.cuda.executors.gpu.executor.gpu_lease", lease)
    monkeypatch.setattr(ScriptedWorker, "kill", lambda _: seen.append("killed"))
    endless = MeasureOutcome(ExecutionFault(FaultKind.TIMEOUT, "too long"), is_poisoned=True)
    assert executor(None, endless).measure(replace(MEASURE, is_trial=True), timeout_s=1) == endless
    assert seen[:3] == ["shared", "killed", "alone"]


def test_memory_is_let_go_before_a_context_is_chosen_and_kept_afterwards() -> None:
    answer = MeasureOutcome(None, candidate_us=(1.0,), arena=b"first", arena_capacity=2**40)
    here = executor(None, None, answer, None, None, answer)
    trial = replace(MEASURE, is_trial=True)
    here.measure(trial, timeout_s=1)
    assert here.stale_arena(trial) == b""
    assert here.stale_arena(MEASURE) == b"first"
    here.measure(MEASURE, timeout_s=1)
    assert here.stale_arena(MEASURE) == b""


def test_a_process_that_does_not_start_is_ours() -> None:
    with pytest.raises(WorkerNotStarted):
        executor(WorkerNotStarted("no driver")).run(REQUEST, timeout_s=1)


MEASURE = MeasureRequest(
    device_index=0,
    harness_cubin=b"",
    candidate=Program("", b"", (), ()),
    reference=Program("", b"", (), ()),
    inputs=(),
    outputs=(),
    sets=(),
)
MEASURED = MeasureOutcome(None, candidate_us=(1.0,))


def measured(*answers: Any) -> MeasureOutcome:
    return executor(*answers).measure(MEASURE, timeout_s=1)


def test_a_measurement_is_prepared_run_and_collected() -> None:
    assert measured(None, None, MEASURED) == MEASURED


def test_a_measurement_whose_process_was_killed_begins_again_from_the_start() -> None:
    assert measured(None, WorkerDied("killed"), None, None, MEASURED) == MEASURED


def test_two_deaths_of_a_measurement_are_the_kernels() -> None:
    fault = measured(None, WorkerDied("a"), None, WorkerDied("b")).fault
    assert fault is not None
    assert fault.kind is FaultKind.CRASHED


def test_a_hang_in_the_timed_calls_is_the_kernels_at_once() -> None:
    fault = measured(None, WorkerTimeout("slow")).fault
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT


@pytest.mark.parametrize("before", [[], [None, None]])
def test_a_step_that_runs_nothing_of_the_kernel_has_a_limit_of_its_own(before: list[None]) -> None:
    made = executor(*before, WorkerTimeout("slow"))
    with pytest.raises(WorkerTimeout):
        made.measure(MEASURE, timeout_s=1)
    assert made._worker.limits[-1] == 60  # type: ignore[attr-defined]


def test_the_memory_of_a_process_that_was_replaced_is_let_go() -> None:
    def measured_in(arena: bytes) -> MeasureOutcome:
        return MeasureOutcome(None, candidate_us=(1.0,), arena=arena, arena_capacity=2**40)

    here = executor(None, None, measured_in(b"first"), None, None, measured_in(b"second"))
    here.measure(MEASURE, timeout_s=1)
    assert here.stale_arena() == b""
    here.measure(MEASURE, timeout_s=1)
    assert here.stale_arena() == b"first"
    assert here.stale_arena() == b""


@pytest.mark.parametrize("before", [[], [None]])
def test_a_fault_of_any_step_ends_the_measurement(before: list[None]) -> None:
    failed = MeasureOutcome(ExecutionFault(FaultKind.OUT_OF_BOUNDS, "outside"), is_poisoned=True)
    assert measured(*before, failed) == failed


def test_a_measuring_process_that_does_not_start_is_ours() -> None:
    with pytest.raises(WorkerNotStarted):
        measured(WorkerNotStarted("no driver"))


@pytest.mark.parametrize("answer", [None, WorkerDied("killed"), WorkerTimeout("slow")])
def test_memory_that_is_given_back_is_not_counted_on(answer: Exception | None) -> None:
    measured_once = MeasureOutcome(None, candidate_us=(1.0,), arena=b"first", arena_capacity=2**40)
    here = executor(None, None, measured_once, answer)
    assert not here.holds_memory
    here.measure(MEASURE, timeout_s=1)
    assert here.holds_memory
    here.release()
    assert not here.holds_memory
    assert here.stale_arena() == b""


def test_memory_of_a_measurement_that_failed_is_given_back_too() -> None:
    here = executor(MeasureOutcome(ExecutionFault(FaultKind.OUT_OF_BOUNDS, "outside")), None)
    here.measure(MEASURE, timeout_s=1)
    assert here.holds_memory
    here.release()
    assert not here.holds_memory


def test_a_process_that_keeps_much_memory_serves_its_candidate_and_nobody_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(ScriptedWorker, "close", lambda _: closed.append("closed"))
    greedy = RunAnswer(RIGHT.outcomes, keeps_memory=True)
    here = executor(greedy, None, None, MEASURED, RIGHT, RIGHT)
    here.run(REQUEST, timeout_s=1)
    here.measure(MEASURE, timeout_s=1)
    assert not closed
    here.run(REQUEST, timeout_s=1)
    assert closed == ["closed"]
    here.run(REQUEST, timeout_s=1)
    assert closed == ["closed"]


@pytest.mark.parametrize("answer", [None, WorkerDied("killed")])
def test_a_verifier_lets_go_by_itself_or_by_ending(answer: Exception | None) -> None:
    verifier = GpuVerifier(0)
    verifier._worker = ScriptedWorker(answer)
    verifier.prepare()
    verifier.release()
    assert verifier._is_warm == (answer is None)
