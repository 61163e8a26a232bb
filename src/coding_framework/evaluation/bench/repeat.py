"""`cuda-rl bench repeat`: does a second run of the judge tell the same time?

Every kernel of the catalogue is judged twice, by two pools one after the other: other processes, other
contexts, other inputs, another place in memory, no remembered verdict. A pair of runs disagrees where
the medians are further apart than the judge promises, or where the interval of one does not hold the
median of the other. Kernels of a few microseconds are shown and not judged by it: there the clock's
step and the launch are a large part of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from coding_framework.config import JudgeConfig
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import all_tasks, kernels
from coding_framework.errors import NotAvailableError
from coding_framework.evaluation.bench.drive import drive
from coding_framework.evaluation.bench.records import RepeatedKernel, RepeatResult
from coding_framework.records import Candidate, Evaluation, Task

RUNS = 2


@dataclass(frozen=True)
class _Kernel:
    name: str
    task: Task
    candidate: Candidate


def num_judgements() -> int:
    """How many judgements a whole run takes."""
    return RUNS * len(_kernels())


def repeat(config: JudgeConfig, *, on_done: Callable[[], None] = lambda: None) -> RepeatResult:
    """Judge the catalogue twice and compare the medians; it needs times that are measured."""
    if config.executor != "gpu":
        raise NotAvailableError(
            "bench repeat compares measured times and needs a GPU: the emulator's are a model's, "
            "and the same in every run"
        )
    started = time.perf_counter()
    asked = _kernels()
    first, second = (_judge_all(config, asked, on_done) for _ in range(RUNS))
    return RepeatResult(
        kernels=tuple(_compared(kernel.name, first[kernel.name], second[kernel.name]) for kernel in asked),
        duration_s=time.perf_counter() - started,
    )


def _kernels() -> list[_Kernel]:
    return [
        _Kernel(f"{task.name}.{kernel.name}", task, Candidate(source=kernel.source))
        for task in all_tasks()
        for kernel in kernels(task.name)
    ]


def _judge_all(
    config: JudgeConfig, asked: list[_Kernel], on_done: Callable[[], None]
) -> dict[str, Evaluation]:
    with JudgePool(config) as pool:
        done = drive(
            lambda kernel: pool.judge(kernel.task, kernel.candidate),
            asked,
            width=config.num_workers,
            seconds=float("inf"),
            on_done=on_done,
        )
    return {kernel.name: answer for kernel, answer in zip(done.items, done.answers, strict=True)}


def _compared(name: str, first: Evaluation, second: Evaluation) -> RepeatedKernel:
    times = [
        (timing.median_us, timing.interval_us)
        for evaluation in (first, second)
        if (timing := evaluation.timing) is not None and timing.interval_us is not None
    ]
    if len(times) < RUNS:
        failed = second if first.passed else first
        return RepeatedKernel(name=name, failure=f"{failed.verdict.value}: {failed.message}")
    (median, interval), (other_median, other_interval) = times
    return RepeatedKernel(
        name=name, medians_us=(median, other_median), intervals_us=(interval, other_interval)
    )
