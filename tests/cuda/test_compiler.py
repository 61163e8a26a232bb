"""`CUDACompiler` end to end: real NVRTC, real workers, a real cache."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from pydantic import ValidationError

from coding_framework.cuda import compiler as compiler_module
from coding_framework.cuda.compiler import CompilationResult, CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain import compile_job, detect, interpret, nvcc, nvrtc
from coding_framework.cuda.toolchain.compile_job import CompileAnswer, CompileJob
from coding_framework.cuda.toolchain.interpret import Backend
from coding_framework.cuda.toolchain.messages import CompileRequest, RawCompilation
from coding_framework.cuda.worker import Worker
from coding_framework.errors import (
    ConfigError,
    JudgeFault,
    StorageError,
    ToolchainMissingError,
    WorkerDied,
    WorkerOutOfMemory,
    WorkerTimeout,
)

VECTOR_ADD = """\
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
"""
TWO_KERNELS = """\
// launch: second grid=(1) block=(64)
extern "C" __global__ void first(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void second(float* x) { x[0] = 2; }
"""
needs_nvcc = pytest.mark.skipif(
    detect.usable_nvcc() is None, reason="no nvcc with a host compiler on this machine"
)


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CUDACompiler]:
    settings = CompilerSettings(
        compiler="nvrtc", architecture="sm_90", cache_dir=tmp_path_factory.mktemp("cache"), workers=2
    )
    with CUDACompiler(settings) as started:
        yield started


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., CUDACompiler]]:
    started: list[CUDACompiler] = []

    def build(**settings: object) -> CUDACompiler:
        chosen = {
            "compiler": "nvrtc",
            "architecture": "sm_90",
            "workers": 1,
            "cache_dir": tmp_path,
            **settings,
        }
        started.append(CUDACompiler(CompilerSettings.model_validate(chosen)))
        return started[-1]

    yield build
    for item in started:
        item.close()


def test_a_kernel_becomes_ptx_and_a_binary(compiler: CUDACompiler) -> None:
    result = compiler.compile(VECTOR_ADD)
    assert result.success
    assert (result.compiler, result.architecture, result.kernel_name) == ("nvrtc", "sm_90", "vector_add")
    assert result.toolkit == nvrtc.nvrtc_version()
    assert result.ptx is not None
    assert ".visible .entry vector_add(" in result.ptx
    assert result.binary_path is not None
    assert result.binary_path.read_bytes().startswith(b"\x7fELF")
    assert result.binary_path.with_suffix(".ptx").read_text() == result.ptx
    beside = CompilationResult.model_validate_json(result.binary_path.with_suffix(".json").read_text())
    assert beside == result.model_copy(update={"from_cache": False})


def test_line_info_points_into_the_candidates_own_source(compiler: CUDACompiler) -> None:
    ptx = compiler.compile(VECTOR_ADD).ptx
    assert ptx is not None
    assert '"kernel.cu"' in ptx
    located = [int(line.split()[2]) for line in ptx.splitlines() if line.strip().startswith(".loc")]
    assert 4 in located
    assert max(located) <= 5


def test_resources_of_every_kernel_are_reported_in_order_of_definition(compiler: CUDACompiler) -> None:
    result = compiler.compile(TWO_KERNELS)
    assert result.kernel_names == ("first", "second")
    assert [item.kernel for item in result.resources] == ["first", "second"]
    assert result.resources[0].static_shared_bytes == 256
    assert all(item.registers > 0 for item in result.resources)


def test_an_error_is_a_value_with_its_place(compiler: CUDACompiler) -> None:
    result = compiler.compile('extern "C" __global__ void k(float* x) {\n  x[0] = y;\n}')
    assert not result.success
    assert result.binary_path is None
    (error,) = result.errors
    assert (error.line, error.column, error.source_line) == (2, 10, "  x[0] = y;")
    assert error.message == 'identifier "y" is undefined'


def test_a_warning_does_not_fail_the_kernel(compiler: CUDACompiler) -> None:
    result = compiler.compile('extern "C" __global__ void k(float* x) {\n  int unused;\n  x[0] = 1;\n}')
    assert result.success
    (warning,) = result.warnings
    assert warning.line == 2


@pytest.mark.parametrize(
    ("source", "words", "line"),
    [
        ("__device__ float f() { return 1; }", "no __global__ function", None),
        ("\n__global__ void foo(float* x) {}", 'kernel `foo` must be declared extern "C"', 2),
        ("namespace n { __global__ void bar(float* x) {} }", "kernel `bar`", 1),
        ("template <int N> __global__ void t(float* x) {}", "no kernel was generated", None),
        ('#include "/etc/passwd"\n__global__ void k() {}', "only plain header names", 1),
        ('#include "none.h"\nextern "C" __global__ void k() {}', "cannot open source file", 1),
    ],
)
def test_a_source_that_cannot_be_launched_says_why(
    compiler: CUDACompiler, source: str, words: str, line: int | None
) -> None:
    result = compiler.compile(source)
    assert not result.success
    assert words in result.errors[0].message
    assert result.errors[0].line == line


def test_too_much_shared_memory_is_the_assemblers_error(compiler: CUDACompiler) -> None:
    body = "__shared__ float s[20000]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[19999 - threadIdx.x];"
    result = compiler.compile(f'extern "C" __global__ void k(float* x) {{ {body} }}')
    assert "too much shared data" in result.errors[0].message


def test_the_second_time_comes_from_the_cache(make: Callable[..., CUDACompiler]) -> None:
    compiler = make()
    first, second = compiler.compile(VECTOR_ADD), compiler.compile(VECTOR_ADD)
    assert not first.from_cache
    assert second == first.model_copy(update={"from_cache": True})
    assert (compiler.cache_stats.hits, compiler.cache_stats.misses) == (1, 1)


def test_another_compiler_object_shares_the_cache_and_starts_no_process(
    make: Callable[..., CUDACompiler],
) -> None:
    make().compile(VECTOR_ADD)
    other = make()
    assert other.compile(VECTOR_ADD).from_cache
    assert other._workers[0]._child is None


def test_failures_are_cached_and_flags_are_part_of_the_key(make: Callable[..., CUDACompiler]) -> None:
    broken = 'extern "C" __global__ void k(float* x) { x[0] = missing_name; }'
    make().compile(broken)
    assert make().compile(broken).from_cache
    assert not make(extra_flags=("-DOTHER=1",)).compile(broken).from_cache
    assert make(extra_flags=("-Dmissing_name=1",)).compile(broken).success
    assert not make(architecture="sm_80").compile(broken).from_cache


def test_a_removed_binary_is_built_again(make: Callable[..., CUDACompiler]) -> None:
    compiler = make()
    path = compiler.compile(VECTOR_ADD).binary_path
    assert path is not None
    path.unlink()
    again = compiler.compile(VECTOR_ADD)
    assert not again.from_cache
    assert path.exists()


async def test_many_compilations_run_at_once(compiler: CUDACompiler) -> None:
    sources = [VECTOR_ADD.replace("+ y[i]", f"+ y[i] + {number}") for number in range(6)]
    results = await asyncio.gather(*(compiler.compile_kernel(source) for source in sources))
    assert all(result.success for result in results)
    assert len({result.binary_path for result in results}) == 6


async def test_the_same_source_at_once_is_compiled_once(make: Callable[..., CUDACompiler]) -> None:
    compiler = make(workers=2)
    results = await asyncio.gather(*(compiler.compile_kernel(TWO_KERNELS) for _ in range(6)))
    assert sum(not result.from_cache for result in results) == 1
    assert compiler.cache_stats.stored == 1


async def test_all_defaults_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path))
    compiler = CUDACompiler()
    try:
        result = await compiler.compile_kernel(VECTOR_ADD)
    finally:
        compiler.close()
        compiler.close()
    assert result.success
    assert result.binary_path is not None
    assert result.binary_path.is_relative_to(tmp_path / "compile")
    assert compiler.architecture_reason


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


def test_a_flag_that_the_compiler_does_not_know_is_our_fault() -> None:
    with pytest.raises(RuntimeError, match="INVALID_OPTION"):
        nvrtc.compile_request(CompileRequest(VECTOR_ADD, "sm_90", ("--no-such-flag",), ()))


def test_a_flag_that_is_not_known_to_be_harmless_is_refused_at_the_start(
    make: Callable[..., CUDACompiler],
) -> None:
    with pytest.raises(ConfigError, match="'--no-such-flag' is not allowed"):
        make(extra_flags=("--no-such-flag",))


def test_a_cache_that_cannot_be_written_is_our_fault(
    make: Callable[..., CUDACompiler], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        make(cache_dir=tmp_path / "file" / "x").compile(VECTOR_ADD)


@needs_nvcc
def test_nvcc_has_the_last_word_where_nvrtc_cannot_know(make: Callable[..., CUDACompiler]) -> None:
    source = VECTOR_ADD + "int main() { return 0; }\n"
    assert not make().compile(source).success
    result = make(compiler="auto").compile(source)
    assert result.success
    assert result.compiler == "nvcc"
    assert result.resources[0].registers > 0
    assert result.ptx is not None
    assert '"kernel.cu"' in result.ptx
    assert make(compiler="auto").compile(source).from_cache


@needs_nvcc
def test_where_both_reject_nvrtcs_words_are_kept(make: Callable[..., CUDACompiler]) -> None:
    result = make(compiler="auto").compile('extern "C" __global__ void k(float* x) { x[0] = y; }')
    assert not result.success
    assert result.compiler == "nvrtc"


def test_a_broken_referee_does_not_take_nvrtcs_answer_away(
    make: Callable[..., CUDACompiler], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = fake_tool(tmp_path, "echo nvcc fatal: no host compiler; exit 1")
    monkeypatch.setattr(compiler_module, "usable_nvcc", lambda: (broken, "13.0"))
    compiler = make(compiler="auto")
    result = compiler.compile('extern "C" __global__ void k(float* x) { x[0] = y; }')
    assert result.compiler == "nvrtc"
    assert result.errors[0].message == 'identifier "y" is undefined'
    assert compiler.cache_stats.stored == 0


@needs_nvcc
def test_nvcc_alone_can_be_chosen(make: Callable[..., CUDACompiler]) -> None:
    compiler = make(compiler="nvcc")
    assert compiler.compile(TWO_KERNELS).kernel_names == ("first", "second")
    failed = compiler.compile('extern "C" __global__ void k(float* x) {\n  x[0] = y;\n}')
    assert failed.compiler == "nvcc"
    assert (failed.errors[0].line, failed.errors[0].column) == (2, 10)
    assembled = compiler.compile('extern "C" __global__ void k(float* x) { asm("foo.bar;"); }')
    assert "ptxas" in assembled.errors[0].message


def test_without_nvcc_choosing_it_says_what_to_install(
    make: Callable[..., CUDACompiler], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_module, "usable_nvcc", lambda: None)
    with pytest.raises(ToolchainMissingError, match="nvidia-cuda-nvcc"):
        make(compiler="nvcc")
    assert make(compiler="auto").compile(VECTOR_ADD).compiler == "nvrtc"


def test_an_architecture_nvrtc_does_not_know_is_refused(make: Callable[..., CUDACompiler]) -> None:
    with pytest.raises(ConfigError, match="sm_90"):
        make(architecture="sm_999")


def test_the_architecture_is_that_of_the_gpu(
    make: Callable[..., CUDACompiler], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = detect.Gpu(name="NVIDIA X", architecture="sm_80")
    monkeypatch.setattr(detect, "find_gpus", lambda: ("13.0", (gpu,), ""))
    compiler = make(architecture="auto")
    assert compiler.architecture == "sm_80"
    assert "NVIDIA X" in compiler.architecture_reason
    monkeypatch.setattr(detect, "find_gpus", lambda: (None, (), "no CUDA driver"))
    assert make(architecture="auto").architecture_reason == "the default: no CUDA driver"


def test_settings_that_make_no_sense_are_refused() -> None:
    for settings in ({"architecture": "90"}, {"timeout_s": 0}, {"workers": 0}, {"unknown": 1}):
        with pytest.raises(ValidationError):
            CompilerSettings.model_validate(settings)


BACKEND = Backend(name="nvrtc", toolkit="13.0", architecture="sm_90", function="f")


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ('identifier "y" is undefined', True),
        ('expected a ";"', False),
        ('at the end: expected a "}"', False),
        ("ptxas: too much shared data", False),
        ("the compiler ran out of memory", False),
        ("A function without execution space annotations", True),
    ],
)
def test_a_second_opinion_is_asked_where_it_may_differ(message: str, asked: bool) -> None:
    from coding_framework.records.compilation import Diagnostic

    result = interpret.refused(BACKEND, (Diagnostic(severity="error", message=message),))
    assert interpret.is_worth_a_second_opinion(result) is asked
    assert not interpret.is_worth_a_second_opinion(interpret.timed_out(BACKEND, 1.0))


def fake_tool(folder: Path, script: str) -> Path:
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def test_memory_failures_of_nvcc_are_recognised(tmp_path: Path) -> None:
    tool = fake_tool(tmp_path, 'echo "nvcc error: out of memory"; exit 1')
    with pytest.raises(MemoryError):
        nvcc.compile_request(CompileRequest(VECTOR_ADD, "sm_90", (), (), str(tool)))


def test_an_nvcc_that_does_not_run_is_a_missing_toolchain(tmp_path: Path) -> None:
    with pytest.raises(ToolchainMissingError, match="does not run"):
        nvcc.nvcc_version(tmp_path / "absent")
    with pytest.raises(ToolchainMissingError, match="does not name a release"):
        nvcc.nvcc_version(fake_tool(tmp_path, "echo hello"))


def test_compiling_does_not_block_the_event_loop(compiler: CUDACompiler) -> None:
    async def others_run_before_it_is_done() -> bool:
        task = asyncio.ensure_future(compiler.compile_kernel(VECTOR_ADD.replace("+", "*")))
        await asyncio.sleep(0)
        early = not task.done()
        await task
        return early

    assert asyncio.run(others_run_before_it_is_done())
    assert threading.active_count() < 50
