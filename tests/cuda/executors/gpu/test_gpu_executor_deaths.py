"""Whose fault is it when the process that runs a kernel on the GPU is gone? Needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    """Answers every question about a run with the next of a list."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(memory_limit_bytes=None)
        self.answers = list(answers)
        self.limits: list[float] = []

    def call(self, function: str, *args: object, timeout_s: float) -> Any:
        if function.endswith(":warm_up"):
            return None
        self.limits.append(timeout_s)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


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


def test_a_hang_alone_is_the_kernels() -> None:
    fault = executor(WorkerTimeout("slow"), WorkerTimeout("slow"), RIGHT).run(REQUEST, timeout_s=1).fault
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT
    assert "within 1 s" in fault.message


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
