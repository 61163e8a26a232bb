"""Extensions through the whole of it on the CPU: compiled by nvcc, called in the sandbox, seen through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from host_support import TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostSettings
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
