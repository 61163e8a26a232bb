"""The benchmarks measure what they say, on few kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.toolchain.settings import CACHE_VARIABLE, CompilerSettings
from coding_framework.data.tasks import get_task
from coding_framework.evaluation.bench import compare_inline
from coding_framework.evaluation.bench.compare_inline import compare_with_load_inline, why_no_load_inline
from coding_framework.evaluation.bench.drive import drive
from coding_framework.evaluation.bench.footprint import (
    marked,
    marked_processes,
    open_descriptors,
    resident_bytes,
)
from coding_framework.evaluation.bench.judge_bench import bench_judge
from coding_framework.evaluation.bench.kernels import HOSTILE, honest_kernels, hostile_kernels
from coding_framework.evaluation.bench.records import (
    MAX_GROWTH_BYTES,
    LoadInlineComparison,
    MemorySample,
    SoakResult,
)
from coding_framework.evaluation.bench.soak import growth, soak
from coding_framework.records import Gate, Verdict


def no_steps(name: str, total: int) -> Callable[[], None]:
    return lambda: None


def test_the_benchmark_of_the_judge_gives_every_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "/nowhere")
    phases: list[str] = []

    def step(name: str, total: int) -> Callable[[], None]:
        phases.append(name)
        return lambda: None

    config = JudgeConfig(workers=1, executor="emulator")
    result = bench_judge(config, judgements=3, seconds=2, step=step)
    assert os.environ[CACHE_VARIABLE] == "/nowhere"
    assert result.compiling.num_compiles == 3
    assert result.compiling.cached_per_s > result.compiling.cold_per_s > 1
    assert 1 < result.compiling.latency_ms < 5000
    assert result.judging.verdicts == {"passed": result.judging.num_judgements}
    assert result.judging.remembered_per_s > result.judging.cached_per_s > 0
    assert sum(result.judging.gate_shares.values()) == pytest.approx(1.0)
    assert result.judging.gate_shares[Gate.COMPILE] > 0
    assert result.judging.time_kind == "modelled"
    assert result.comparison.kernel_s is not None
    assert len(phases) == len(set(phases)) == 9


def test_the_kernels_of_a_benchmark_never_repeat_and_still_pass() -> None:
    with CUDACompiler(CompilerSettings(workers=2)) as compiler:
        kernels = list(islice(honest_kernels(start=7), 40))
        results = drive(
            lambda kernel: compiler.compile(kernel[1].source), kernels, width=2, seconds=60
        ).answers
    assert all(result.success for result in results)
    assert len({candidate.source for _, candidate in kernels}) == 40
    assert len({result.ptx_key for result in results}) == 40


def test_every_hostile_kernel_is_rejected_when_it_runs() -> None:
    task = get_task("scale")
    judge = Judge(JudgeConfig(executor="emulator", run_timeout_s=5))
    try:
        found = {kind: judge.judge(task, c) for kind, c in islice(hostile_kernels(task), len(HOSTILE))}
    finally:
        judge.close()
    assert set(found) == set(HOSTILE)
    assert all(evaluation.compiled and not evaluation.passed for evaluation in found.values())
    assert found["hangs"].verdict is Verdict.TIMEOUT
    assert found["writes far outside"].verdict is Verdict.OUT_OF_BOUNDS


def test_a_short_soak_is_clean() -> None:
    result = soak(JudgeConfig(workers=1, executor="emulator", run_timeout_s=5), judgements=12)
    assert (result.num_asked, result.num_verdicts, result.num_hostile) == (12, 12, 2)
    assert result.complaints == ()
    assert sum(result.verdicts.values()) == 12
    assert result.verdicts["passed"] == 10
    assert result.samples[-1].num_judgements == 12
    assert result.samples[-1].num_processes >= 2


def clean_soak(**changes: object) -> SoakResult:
    fields: dict[str, object] = {
        **dict.fromkeys(("num_asked", "num_verdicts"), 10),
        **dict.fromkeys(("num_hostile", "num_hostile_passed", "num_honest_failed", "num_faults"), 0),
        "verdicts": {},
        "samples": (),
        "leaked_processes": (),
        "leaked_descriptors": 0,
        "host_growth_bytes": 0,
        "gpu_growth_bytes": None,
        "duration_s": 1.0,
    }
    return SoakResult.model_validate({**fields, **changes})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_verdicts": 9}, "1 verdicts are missing"),
        ({"num_hostile_passed": 1}, "1 hostile candidates passed"),
        ({"num_honest_failed": 2}, "2 honest"),
        ({"leaked_processes": ("7 (python)",)}, "7 (python)"),
        ({"leaked_descriptors": 3}, "3 descriptors"),
        ({"host_growth_bytes": MAX_GROWTH_BYTES + 2**20}, "host memory grew by 65 MiB"),
        ({"gpu_growth_bytes": MAX_GROWTH_BYTES + 2**20}, "GPU memory grew by 65 MiB"),
    ],
)
def test_whatever_goes_wrong_in_a_soak_is_said(change: dict[str, object], words: str) -> None:
    assert clean_soak().complaints == ()
    (complaint,) = clean_soak(**change).complaints
    assert words in complaint


@pytest.mark.parametrize(
    ("sizes", "counts", "grown"),
    [
        ([0, 50, 100, 100, 100, 100, 100, 100], [4] * 8, 0),
        ([0, 0, 100, 100, 100, 170, 170, 100], [4] * 8, 0),
        ([0, 0, 100, 100, 150, 150, 200, 200], [4] * 8, 50),
        ([0, 0, 100, 100, 100, 80, 100, 100], [4, 4, 4, 4, 4, 3, 4, 4], 0),
        ([0, 0, 100, 100, 100, 80, 150, 150], [4, 4, 4, 4, 4, 3, 4, 4], 50),
        ([0, 0, 100, 100, 80, 80, 100, 100], [4, 4, 4, 4, 3, 3, 4, 4], 20),
        ([5], [4], 0),
    ],
)
def test_growth_leaves_the_warm_up_out_and_a_process_that_comes_and_goes(
    sizes: list[int], counts: list[int], grown: int
) -> None:
    samples = [
        MemorySample(num_judgements=0, host_bytes=size, num_processes=count)
        for size, count in zip(sizes, counts, strict=True)
    ]
    assert growth(samples, lambda sample: sample.host_bytes) == grown


def test_an_orphan_is_found_by_its_mark() -> None:
    with marked() as mark:
        child = (
            "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
        )
        subprocess.run([sys.executable, "-c", child], check=True)
        found = marked_processes(mark)
    assert len(found) == 1
    (orphan,) = found
    assert "time.sleep" in found[orphan]
    assert resident_bytes([orphan]) > 2**20
    os.kill(orphan, 9)
    deadline = time.monotonic() + 30
    while marked_processes(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert marked_processes(mark) == {}
    assert resident_bytes([2**22]) == 0
    assert open_descriptors() > 2


def test_nothing_new_begins_after_the_time_is_up() -> None:
    done = drive(lambda _: time.sleep(0.05), range(10**6), width=2, seconds=0.2)
    assert 2 <= len(done.answers) <= 12
    assert done.per_s < 45
    assert done.cpu_ms < 50


def test_an_error_in_a_benchmark_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        drive(lambda item: 1 / item, [0], width=2, seconds=1)


def test_the_comparison_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare_with_load_inline(CompilerSettings(), no_steps, wanted=False).missing == ("not asked for",)
    monkeypatch.setattr(compare_inline, "find_spec", lambda name: None)
    assert "no torch" in str(why_no_load_inline())
    missing: list[str] = []
    assert compare_inline._load_inline_seconds(missing) is None
    assert missing == ["load_inline: not available here: no torch: pip install 'coding_framework[train]'"]


@pytest.mark.parametrize(
    ("cuda", "nvcc", "ninja", "words"),
    [
        (None, "nvcc", "ninja", "without CUDA"),
        ("13.0", None, "ninja", "no nvcc"),
        ("13.0", "nvcc", None, "no ninja"),
        ("13.0", "nvcc", "ninja", None),
    ],
)
def test_what_load_inline_needs_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, cuda: str | None, nvcc: str | None, ninja: str | None, words: str | None
) -> None:
    torch = type("torch", (), {"version": type("version", (), {"cuda": cuda}), "__version__": "2"})
    monkeypatch.setattr(compare_inline, "import_module", lambda name: torch)
    monkeypatch.setattr(compare_inline, "find_nvcc", lambda: nvcc)
    monkeypatch.setattr(compare_inline.shutil, "which", lambda name: ninja)
    reason = why_no_load_inline()
    assert reason is None if words is None else words in str(reason)


def test_ratios_need_both_times() -> None:
    both = LoadInlineComparison(load_inline_s=30.0, kernel_s=0.05, extension_s=3.0)
    assert (both.kernel_ratio, both.extension_ratio) == (pytest.approx(600), pytest.approx(10))
    assert LoadInlineComparison(kernel_s=0.05).kernel_ratio is None
    assert LoadInlineComparison(load_inline_s=30.0).extension_ratio is None
