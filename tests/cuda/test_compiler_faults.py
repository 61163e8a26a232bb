"""Compilers that hang, crash or run out: whose fault it is, and what is tried again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from compiler_sources import TWO_KERNELS, VECTOR_ADD

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.toolchain import compile_job
from coding_framework.cuda.toolchain.compile_job import CompileAnswer, CompileJob
from coding_framework.cuda.toolchain.messages import RawCompilation
from coding_framework.cuda.worker import Worker
from coding_framework.errors import JudgeFault, StorageError, WorkerDied, WorkerOutOfMemory, WorkerTimeout


def test_a_compiler_that_does_not_end_is_stopped_and_not_cached(make: Callable[..., CUDACompiler]) -> None:
    compiler = make(timeout_s=1.0)
    loops = (
        "\n#pragma unroll\nfor (int i = 0; i < 100000; i++)\n#pragma unroll\nfor (int j = 0; j < 1000; j++)"
    )
    source = f'extern "C" __global__ void k(float* x) {{ {loops} x[i * j] += x[j] * i; }}'
    result = compiler.compile(source)
    assert result.timed_out
    assert not result.success
    assert "did not end within 1 s" in result.errors[0].message
    assert compiler.cache_stats.stored == 0
    assert compiler.compile(VECTOR_ADD).success


def test_a_compiler_that_eats_memory_is_stopped(make: Callable[..., CUDACompiler]) -> None:
    compiler = make(memory_limit_bytes=2**29)
    macros = "".join(f"#define M{n + 1} M{n} M{n} M{n} M{n}\n" for n in range(12))
    source = f'{macros}#define M0 x[0] += 1;\nextern "C" __global__ void k(float* x) {{ M12 }}'
    result = compiler.compile(source)
    assert result.errors[0].message == "the compiler ran out of memory"
    assert not result.timed_out
    assert compiler.compile(VECTOR_ADD).success


def test_endless_templates_end_in_an_error(compiler: CUDACompiler) -> None:
    source = "template <int N> struct A { static const int v = A<N + 1>::v; };\n"
    result = compiler.compile(source + 'extern "C" __global__ void k(float* x) { x[0] = A<0>::v; }')
    assert "recursion" in result.errors[0].message


def test_a_worker_killed_from_outside_costs_nothing(compiler: CUDACompiler) -> None:
    compiler.compile(VECTOR_ADD)
    children = [worker._child for worker in compiler._workers if worker._child is not None]
    for child in children:
        os.kill(child.process.pid, signal.SIGKILL)
    assert compiler.compile(VECTOR_ADD.replace("x[i] +", "2 * x[i] +")).success


class FakeWorker(Worker):
    """Answers each call with the next of a list of outcomes."""

    def __init__(self, *outcomes: Exception | RawCompilation) -> None:
        super().__init__(memory_limit_bytes=None)
        self.outcomes = list(outcomes)

    def call(self, function: str, job: CompileJob, *, timeout_s: float) -> CompileAnswer:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        with mock.patch.object(compile_job, "_compile", return_value=outcome):
            return compile_job.run(job)

    def close(self) -> None: ...


def with_fake(compiler: CUDACompiler, *outcomes: Exception | RawCompilation) -> CUDACompiler:
    compiler._idle.get()
    compiler._idle.put(FakeWorker(*outcomes))  # type: ignore[arg-type]
    return compiler


def test_a_crash_is_tried_again_before_the_source_is_blamed(make: Callable[..., CUDACompiler]) -> None:
    crash = WorkerDied("the worker ended by SIGSEGV")
    raw = RawCompilation("built", "", ".visible .entry vector_add(\n)", b"\x7fELF")
    assert with_fake(make(), crash, raw).compile(VECTOR_ADD).success
    blamed = with_fake(make(), crash, crash).compile(TWO_KERNELS)
    assert blamed.errors[0].message == "the compiler crashed on this source (SIGSEGV)"


def test_deaths_that_may_come_from_outside_are_ours(make: Callable[..., CUDACompiler]) -> None:
    killed = WorkerDied("the worker ended by SIGKILL")
    with pytest.raises(WorkerDied):
        with_fake(make(), killed, killed).compile(VECTOR_ADD)


def test_memory_and_time_are_not_tried_twice(make: Callable[..., CUDACompiler]) -> None:
    assert not with_fake(make(), WorkerOutOfMemory("m")).compile(VECTOR_ADD).success
    assert with_fake(make(), WorkerTimeout("t")).compile(VECTOR_ADD).timed_out


def test_a_compiler_that_fails_without_a_word_is_our_fault(make: Callable[..., CUDACompiler]) -> None:
    with pytest.raises(JudgeFault, match="without an error"):
        with_fake(make(), RawCompilation("rejected", "nothing useful")).compile(VECTOR_ADD)


def test_a_cache_that_cannot_be_written_is_our_fault(
    make: Callable[..., CUDACompiler], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        make(cache_dir=tmp_path / "file" / "x").compile(VECTOR_ADD)
