"""Whose fault is it when the process that runs a kernel on the GPU is gone? Needs no GPU."""

from __future__ import annotations

from typing import Any

import pytest

from coding_framework.cuda.executors.base import ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.executors.gpu.executor import GpuExecutor
from coding_framework.cuda.executors.gpu.messages import RunAnswer
from coding_framework.cuda.worker import Worker
from coding_framework.errors import WorkerDied, WorkerNotStarted, WorkerTimeout

REQUEST = ExecutionRequest("", (), {})
RIGHT = RunAnswer((ExecutionOutcome(None, {}, ()),))


class ScriptedWorker(Worker):
    """Answers every question about a run with the next of a list."""

    def __init__(self, *answers: Exception | RunAnswer) -> None:
        super().__init__(memory_limit_bytes=None)
        self.answers = list(answers)

    def call(self, function: str, *args: object, timeout_s: float) -> Any:
        if function.endswith(":warm_up"):
            return None
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def executor(*answers: Exception | RunAnswer) -> GpuExecutor:
    made = GpuExecutor(device_index=0, harness_cubin=b"")
    made._worker = ScriptedWorker(*answers)
    return made


def test_one_death_may_come_from_outside_and_is_asked_again() -> None:
    assert executor(WorkerDied("killed"), RIGHT).run(REQUEST, timeout_s=1).fault is None


def test_two_deaths_are_the_kernels() -> None:
    fault = executor(WorkerDied("a"), WorkerDied("b")).run(REQUEST, timeout_s=1).fault
    assert fault is not None
    assert fault.kind is FaultKind.CRASHED


def test_a_hang_is_the_kernels_at_once() -> None:
    fault = executor(WorkerTimeout("slow"), RIGHT).run(REQUEST, timeout_s=1).fault
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT


def test_a_process_that_does_not_start_is_ours() -> None:
    with pytest.raises(WorkerNotStarted):
        executor(WorkerNotStarted("no driver")).run(REQUEST, timeout_s=1)
