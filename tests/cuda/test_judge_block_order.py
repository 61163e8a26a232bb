"""On the emulator blocks run in some order, and no kernel may rely on which: each run has another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Verdict

HISTOGRAM = """
// launch: count grid=(ceil_div(n, 1024)) block=(256) args=(x, counts, n)
extern "C" __global__ void count(const int* __restrict__ x, int* counts, int n) {
    __shared__ int bins[64];
    if (threadIdx.x < 64) {
        bins[threadIdx.x] = 0;
        if (blockIdx.x == 0) {
            ((volatile int*)counts)[threadIdx.x] = 0;
        }
    }
    __syncthreads();
    int end = min(static_cast<int>(blockIdx.x + 1) * 1024, n);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 256) {
        atomicAdd(&bins[x[i] & 63], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
    }
}
"""
MIN_MAX = """
// scratch: part float32[2 * ceil_div(n, 1024)]
// launch: both grid=(ceil_div(n, 1024) + 1) block=(1) args=(x, part, y, n, ceil_div(n, 1024))
extern "C" __global__ void both(const float* x, float* part, float* y, int n, int chunks) {
    POINTER kept = part;
    int b = blockIdx.x;
    if (b < chunks) {
        float low = x[b * 1024], high = low;
        for (int i = b * 1024; i < min(b * 1024 + 1024, n); ++i) {
            low = fminf(low, x[i]);
            high = fmaxf(high, x[i]);
        }
        kept[2 * b] = low;
        kept[2 * b + 1] = high;
    }
    FENCE
    if (b == chunks) {
        float low = kept[0], high = kept[1];
        for (int c = 1; c < chunks; ++c) {
            low = fminf(low, kept[2 * c]);
            high = fmaxf(high, kept[2 * c + 1]);
        }
        y[0] = low;
        y[1] = high;
    }
}
"""
SUM = """
// launch: row_sum grid=(rows) block=(64)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float parts[64];
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64) {
        total += x[blockIdx.x * cols + c];
    }
    volatile float* all = parts;
    all[threadIdx.x] = total;
    BARRIER
    if (threadIdx.x == 0) {
        for (int i = 1; i < 64; ++i) {
            total += all[i];
        }
        y[blockIdx.x] = total;
    }
}
"""


@pytest.fixture(scope="module")
def the_judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="emulator", run_timeout_s=20, total_timeout_s=40))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("task", "source"),
    [
        ("histogram", HISTOGRAM),
        ("min_max", MIN_MAX.replace("POINTER", "volatile float*").replace("FENCE", "")),
        ("min_max", MIN_MAX.replace("POINTER", "float*").replace("FENCE", "__threadfence();")),
    ],
    ids=["cleared by the first block", "volatile and no wait", "a fence and no wait"],
)
def test_a_kernel_that_relies_on_the_order_of_blocks_is_refused(
    the_judge: Judge, task: str, source: str
) -> None:
    evaluation = the_judge.judge(get_task(task), Candidate(source=source))
    assert evaluation.verdict in (Verdict.NOT_DETERMINISTIC, Verdict.WRONG_RESULT), evaluation.message


def test_a_kernel_that_relies_on_it_on_the_timing_shape_alone_is_refused(the_judge: Judge) -> None:
    end = "    int end = min(static_cast<int>(blockIdx.x + 1) * 1024, n);"
    assert end in HISTOGRAM
    source = HISTOGRAM.replace(end, f"{end}\n    if (n < 50000) {{ if (blockIdx.x) return; end = n; }}")
    evaluation = the_judge.judge(get_task("histogram"), Candidate(source=source))
    assert evaluation.verdict is Verdict.WRONG_RESULT, evaluation.message
    assert [check.passed for check in evaluation.checks].count(False) == 1
    assert len(evaluation.checks) == evaluation.num_checks_planned, "the timed shape is one check"


def test_a_merge_by_the_last_block_to_arrive_passes_and_its_timed_runs_are_one_check(
    the_judge: Judge,
) -> None:
    source = MIN_MAX.replace("POINTER", "volatile float*").replace("FENCE", "__threadfence();")
    source = source.replace("b == chunks", "atomicAdd(arrived, 1) == chunks")
    source = source.replace("float* part,", "int* arrived, float* part,").replace(
        "(x, part", "(x, arrived, part"
    )
    cleared = 'extern "C" __global__ void clear(int* arrived) { *arrived = 0; }'
    plan = "// scratch: arrived int32[1]\n// launch: clear grid=(1) block=(1) args=(arrived)\n"
    evaluation = the_judge.judge(get_task("min_max"), Candidate(source=f"{plan}{source}{cleared}"))
    assert evaluation.verdict is Verdict.PASSED, evaluation.message
    assert len(evaluation.checks) == evaluation.num_checks_planned


@pytest.mark.parametrize(
    ("barrier", "verdict"), [("__syncthreads();", Verdict.PASSED), ("", Verdict.DATA_RACE)]
)
def test_volatile_is_no_barrier_between_warps(the_judge: Judge, barrier: str, verdict: Verdict) -> None:
    evaluation = the_judge.judge(get_task("row_sum"), Candidate(source=SUM.replace("BARRIER", barrier)))
    assert evaluation.verdict is verdict, evaluation.message
