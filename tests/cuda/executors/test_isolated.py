"""A kernel cannot escape its verdict by taking the emulator's process down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from emulator_support import compile_ptx, launch
from structlog.testing import capture_logs

from coding_framework.cuda import worker_process
from coding_framework.cuda.executors import isolated
from coding_framework.cuda.executors.base import ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.executors.isolated import EmulatorExecutor
from coding_framework.errors import WorkerDied, WorkerNotStarted

KERNEL = 'extern "C" __global__ void k(float* o) { o[threadIdx.x] = 1; }'


@pytest.fixture
def executor() -> Iterator[EmulatorExecutor]:
    with EmulatorExecutor(memory_limit_bytes=2**30) as made:
        yield made


def request_for(ptx: str, num_elements: int = 32) -> ExecutionRequest:
    return ExecutionRequest(ptx, (launch("k", 1, 32, "o"),), {"o": np.zeros(num_elements, np.float32)})


def run(executor: EmulatorExecutor, request: ExecutionRequest) -> ExecutionOutcome:
    return executor.run(request, timeout_s=20)


def test_a_run_that_does_not_fit_in_memory_is_the_kernels_fault(executor: EmulatorExecutor) -> None:
    with capture_logs() as logs:
        outcome = run(executor, request_for(compile_ptx(KERNEL), num_elements=2**28))
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.CRASHED
    assert "needs more memory than the limit of 1.0 GiB" in outcome.fault.message
    assert [entry["event"] for entry in logs] == ["emulator_failed"]
    assert run(executor, request_for(compile_ptx(KERNEL))).fault is None


def test_a_kernel_that_ends_its_process_twice_is_at_fault(
    executor: EmulatorExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "_EXECUTE", "coding_framework.cuda.worker_probes:leave")
    with capture_logs() as logs:
        outcome = run(executor, request_for(compile_ptx(KERNEL)))
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.CRASHED
    assert "ended the process" in outcome.fault.message
    assert [(entry["event"], entry["kind"]) for entry in logs] == [("emulator_failed", "WorkerDied")]


def test_an_emulator_that_is_not_there_is_no_kernels_fault(
    executor: EmulatorExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "_EXECUTE", "coding_framework.cuda.executors.emulator:execute")
    with pytest.raises(WorkerNotStarted, match="has no attribute 'execute'"):
        run(executor, request_for(compile_ptx(KERNEL)))


def test_one_death_costs_nothing(executor: EmulatorExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    call = executor._worker.call

    def dies_once(function: str, *arguments: object, timeout_s: float) -> object:
        asked.append(function)
        if len(asked) == 1:
            raise WorkerDied("the worker ended by SIGKILL")
        return call(function, *arguments, timeout_s=timeout_s)

    monkeypatch.setattr(executor._worker, "call", dies_once)
    assert run(executor, request_for(compile_ptx(KERNEL))).fault is None
    assert len(asked) == 2


@pytest.mark.parametrize("line", ["ld.param.u64 %rd1, [k_param_0+4096];", "brx.idx %r1, 7;"])
def test_ptx_that_the_emulator_cannot_read_is_unsupported(executor: EmulatorExecutor, line: str) -> None:
    ptx = compile_ptx(KERNEL).replace("ret;", f"{line}\n\tret;")
    assert line in ptx
    outcome = run(executor, request_for(ptx))
    assert outcome.fault is not None
    assert outcome.fault.kind in (FaultKind.UNSUPPORTED, FaultKind.OUT_OF_BOUNDS)


def test_an_exception_in_the_emulator_is_logged_with_its_last_line(
    executor: EmulatorExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "_EXECUTE", "coding_framework.cuda.worker_probes:fail")
    with capture_logs() as logs:
        outcome = run(executor, request_for("not PTX"))
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.UNSUPPORTED
    assert logs[0]["event"] == "emulator_failed"
    assert logs[0]["log_level"] == "warning"
    assert "Traceback" not in logs[0]["reason"]
    assert "RuntimeError" in logs[0]["reason"]


def test_a_process_that_cannot_be_started_stays_our_fault(
    executor: EmulatorExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process.sys, "executable", "/no/such/python")
    with pytest.raises(WorkerNotStarted, match="could not be started"):
        run(executor, request_for("not PTX"))
