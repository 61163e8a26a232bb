"""Extensions through the whole of it on the CPU: compiled by nvcc, called in the sandbox, seen through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from host_support import TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.coverage import profile_timed_call
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostSettings
from coding_framework.cuda.executors.host.session import ChildSession
from coding_framework.cuda.executors.host.verifier.records import SetFill
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.cuda.toolchain.detect import usable_nvcc
from coding_framework.records import Candidate, Verdict

pytestmark = pytest.mark.skipif(usable_nvcc() is None, reason="no nvcc with a host compiler")
SOURCE = """
#include <torch/extension.h>

__global__ void decoy(float* x) { x[0] = 1.0f; }

torch::Tensor run(torch::Tensor x, torch::Tensor linear_bias, torch::Tensor linear_weight, int size) {
    auto y = torch::empty({x.size(0), size}, x.options());
    const float* a = x.data_ptr<float>();
    const float* w = linear_weight.data_ptr<float>();
    const float* b = linear_bias.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int i = 0; i < x.size(0); ++i) {
        for (int j = 0; j < size; ++j) {
            float sum = b[j];
            for (int k = 0; k < size; ++k) sum += a[i * size + k] * w[j * size + k];
            out[i * size + j] = sum > 0 ? sum : 0;
        }
    }
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &run, "linear and relu"); }
"""


def extension(source: str) -> Candidate:
    return Candidate(source=source, contract="extension")


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    settings = HostSettings(device="cpu", blocks=3, clock_slack_us=30_000)
    with HostExecutor(JudgeConfig(timed_launches=10), ProcessSandbox(), settings) as started:
        yield started


def test_an_extension_whose_kernels_do_not_matter_is_seen_through(executor: HostExecutor) -> None:
    """It is right on every shape, so it comes as far as the last gate; emptied, it is still right."""
    outcome = executor.judge_host(TASK, extension(SOURCE))
    assert outcome.verdict is Verdict.NO_KERNEL, outcome.message
    assert "do not contribute" in outcome.message
    assert len(outcome.checks) == outcome.num_checks_planned
    assert all(check.passed for check in outcome.checks)
    assert outcome.build is not None
    assert outcome.build.header == "light"


COUNTING = SOURCE.replace("auto y =", "static int calls = 0;\n    ++calls;\n    auto y =").replace(
    "return y;", "if (calls >= FIRST && calls <= LAST) out[0] += 1;\n    return y;"
)
CHECKED = 2 + 2 * len(TASK.hidden_constants)
"""Calls before the timed ones."""


@pytest.mark.parametrize("place", [0, 1])
def test_the_profiled_call_is_one_of_the_timed_ones_and_is_judged(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """The first, and the last: `place` is 0 or 1 of the way."""
    calls: list[int] = []

    def run(session: ChildSession, name: str, fill: SetFill, timeout_s: float) -> float:
        calls.append(1)
        return asked(session, name, fill, timeout_s)

    bench = executor._bench_for(TASK)
    program = executor._programs.build(extension(SOURCE), bench.base)
    asked = ChildSession.run
    monkeypatch.setattr(ChildSession, "run", run)
    monkeypatch.setattr(TaskBench, "pick", lambda bench, count: place * (count - 1))
    assert profile_timed_call(program, bench) is None
    timed = 3 * bench.calls_per_block + 2 * (len(bench.base.distributions) - 1)
    before = sum(calls)
    assert before == CHECKED if place == 0 else CHECKED < before < CHECKED + timed

    wrong = COUNTING.replace("FIRST", str(before + 1)).replace("LAST", str(before + 1))
    with pytest.raises(Rejected, match="elements are wrong"):
        profile_timed_call(executor._programs.build(extension(wrong), bench.base), bench)


def test_an_extension_starts_neither_threads_nor_programs(executor: HostExecutor) -> None:
    """Here it comes as far as that: static analysis, which refuses it, is another gate's."""
    checks = (
        'TORCH_CHECK(fork() == -1, "a program was started");\n'
        "    try { std::thread([] {}).join(); } catch (const std::system_error&) { TORCH_CHECK(false, "
        '"neither"); }\n'
    )
    source = SOURCE.replace("auto y =", checks + "    auto y =")
    includes = "#include <thread>\n#include <system_error>\n#include <unistd.h>\n"
    outcome = executor.judge_host(TASK, extension(includes + source))
    assert outcome.verdict is Verdict.CRASHED, outcome.message
    assert "neither" in outcome.message


def test_what_a_kernel_s_text_defines_for_others_does_not_save_a_decoy(executor: HostExecutor) -> None:
    """Without its body the source would not compile, and that would show nothing."""
    decoy = "__global__ void decoy(float* x) {\n#define ONE 1\n    x[0] = 1.0f;\n}"
    source = SOURCE.replace("__global__ void decoy(float* x) { x[0] = 1.0f; }", decoy)
    outcome = executor.judge_host(TASK, extension(source.replace("++i", "i += ONE")))
    assert outcome.verdict is Verdict.NO_KERNEL, outcome.message
    assert "do not contribute" in outcome.message


SEEN: dict[str, tuple[dict[str, float], str]] = {
    "nothing": ({}, "nothing ran on the device"),
    "the library": ({"ampere_sgemm_128x64_tn": 40.0}, "none of its own kernels was launched"),
    "a kernel of its name": ({"void at::native::decoy<4>(int)": 40.0}, "none of its own kernels"),
    "too little": (
        {"void decoy(float*)": 1.0, "ampere_sgemm_128x64_tn": 99.0},
        "only 1.0% of its device time",
    ),
}


@pytest.mark.parametrize("what", SEEN)
def test_what_the_profiler_sees_decides(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """There is no device here, so what it would see is put into the child's mouth."""
    kernel_us, words = SEEN[what]
    rehearse, profile = ChildSession.rehearse, ChildSession.profile
    monkeypatch.setattr(ChildSession, "rehearse", lambda *given: not rehearse(*given))
    monkeypatch.setattr(ChildSession, "profile", lambda *given: replace(profile(*given), time_us=kernel_us))
    outcome = executor.judge_host(TASK, extension(SOURCE))
    assert outcome.verdict is Verdict.NO_KERNEL, outcome.message
    assert words in outcome.message


def test_work_that_runs_beside_the_flush_is_outside_the_clock(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = ChildSession.profile
    monkeypatch.setattr(ChildSession, "profile", lambda *given: replace(profile(*given), early="half()"))
    outcome = executor.judge_host(TASK, extension(SOURCE))
    assert outcome.verdict is Verdict.CLOCKS_DISAGREE
    assert "`half()` runs before its turn" in outcome.message


def test_a_module_without_kernels_only_wraps_the_library(executor: HostExecutor) -> None:
    outcome = executor.judge_host(TASK, module("return self.right(x)"))
    assert outcome.verdict is Verdict.NO_KERNEL
    assert "defines no kernel" in outcome.message


def test_a_compile_error_comes_with_its_line(executor: HostExecutor) -> None:
    outcome = executor.judge_host(TASK, extension(SOURCE.replace("float sum", "flot sum")))
    assert outcome.verdict is Verdict.COMPILE_ERROR
    assert 'line 14: identifier "flot" is undefined' in outcome.message
    assert outcome.build is not None
    assert not outcome.build.success


def test_an_extension_that_exports_no_forward_is_none(executor: HostExecutor) -> None:
    outcome = executor.judge_host(TASK, extension(SOURCE.replace('"forward"', '"backward"')))
    assert outcome.verdict is Verdict.NO_CANDIDATE
    assert 'exports nothing as "forward"' in outcome.message


def test_what_an_extension_throws_reaches_the_agent(executor: HostExecutor) -> None:
    source = SOURCE.replace("auto y =", 'TORCH_CHECK(x.is_cuda(), "x must be on the GPU");\n    auto y =')
    outcome = executor.judge_host(TASK, extension(source))
    assert outcome.verdict is Verdict.CRASHED
    assert "x must be on the GPU" in outcome.message
