"""Candidates with host code on a real GPU: the honest pass and are timed, the cheats are stopped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from host_gpu_sources import CHEATS, HONEST

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostSettings
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Verdict

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_gpus()[1], reason="no NVIDIA GPU"),
]


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    with HostExecutor(JudgeConfig(architecture="auto", run_timeout_s=5), None, HostSettings()) as started:
        yield started


@pytest.mark.parametrize("what", HONEST)
def test_an_honest_candidate_passes_and_its_clocks_agree(executor: HostExecutor, what: str) -> None:
    task, candidate = HONEST[what]
    outcome = executor.judge_host(task, candidate)
    assert outcome.verdict is Verdict.PASSED, outcome.message
    timing = outcome.timing
    assert timing is not None
    assert timing.floor_us is not None
    assert timing.median_us >= 0.9 * timing.floor_us
    assert timing.own_kernel_share is None or timing.own_kernel_share > 0.9
    assert timing.as_kernel_timing().kind == "measured"


def test_two_judgements_of_a_candidate_agree(executor: HostExecutor) -> None:
    task, candidate = HONEST["relu as an extension"]
    first, second = (executor.judge_host(task, candidate).timing for _ in range(2))
    assert first is not None
    assert second is not None
    assert second.median_us == pytest.approx(first.median_us, rel=0.05)


@pytest.mark.parametrize("what", CHEATS)
def test_a_cheat_on_the_device_is_stopped(executor: HostExecutor, what: str) -> None:
    task, candidate, verdicts = CHEATS[what]
    outcome = executor.judge_host(task, candidate)
    assert outcome.verdict in verdicts, f"{outcome.verdict}: {outcome.message}"


def test_kernels_and_host_code_take_turns_on_one_lane() -> None:
    """The memory of the one is given back for the other, and found again."""
    kernel = get_task("vector_add"), Candidate(source=get_task("vector_add").baseline)
    judge = Judge(JudgeConfig(executor="gpu", architecture="auto", run_timeout_s=5))
    try:
        for task, candidate in (kernel, HONEST["relu as an extension"], kernel):
            evaluation = judge.judge(task, candidate)
            assert evaluation.verdict is Verdict.PASSED, evaluation.message
    finally:
        judge.close()
