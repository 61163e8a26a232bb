"""`cuda-rl bench judge`: what the compiler and the judge do in a second, on this machine, in this run.

Protocol: an empty compile cache in a temporary folder; worker processes are started and asked a few
questions before the clock; every source is different in its text and in its PTX; nothing is taken
from an earlier run. `seconds` bounds each phase, so a slow machine answers with fewer samples.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.pool import JudgePool
from coding_framework.cuda.toolchain.settings import CACHE_VARIABLE
from coding_framework.evaluation.bench.compare_inline import compare_with_load_inline
from coding_framework.evaluation.bench.drive import Driven, drive
from coding_framework.evaluation.bench.kernels import BENCH_TASKS, honest_kernels
from coding_framework.evaluation.bench.records import BenchJudgeResult, CompileFigures, JudgeFigures
from coding_framework.records import Candidate, Evaluation, Gate, Task
from coding_framework.records.cores import usable_cores

Question = tuple[Task, Candidate]
Step = Callable[[str, int], Callable[[], None]]
"""`step(name, total)` begins a phase; what it returns is called after each of its parts."""

WARM_UP_ROUNDS = 4
"""Compilations of each process before the clock, which load the compiler and grow its memory."""
LATENCY_SAMPLES = 20
CALLERS_PER_WORKER = 2
"""One whose source is compiled and one that has its own ready, so that no process waits for us."""
WORKERS_PER_SPARE = 8
"""For so many compiling processes there is one more: a process waits for 6 % of the time until its answer is
taken and the next source is there (on 16 cores)."""


def bench_judge(
    config: JudgeConfig, *, judgements: int, seconds: float, step: Step, compare: bool = True
) -> BenchJudgeResult:
    """Run every phase; so many lanes judge as the config says, and a few more processes compile."""
    started = time.perf_counter()
    with TemporaryDirectory(prefix="cf-bench-") as folder, _cache_in(Path(folder)):
        settings = CompilerSettings.for_judge(config).model_copy(
            update={"workers": num_compilers(config.num_workers), "cache_dir": Path(folder) / "compile"}
        )
        with CUDACompiler(settings) as compiler:
            architecture = compiler.architecture
            compiling = _bench_compiler(compiler, judgements, seconds, step)
        judging, device = _bench_pool(config, judgements, seconds, step)
        comparison = compare_with_load_inline(settings, step, wanted=compare)
    return BenchJudgeResult(
        cores=usable_cores(),
        device=device,
        architecture=architecture,
        compiling=compiling,
        judging=judging,
        comparison=comparison,
        duration_s=time.perf_counter() - started,
    )


def num_compilers(workers: int) -> int:
    """Processes that keep so many cores busy."""
    return workers + workers // WORKERS_PER_SPARE


class _cache_in:  # noqa: N801 - reads as a statement
    """The compile cache of this process and of all it starts is in this folder for a while."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = os.environ.get(CACHE_VARIABLE)

    def __enter__(self) -> None:
        os.environ[CACHE_VARIABLE] = str(self._folder)

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = self._before


def _bench_compiler(compiler: CUDACompiler, total: int, seconds: float, step: Step) -> CompileFigures:
    workers = compiler.settings.workers
    width = CALLERS_PER_WORKER * workers
    sources = (candidate.source for _, candidate in honest_kernels())
    warm_up = list(islice(sources, WARM_UP_ROUNDS * workers))
    drive(compiler.compile, warm_up, width=width, seconds=seconds, on_done=step("warm-up", len(warm_up)))
    fresh = islice(sources, total)
    cold = drive(
        compiler.compile, fresh, width=width, seconds=seconds, on_done=step("compiles, cold cache", total)
    )
    again = step("compiles, cached", len(cold.items))
    cached = drive(compiler.compile, cold.items, width=width, seconds=seconds, on_done=again)
    alone = step("one at a time", LATENCY_SAMPLES)
    lone = [
        drive(compiler.compile, [source], width=1, seconds=60) for source in islice(sources, LATENCY_SAMPLES)
    ]
    alone()
    return CompileFigures(
        num_compiles=len(cold.answers),
        workers=workers,
        cold_per_s=cold.per_s,
        cached_per_s=cached.per_s,
        latency_ms=1e3 * median(sample.elapsed_s for sample in lone),
        caller_cpu_ms=cold.cpu_ms,
    )


def _bench_pool(config: JudgeConfig, total: int, seconds: float, step: Step) -> tuple[JudgeFigures, str]:
    with JudgePool(config) as pool:

        def ask(question: Question) -> Evaluation:
            return pool.judge(*question)

        def run(name: str, questions: list[Question]) -> Driven[Question, Evaluation]:
            done = step(name, len(questions))
            return drive(ask, questions, width=config.num_workers, seconds=seconds, on_done=done)

        run("warm-up of the lanes", list(_baselines_for_every_lane(config.num_workers)))
        cold = run("judgements, cold cache", list(islice(honest_kernels(start=10**6), total)))
        pool.forget()
        cached = run("judgements, compile cache warm", cold.items)
        remembered = run("judgements, remembered", cached.items)
    return _figures(config, cold, cached, remembered), _device(cold.answers)


def _baselines_for_every_lane(lanes: int) -> Iterator[Question]:
    """Each task once for every lane: a lane times a task's baseline when it first meets the task."""
    numbered = honest_kernels(start=2 * 10**6)
    wanted = Counter(dict.fromkeys(BENCH_TASKS, lanes))
    while any(wanted.values()):
        task, candidate = next(numbered)
        if wanted[task.name]:
            wanted[task.name] -= 1
            yield task, candidate


def _figures(
    config: JudgeConfig,
    cold: Driven[Question, Evaluation],
    cached: Driven[Question, Evaluation],
    remembered: Driven[Question, Evaluation],
) -> JudgeFigures:
    spent: dict[Gate, float] = {}
    for evaluation in cold.answers:
        for gate, seconds in evaluation.gate_seconds.items():
            spent[gate] = spent.get(gate, 0.0) + seconds
    total_s = sum(spent.values())
    kinds = {evaluation.timing.kind for evaluation in cold.answers if evaluation.timing}
    return JudgeFigures(
        num_judgements=len(cold.answers),
        workers=config.num_workers,
        cold_per_s=cold.per_s,
        cached_per_s=cached.per_s,
        remembered_per_s=remembered.per_s,
        latency_s=total_s / max(1, len(cold.answers)),
        caller_cpu_ms=cold.cpu_ms,
        gate_shares={gate: spent[gate] / total_s for gate in spent} if total_s else {},
        verdicts=dict(Counter(evaluation.verdict.value for evaluation in cold.answers)),
        time_kind=kinds.pop() if len(kinds) == 1 else None,
    )


def _device(evaluations: list[Evaluation]) -> str:
    return next((e.timing.device for e in evaluations if e.timing is not None), "none: no kernel passed")
