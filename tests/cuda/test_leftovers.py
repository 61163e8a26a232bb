"""What lies in scratch and variables when a call begins: secret words, zero, or what an older call left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.check_runner import CheckRunner, Subject
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan
from coding_framework.cuda.executors.base import ExecutionOutcome, ExecutionRequest
from coding_framework.cuda.executors.emulator.execute import execute
from coding_framework.cuda.rejection import Progress
from coding_framework.data.tasks import get_task

VECTOR_ADD = get_task("vector_add")
SOURCE = """
// scratch: mark int32[1]
// launch: vector_add grid=(ceil_div(n, 256)) block=(256) args=(a, b, y, mark, n)
__device__ int calls = 5;
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int* mark, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
    if (i == 0) { *mark = 77; calls = 6; }
}
"""


class Recorder:
    """An executor that remembers what it was asked."""

    def __init__(self, *, wants_all_at_once: bool) -> None:
        self.requests: list[ExecutionRequest] = []
        self._wants_all_at_once = wants_all_at_once

    def run(self, request: ExecutionRequest, *, timeout_s: float) -> ExecutionOutcome:
        self.requests.append(request)
        return execute(request)

    def run_many(
        self, requests: Iterable[ExecutionRequest], *, timeout_s: float
    ) -> Iterator[ExecutionOutcome]:
        for request in tuple(requests) if self._wants_all_at_once else requests:
            yield self.run(request, timeout_s=timeout_s)


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with CUDACompiler() as compiler:
        yield Subject(VECTOR_ADD, parse_launch_plan(SOURCE, VECTOR_ADD), compiler.compile(SOURCE))


def _asked(
    subject: Subject, *, wants_all_at_once: bool
) -> tuple[list[ExecutionRequest], list[ExecutionRequest]]:
    """First and second runs of all checks."""
    executor = Recorder(wants_all_at_once=wants_all_at_once)
    CheckRunner(JudgeConfig(), executor, run_timeout_s=10).check_all(subject, Progress(deadline=math.inf))
    return executor.requests[::2], executor.requests[1::2]


def _mark(request: ExecutionRequest) -> int:
    return int(request.buffers["mark"][0])


@pytest.mark.parametrize("wants_all_at_once", [False, True])
def test_a_first_run_meets_secret_words(subject: Subject, wants_all_at_once: bool) -> None:
    first, _ = _asked(subject, wants_all_at_once=wants_all_at_once)
    words = np.array([_mark(request) for request in first], dtype=np.int32)
    assert np.unique(words).size == words.size
    assert np.isnan(words.view(np.float32)).all()
    assert all(request.variables == {} for request in first)


def test_a_second_run_meets_what_an_older_one_of_its_shape_left(subject: Subject) -> None:
    _, second = _asked(subject, wants_all_at_once=False)
    seen: set[int] = set()
    for request in second:
        size = request.buffers["y"].size
        was_there = size in seen
        assert _mark(request) == (77 if was_there else 0)
        left = {name: content.view(np.int32).tolist() for name, content in request.variables.items()}
        assert left == ({"calls": [6]} if was_there else {})
        seen.add(size)
    assert len(seen) < len(second), "no shape came twice"


def test_an_executor_that_wants_all_at_once_finds_nothing_left(subject: Subject) -> None:
    _, second = _asked(subject, wants_all_at_once=True)
    assert [_mark(request) for request in second] == [0] * len(second)
    assert all(request.variables == {} for request in second)
