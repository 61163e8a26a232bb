"""`cuda-rl bench soak`: does the judge stay whole when every tenth candidate attacks it?

Candidates go through one pool in batches. Between batches, while nothing is judged, everything that
belongs to the run is weighed; remembered verdicts are dropped then, because that memory has a bound
of its own and would pass for a leak, and of an evaluation no more is kept than what is told in the end.
After the pool is closed nothing of the run may be left.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from coding_framework.config import JudgeConfig
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import get_task
from coding_framework.evaluation.bench.drive import drive
from coding_framework.evaluation.bench.footprint import (
    gpu_bytes_in_use,
    marked,
    marked_processes,
    open_descriptors,
    resident_bytes,
)
from coding_framework.evaluation.bench.kernels import honest_kernels, hostile_kernels
from coding_framework.evaluation.bench.records import MemorySample, SoakResult
from coding_framework.records import Candidate, Evaluation, Task

TASKS = ("vector_add", "scale", "gelu", "row_sum", "matvec")
"""Honest kernels of these: quick ones, so that the attacks are what takes the time."""
ATTACKED = "scale"
NUM_BATCHES = 16
HOSTILE_EVERY = 10
MAX_TOLD = 10
_GONE_WITHIN_S = 5.0


@dataclass(frozen=True)
class Question:
    """One candidate, and whether it is an attack."""

    task: Task
    candidate: Candidate
    hostile: bool


@dataclass(frozen=True)
class Heard:
    """What the run keeps of one evaluation."""

    hostile: bool
    passed: bool
    verdict: str
    words: str
    """Why an honest candidate was refused; empty otherwise."""

    @classmethod
    def of(cls, question: Question, evaluation: Evaluation) -> Heard:
        refused = not question.hostile and not evaluation.passed
        verdict = evaluation.verdict.value
        words = f"{question.task.name}: {verdict}: {evaluation.message}" if refused else ""
        return cls(question.hostile, evaluation.passed, verdict, words)


def soak(config: JudgeConfig, *, judgements: int, on_done: Callable[[], None] = lambda: None) -> SoakResult:
    """Judge so many candidates, one in ten of them hostile, and weigh everything on the way."""
    started = time.perf_counter()
    descriptors = open_descriptors()
    questions = list(islice(_questions(), judgements))
    heard: list[Heard] = []
    with marked() as mark:
        with JudgePool(config) as pool:
            samples = []
            for batch in _batches(questions):
                done = drive(
                    lambda q: Heard.of(q, pool.judge(q.task, q.candidate)),
                    batch,
                    width=config.num_workers,
                    seconds=float("inf"),
                    on_done=on_done,
                )
                heard += done.answers
                pool.forget()
                samples.append(_weigh(mark, len(heard)))
        left = _left_behind(mark)
    weighed = [sample for sample in samples if sample.gpu_bytes is not None]
    refused = [one.words for one in heard if one.words]
    return SoakResult(
        num_asked=judgements,
        num_verdicts=len(heard),
        num_hostile=sum(one.hostile for one in heard),
        num_hostile_passed=sum(one.hostile and one.passed for one in heard),
        num_honest_failed=len(refused),
        honest_failures=tuple(refused[:MAX_TOLD]),
        num_faults=pool.num_faults,
        verdicts=dict(Counter(one.verdict for one in heard)),
        samples=tuple(samples),
        leaked_processes=left,
        leaked_descriptors=max(0, open_descriptors() - descriptors),
        host_growth_bytes=growth(samples, lambda sample: sample.host_bytes),
        gpu_growth_bytes=growth(weighed, lambda sample: sample.gpu_bytes or 0) if weighed else None,
        duration_s=time.perf_counter() - started,
    )


def _questions() -> Iterator[Question]:
    honest = honest_kernels([get_task(name) for name in TASKS])
    attacked = get_task(ATTACKED)
    hostile = hostile_kernels(attacked)
    while True:
        yield Question(attacked, next(hostile)[1], hostile=True)
        for task, candidate in islice(honest, HOSTILE_EVERY - 1):
            yield Question(task, candidate, hostile=False)


def _batches(questions: list[Question]) -> Iterator[list[Question]]:
    size = max(1, -(-len(questions) // NUM_BATCHES))
    for start in range(0, len(questions), size):
        yield questions[start : start + size]


def _weigh(mark: str, judged: int) -> MemorySample:
    processes = {os.getpid(), *marked_processes(mark)}
    return MemorySample(
        num_judgements=judged,
        host_bytes=resident_bytes(list(processes)),
        num_processes=len(processes),
        gpu_bytes=gpu_bytes_in_use(),
    )


def growth(samples: Sequence[MemorySample], size: Callable[[MemorySample], int]) -> int:
    """Least of the last quarter less least of the one before; until then it is warm-up.

    The least, because a process that has just been started makes a sample jump. And only samples with as many
    processes as each other, where both quarters have some: one that was killed and is not yet needed again
    takes its whole size with it. What leaks is in every sample.
    """
    quarter = len(samples) // 4
    if quarter == 0:
        return 0
    before, last = _least(samples[-2 * quarter : -quarter], size), _least(samples[-quarter:], size)
    alike = [last[count] - before[count] for count in before.keys() & last.keys()]
    return min(alike) if alike else min(last.values()) - min(before.values())


def _least(samples: Sequence[MemorySample], size: Callable[[MemorySample], int]) -> dict[int, int]:
    """The least size by number of processes."""
    least: dict[int, int] = {}
    for sample in samples:
        least[sample.num_processes] = min(size(sample), least.get(sample.num_processes, size(sample)))
    return least


def _left_behind(mark: str) -> tuple[str, ...]:
    """What still lives; a process that is just being ended by the system gets a moment."""
    deadline = time.monotonic() + _GONE_WITHIN_S
    while True:
        left = {pid: words for pid, words in marked_processes(mark).items() if pid != os.getpid()}
        if not left or time.monotonic() > deadline:
            return tuple(f"{pid} ({words})" for pid, words in left.items())
        time.sleep(0.1)
