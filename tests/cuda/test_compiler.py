"""What `CUDACompiler` answers: real NVRTC, real workers, a real cache."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from compiler_sources import TWO_KERNELS, VECTOR_ADD

from coding_framework.cuda.compiler import CompilationResult, CUDACompiler
from coding_framework.cuda.toolchain import nvrtc


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


def test_compiling_does_not_block_the_event_loop(compiler: CUDACompiler) -> None:
    async def others_run_before_it_is_done() -> bool:
        task = asyncio.ensure_future(compiler.compile_kernel(VECTOR_ADD.replace("+", "*")))
        await asyncio.sleep(0)
        early = not task.done()
        await task
        return early

    assert asyncio.run(others_run_before_it_is_done())
    assert threading.active_count() < 50
