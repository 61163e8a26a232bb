"""The usage snippet of the README, and what can go wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.cuda.analysis.signature import kernel_signatures
from coding_framework.cuda.benchmarker import CUDABenchmarker
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.tasks import get_task
from coding_framework.errors import UserError


@pytest.fixture(scope="module")
def compiler() -> Iterator[CUDACompiler]:
    with CUDACompiler() as made:
        yield made


@pytest.fixture(scope="module")
def benchmarker() -> Iterator[CUDABenchmarker]:
    with CUDABenchmarker() as made:
        yield made


async def test_compile_then_benchmark_as_the_readme_shows() -> None:
    kernel_code = get_task("vector_add").baseline
    compiler = CUDACompiler()
    benchmarker = CUDABenchmarker()

    result = await compiler.compile_kernel(kernel_code)
    assert result.success
    assert result.binary_path is not None
    benchmark = await benchmarker.benchmark_kernel(result.binary_path, result.kernel_name)

    assert benchmark.kind == "modelled"
    assert benchmark.median_us > 0
    assert benchmark.dimensions == {"n": 65_536}
    compiler.close()
    benchmarker.close()


async def test_a_task_gives_the_shapes(compiler: CUDACompiler, benchmarker: CUDABenchmarker) -> None:
    task = get_task("matmul")
    result = compiler.compile(task.baseline)
    assert result.binary_path is not None
    small = await benchmarker.benchmark_kernel(
        result.binary_path, result.kernel_name, task=task, dimensions=task.visible_shapes[0]
    )
    whole = await benchmarker.benchmark_kernel(result.binary_path, result.kernel_name, task=task)
    assert whole.dimensions == task.timing_shape
    assert small.median_us <= whole.median_us


async def test_a_scratch_buffer_that_is_also_a_parameter_needs_a_task(
    compiler: CUDACompiler, benchmarker: CUDABenchmarker
) -> None:
    result = compiler.compile("""
// scratch: partial float32[rows]
// launch: sums grid=(rows) block=(32) args=(x, y, partial, rows, cols)
extern "C" __global__ void sums(const float* x, float* y, float* partial, int rows, int cols) {
    if (threadIdx.x == 0) { partial[blockIdx.x] = x[blockIdx.x]; y[blockIdx.x] = partial[blockIdx.x]; }
}
""")
    assert result.binary_path is not None
    with pytest.raises(UserError, match="is taken"):
        await benchmarker.benchmark_kernel(result.binary_path, "sums")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('extern "C" __global__ void k(float* y, int n) {}', "const inputs and non-const outputs"),
        ('extern "C" __global__ void k(const double* x, float* y, int n) {}', "pointer to double"),
        ('extern "C" __global__ void k(const float* x, float* y, int n) {}', "no launch plan"),
        (
            "// launch: k grid=(n) block=(32)\n"
            'extern "C" __global__ void k(const float* x, float* y, int n) { y[n + 7] = x[0]; }',
            "failed on {'n': 65536}",
        ),
    ],
)
async def test_what_cannot_be_timed_says_why(
    compiler: CUDACompiler, benchmarker: CUDABenchmarker, source: str, complaint: str
) -> None:
    result = compiler.compile(source)
    assert result.binary_path is not None, result.errors
    with pytest.raises(UserError) as caught:
        await benchmarker.benchmark_kernel(result.binary_path, "k")
    assert complaint in str(caught.value)


async def test_a_kernel_or_binary_that_is_not_there_is_named(
    compiler: CUDACompiler, benchmarker: CUDABenchmarker, tmp_path: Path
) -> None:
    result = compiler.compile(get_task("scale").baseline)
    assert result.binary_path is not None
    with pytest.raises(UserError, match="has no kernel `nothing`; it has: scale"):
        await benchmarker.benchmark_kernel(result.binary_path, "nothing")
    with pytest.raises(UserError, match="is not a binary of CUDACompiler"):
        await benchmarker.benchmark_kernel(tmp_path / "a.cubin", "scale")


async def test_dimensions_that_do_not_fit_are_refused(
    compiler: CUDACompiler, benchmarker: CUDABenchmarker
) -> None:
    result = compiler.compile(get_task("scale").baseline)
    assert result.binary_path is not None
    with pytest.raises(UserError, match="do not fit: name exactly n"):
        await benchmarker.benchmark_kernel(result.binary_path, "scale", dimensions={"m": 4})


def test_signatures_are_read_from_the_syntax_tree() -> None:
    first, second = kernel_signatures("""
extern "C" __global__ void __launch_bounds__(256) add(const float* __restrict__ a, float *b, unsigned m) {}
__device__ float helper(float x) { return x; }
extern "C" { __global__ void none() {} }
""")
    assert first.name == "add"
    assert [(p.name, p.type, p.is_pointer, p.is_const) for p in first.parameters] == [
        ("a", "float", True, True),
        ("b", "float", True, False),
        ("m", "unsigned", False, False),
    ]
    assert (second.name, second.parameters) == ("none", ())
