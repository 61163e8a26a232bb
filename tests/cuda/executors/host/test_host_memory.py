"""Whose fault is it when the device's memory runs out? There is none here: what is free is said for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import cycle
from typing import Any

import pytest
from host_support import HONEST, TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.coverage import passes_without_kernels
from coding_framework.cuda.executors.host.exchange.layout import allowed_bytes
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostOutcome, HostSettings
from coding_framework.cuda.executors.host.programs import ProgramBuilder
from coding_framework.cuda.executors.host.session import CandidateProblem, ChildSession
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.errors import DeviceFull, JudgeFault
from coding_framework.records import Verdict

GIB = 2**30
TOTAL = 128 * GIB
FULL, PLENTY, LESS_THAN_ITS_SHARE = GIB // 2, 100 * GIB, 10 * GIB
NO_MEMORY = "raise RuntimeError('CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`')"


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    settings = HostSettings(device="cpu", blocks=2, clock_slack_us=30_000, require_own_kernels=False)
    with HostExecutor(JudgeConfig(timed_launches=10), ProcessSandbox(), settings) as started:
        yield started


@pytest.fixture
def judged(executor: HostExecutor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[HostOutcome, int]]:
    """The outcome where so much is free beside others, and how often the candidate was loaded for it."""

    def judge(body: str, *, free: int, init: str = "", free_alone: int = PLENTY) -> tuple[HostOutcome, int]:
        loads: list[str] = []
        load, room = ChildSession.load, HostExecutor._room
        now = [free]

        def entered(self: HostExecutor, *, alone: bool) -> AbstractContextManager[None]:
            now[0] = free_alone if alone else free
            return room(self, alone=alone)

        monkeypatch.setattr(HostExecutor, "_room", entered)

        def counted(self: ChildSession, program: Any, *rest: Any) -> None:
            loads.extend([] if program.is_trusted else [program.source])
            load(self, program, *rest)

        monkeypatch.setattr(ChildSession, "load", counted)
        monkeypatch.setattr(TaskBench, "memory_bytes", lambda _: (now[0], TOTAL))
        return executor.judge_host(TASK, module(body, init=init)), len(loads)

    return judge


@pytest.mark.parametrize(
    ("body", "free", "hearings"),
    [
        (NO_MEMORY, FULL, 2),
        (NO_MEMORY, LESS_THAN_ITS_SHARE, 2),
        (NO_MEMORY, PLENTY, 1),
        ("raise RuntimeError('no idea')", FULL, 2),
        ("raise RuntimeError('no idea')", LESS_THAN_ITS_SHARE, 1),
        ("import os\nos._exit(3)", FULL, 2),
        ("import os\nos._exit(3)", LESS_THAN_ITS_SHARE, 1),
        ("return x", FULL, 1),
    ],
)
def test_a_failure_that_others_may_have_caused_counts_when_it_happens_alone(
    judged: Callable[..., tuple[HostOutcome, int]], body: str, free: int, hearings: int
) -> None:
    outcome, loads = judged(body, free=free)
    assert outcome.verdict in (Verdict.CRASHED, Verdict.ALIASED_OUTPUT), outcome.message
    assert loads == hearings


def test_a_failure_on_a_device_that_stays_full_is_no_verdict(
    judged: Callable[..., tuple[HostOutcome, int]],
) -> None:
    with pytest.raises(DeviceFull, match=r"only 0\.5 GiB are free.*fewer workers.*ALLOC_FAILED"):
        judged(NO_MEMORY, free=FULL, free_alone=FULL)


def test_words_are_no_way_out_of_a_task_for_which_the_judge_itself_takes_much(
    judged: Callable[..., tuple[HostOutcome, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = "coding_framework.cuda.executors.host.bench.allowed_bytes"
    monkeypatch.setattr(large, lambda set_bytes, total: TOTAL if set_bytes else allowed_bytes(0, total))
    outcome, loads = judged(NO_MEMORY, free=PLENTY)
    assert (outcome.verdict, loads) == (Verdict.CRASHED, 2)


def test_a_constructor_that_finds_no_memory_is_heard_again(
    judged: Callable[..., tuple[HostOutcome, int]],
) -> None:
    outcome, loads = judged(HONEST, free=FULL, init=NO_MEMORY)
    assert (outcome.verdict, loads) == (Verdict.CRASHED, 2)


def test_whoever_failed_beside_others_passes_alone(
    judged: Callable[..., tuple[HostOutcome, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = ChildSession.settle

    def fails_once(*_: object, **__: object) -> None:
        monkeypatch.setattr(ChildSession, "settle", settle)
        raise CandidateProblem("raised", "CUDA out of memory")

    monkeypatch.setattr(ChildSession, "settle", fails_once)
    outcome, loads = judged(HONEST, free=FULL)
    assert outcome.verdict is Verdict.PASSED, outcome.message
    assert loads == 2


def test_a_fault_of_the_judge_for_want_of_memory_is_tried_again_alone(
    judged: Callable[..., tuple[HostOutcome, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = TaskBench.run

    def fails_once(*_: object, **__: object) -> None:
        monkeypatch.setattr(TaskBench, "run", run)
        raise JudgeFault("verifier: examine raised OutOfMemoryError: CUDA out of memory")

    monkeypatch.setattr(TaskBench, "run", fails_once)
    assert judged(HONEST, free=FULL)[0].verdict is Verdict.PASSED


def test_a_fault_of_another_kind_is_raised(
    judged: Callable[..., tuple[HostOutcome, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise JudgeFault("no idea")

    monkeypatch.setattr(TaskBench, "run", fails)
    with pytest.raises(JudgeFault, match="no idea"):
        judged(HONEST, free=FULL)


@pytest.mark.parametrize(("freed", "verdict"), [(0.8, Verdict.CRASHED), (0.1, None)])
def test_a_candidate_that_took_the_memory_of_the_judge_is_at_fault(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch, freed: float, verdict: Verdict | None
) -> None:
    free = cycle([0, int(freed * TOTAL)])

    def full(*_: object, **__: object) -> None:
        raise JudgeFault("CUDA out of memory")

    monkeypatch.setattr(TaskBench, "memory_bytes", lambda _: (next(free), TOTAL))
    monkeypatch.setattr(TaskBench, "run", full)
    if verdict is None:
        with pytest.raises(JudgeFault, match="out of memory"):
            executor.judge_host(TASK, module(HONEST))
    else:
        outcome = executor.judge_host(TASK, module(HONEST))
        assert outcome.verdict is verdict
        assert "it held 102 GiB" in outcome.message


def test_a_decoy_is_not_taken_for_a_kernel_because_the_memory_ran_out(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its kernels emptied it must fail by itself, and not for want of memory."""
    bench = executor._bench_for(TASK)
    monkeypatch.setattr(TaskBench, "memory_bytes", lambda _: (FULL, TOTAL))
    with pytest.raises(DeviceFull, match="ALLOC_FAILED"):
        passes_without_kernels(module(NO_MEMORY), bench, ProgramBuilder(executor.config))


@pytest.mark.parametrize(("set_bytes", "allowed"), [(1, TOTAL // 8), (2 * GIB, 32 * GIB), (20 * GIB, TOTAL)])
def test_a_candidate_may_take_an_eighth_or_what_its_calls_need(set_bytes: int, allowed: int) -> None:
    assert allowed_bytes(set_bytes, TOTAL) == allowed
