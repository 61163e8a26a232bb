"""Candidates with host code in the real sandbox, on CPU tensors: honest ones pass, no cheat does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from host_support import HONEST, TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostOutcome, HostSettings
from coding_framework.cuda.executors.host.verifier.drawing import DISTRIBUTIONS
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.errors import JudgeFault, NotAvailableError, UserError, WorkerDied
from coding_framework.records import Candidate, ModuleTask, Verdict

CONFIG = JudgeConfig(timed_launches=10, run_timeout_s=4)
SETTINGS = HostSettings(device="cpu", blocks=3, clock_slack_us=30_000, require_own_kernels=False)


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    with HostExecutor(CONFIG, ProcessSandbox(), SETTINGS) as started:
        yield started


def judged(executor: HostExecutor, body: str, *, top: str = "", init: str = "") -> HostOutcome:
    return executor.judge_host(TASK, module(body, top=top, init=init))


def test_an_honest_module_passes_every_check_and_is_timed(executor: HostExecutor) -> None:
    outcome = judged(executor, HONEST)
    assert outcome.verdict is Verdict.PASSED, outcome.message
    assert len(outcome.checks) == outcome.num_checks_planned
    assert {check.distribution for check in outcome.checks} == {*DISTRIBUTIONS}
    assert sum(check.hidden for check in outcome.checks) == 2
    assert outcome.timing is not None
    assert outcome.timing.num_samples == 12
    assert outcome.timing.median_us < 30_000
    with pytest.raises(JudgeFault, match="cannot be scored"):
        outcome.timing.as_kernel_timing()


def test_a_verifier_that_is_lost_after_the_verdict_costs_the_bench_alone(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = TaskBench.rest

    def lost(bench: TaskBench) -> None:
        bench._verifier.close()
        monkeypatch.setattr(TaskBench, "rest", rest)
        raise WorkerDied("verifier")

    monkeypatch.setattr(TaskBench, "rest", lost)
    for _ in range(2):
        outcome = judged(executor, HONEST)
        assert outcome.verdict is Verdict.PASSED, outcome.message


WRONG = {
    "a wrong result": ("return self.right(x) + 0.01", "elements are wrong; first: output 0"),
    "not a number": ("return self.right(x) * float('nan')", "elements are wrong"),
    "another shape": ("return torch.zeros(4096, 4096)", r"shape \(4096, 4096\) instead of \(64, 96\)"),
    "half precision": (
        "w = self.linear.weight.half().float()\n"
        "return (x.half().float() @ w.t() + self.linear.bias).clamp_min(0)",
        "elements are wrong",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_named_as_such(executor: HostExecutor, what: str) -> None:
    body, words = WRONG[what]
    outcome = judged(executor, body)
    assert outcome.verdict is Verdict.WRONG_RESULT
    assert re.search(words, outcome.message), outcome.message


UNUSABLE = {
    "no source": (Candidate(source="  ", contract="module"), Verdict.NO_CANDIDATE, "empty"),
    "bad syntax": (Candidate(source="def", contract="module"), Verdict.COMPILE_ERROR, "SyntaxError"),
    "another contract": (Candidate(source="x", contract="kernel"), Verdict.BAD_LAUNCH_PLAN, "no host code"),
    "raises in forward": (module("raise ValueError('oh')"), Verdict.CRASHED, "ValueError: oh (line "),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_candidate_that_cannot_be_used_says_why(executor: HostExecutor, what: str) -> None:
    candidate, verdict, words = UNUSABLE[what]
    outcome = executor.judge_host(TASK, candidate)
    assert outcome.verdict is verdict, outcome.message
    assert words in outcome.message


def test_what_a_candidate_prints_does_not_disturb(executor: HostExecutor) -> None:
    outcome = judged(executor, "print('done', flush=True)\nimport sys\nsys.stdout.flush()\n" + HONEST)
    assert outcome.verdict is Verdict.PASSED, outcome.message


def test_parameters_under_other_names_are_found_by_shape(executor: HostExecutor) -> None:
    body = "return (x @ self.weight.t() + self.offset).clamp_min(0)"
    init = "del self.linear\nself.weight = nn.Parameter(torch.empty(size, size))\n"
    init += "self.offset = nn.Parameter(torch.empty(size))"
    outcome = judged(executor, body, init=init)
    assert outcome.verdict is Verdict.PASSED, outcome.message


def test_a_task_without_a_model_is_the_users_fault(executor: HostExecutor) -> None:
    with pytest.raises(UserError, match="does not define Model"):
        executor.judge_host(ModuleTask(name="empty", source="x = 1"), module(HONEST))


def test_a_random_task_cannot_be_judged(executor: HostExecutor) -> None:
    source = TASK.source.replace("torch.relu(", "torch.rand(1) * torch.relu(")
    with pytest.raises(UserError, match="different results for the same inputs"):
        executor.judge_host(ModuleTask(name="random", source=source), module(HONEST))


def test_host_code_is_scored_on_a_gpu_only() -> None:
    if find_gpus()[1]:
        pytest.skip("there is a GPU here")
    with pytest.raises(NotAvailableError, match="need an NVIDIA GPU"):
        HostExecutor(JudgeConfig())
