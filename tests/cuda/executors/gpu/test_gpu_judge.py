"""The judge on a real GPU. Run with `pytest -m gpu` on a machine that has one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from threading import Event, Thread

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.backend import compile_harness
from coding_framework.cuda.benchmarker import CUDABenchmarker
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.executors.gpu.lease import gpu_lease
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.pool import JudgePool
from coding_framework.cuda.worker import Worker
from coding_framework.data.tasks import get_task
from coding_framework.evaluation.bench.kernels import honest_kernels
from coding_framework.records import Candidate, Evaluation, Gate, Verdict

pytestmark = pytest.mark.gpu
CONTEXT = "coding_framework.cuda.executors.gpu.context"
HEAD = "// launch: vector_add grid=(ceil_div(n, 256)) block=(256)\n"
SIGNATURE = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n)'
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="gpu", architecture="auto", gpu_run_timeout_s=2))
    yield made
    made.close()


def vector_add(judge: Judge, body: str, *, before: str = "") -> Evaluation:
    source = f"{HEAD}{before}{SIGNATURE} {{ {INDEX} {body} }}\n"
    return judge.judge(get_task("vector_add"), Candidate(source=source))


def test_an_honest_kernel_passes_with_a_measured_time(judge: Judge) -> None:
    result = vector_add(judge, "if (i < n) y[i] = a[i] + b[i];")
    assert result.verdict is Verdict.PASSED, result.message
    timing = result.timing
    assert timing is not None
    assert timing.kind == "measured"
    assert timing.num_samples == 50
    assert timing.interval_us is not None
    assert timing.interval_us[0] < timing.median_us < timing.interval_us[1]
    assert timing.speedup == pytest.approx(1.0, abs=0.05)
    assert timing.floor_us < timing.median_us
    assert timing.transfer_us is not None
    assert timing.transfer_us > timing.median_us


def test_a_context_made_anew_works_like_the_one_before() -> None:
    with CUDACompiler(CompilerSettings(architecture="auto", workers=1)) as compiler:
        ours = (0, compile_harness(compiler))
    with Worker(memory_limit_bytes=None) as worker:
        costs_us = []
        for _ in range(3):
            with gpu_lease(0):
                costs_us.append(worker.call(f"{CONTEXT}:launch_cost_us", *ours, timeout_s=60))
            worker.call(f"{CONTEXT}:renew", *ours, timeout_s=60)
    assert min(costs_us) > 1
    assert max(costs_us) < 1.5 * min(costs_us)


def test_waiting_for_the_device_is_not_the_candidates_time() -> None:
    held, judged = Event(), Event()

    def hold() -> None:
        with gpu_lease(0):
            held.set()
            judged.wait(3)

    judge = Judge(JudgeConfig(executor="gpu", architecture="auto", total_timeout_s=1))
    other = Thread(target=hold)
    try:
        assert vector_add(judge, "if (i < n) y[i] = a[i] + b[i];").verdict is Verdict.PASSED
        other.start()
        held.wait()
        result = vector_add(judge, "if (i < n) y[i] = b[i] + a[i];")
    finally:
        judged.set()
        other.join()
        judge.close()
    assert result.gate_seconds[Gate.CHECK] > 1
    assert result.verdict is Verdict.PASSED, result.message


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("if (i < n) y[i] = a[i] - b[i];", Verdict.WRONG_RESULT),
        ("y[i] = a[i] + b[i];", Verdict.OUT_OF_BOUNDS),
        ("if (i < n) { y[i] = a[i] + b[i]; ((float*)a)[i] = 0.0f; }", Verdict.INPUT_CHANGED),
        ("if (i < n) y[i] = a[i] + b[i]; if (i == 0) __trap();", Verdict.CRASHED),
        ("if (i < n) y[i + (1LL << 40)] = 0.0f;", Verdict.OUT_OF_BOUNDS),
        ("if (i < n) *(double*)((char*)(y + (i & ~3)) + 4) = 1.0;", Verdict.MISALIGNED),
        ("while (i >= 0) { ((volatile float*)y)[0] = 1.0f; }", Verdict.TIMEOUT),
        ("if (i < n) y[i] = n > 100000 ? a[i] : a[i] + b[i];", Verdict.WRONG_RESULT),
    ],
)
def test_a_fault_gets_its_verdict_and_the_next_candidate_is_judged(
    judge: Judge, body: str, verdict: Verdict
) -> None:
    assert vector_add(judge, body).verdict is verdict
    assert vector_add(judge, "if (i < n) y[i] = b[i] + a[i];").verdict is Verdict.PASSED


def test_what_was_wrong_before_a_crash_is_said_first(judge: Judge) -> None:
    crash = "if (n > 50000) __trap();"
    assert vector_add(judge, f"if (i < n) y[i] = a[i] - b[i]; {crash}").verdict is Verdict.WRONG_RESULT
    assert vector_add(judge, "if (i < n) y[i] = b[i] + a[i];").verdict is Verdict.PASSED


def test_a_crash_is_told_of_the_shape_that_crashed(judge: Judge) -> None:
    result = vector_add(judge, "if (i < n) y[i] = a[i] + b[i]; if (n == 1) __trap();")
    assert result.verdict is Verdict.CRASHED
    assert "hidden" in result.message
    assert len(result.checks) >= 2
    assert all(check.passed for check in result.checks)


def test_variables_of_a_module_are_fresh_in_every_run(judge: Judge) -> None:
    result = vector_add(
        judge,
        "if (i < n) y[i] = a[i] + b[i] + (calls > 0 ? 1.0f : 0.0f); if (i == 0) calls = 1;",
        before="__device__ int calls;\n",
    )
    assert result.verdict is Verdict.WRONG_RESULT
    assert "timed calls" in result.message


def test_a_kernel_that_stops_working_after_some_calls_is_caught_in_a_timed_call(judge: Judge) -> None:
    result = vector_add(
        judge,
        "if (calls < 20u * gridDim.x && i < n) y[i] = a[i] + b[i]; "
        "if (threadIdx.x == 0) atomicAdd(&calls, 1u);",
        before="__device__ unsigned calls;\n",
    )
    assert result.verdict is Verdict.WRONG_RESULT
    assert "timed calls" in result.message


async def test_the_benchmarker_measures_on_a_gpu() -> None:
    with CUDACompiler() as compiler:
        compiled = compiler.compile(get_task("vector_add").baseline)
    assert compiled.binary_path is not None
    with CUDABenchmarker(JudgeConfig(executor="gpu", architecture="auto")) as benchmarker:
        result = await benchmarker.benchmark_kernel(compiled.binary_path, compiled.kernel_name)
    assert result.kind == "measured"
    assert result.interval_us is not None


def test_a_neighbours_endless_loop_is_not_a_candidates_own() -> None:
    config = JudgeConfig(executor="gpu", architecture="auto", gpu_run_timeout_s=2, run_timeout_s=2, workers=4)
    task = get_task("vector_add")
    loop = f"{HEAD}{SIGNATURE} {{ {INDEX} while (i >= 0) ((volatile float*)y)[0] = NUMBER; }}\n"
    loops = [Candidate(source=loop.replace("NUMBER", f"{number}.0f")) for number in range(3)]
    honest = [candidate for _, candidate in islice(honest_kernels([task]), 9)]
    candidates = [*loops, *honest]
    with JudgePool(config) as pool:
        evaluations = pool.judge_many((task, candidate) for candidate in candidates)
    for evaluation in evaluations[:3]:
        assert evaluation.verdict is Verdict.TIMEOUT, evaluation.message
    for evaluation in evaluations[3:]:
        assert evaluation.verdict is Verdict.PASSED, evaluation.message


def test_a_kernel_whose_stack_needs_room_is_timed(judge: Judge) -> None:
    """Making room makes the driver wait for an idle device, so nothing may be held back then."""
    body = (
        "float kept[1024]; int at = (i * 7919) & 1023; if (i < n) {"
        "kept[at] = a[i]; kept[(at + 1) & 1023] = b[i]; y[i] = kept[at] + kept[(at + 1) & 1023]; }"
    )
    result = vector_add(judge, body)
    assert result.verdict is Verdict.PASSED, result.message
    assert result.compilation is not None
    assert "__local_depot" in (result.compilation.ptx or "")
