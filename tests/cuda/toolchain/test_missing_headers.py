"""A name that no header was included for is told with its header; by the real compilers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain.missing_headers import missing_headers
from coding_framework.cuda.verdicts import compile_error_words

KERNEL = 'extern "C" __global__ void k(float* y, int n) {\n  %s\n}\n'


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CUDACompiler]:
    folder: Path = tmp_path_factory.mktemp("cache")
    with CUDACompiler(CompilerSettings(architecture="sm_90", workers=1, cache_dir=folder)) as made:
        yield made


@pytest.mark.parametrize(
    ("line", "header", "name"),
    [
        ("__half h = __float2half(y[0]); y[1] = __half2float(h);", "cuda_fp16.h", "__half"),
        ("half2 h; y[0] = __low2float(h);", "cuda_fp16.h", "half2"),
        ("__nv_bfloat16 b = __float2bfloat16(y[0]);", "cuda_bf16.h", "__nv_bfloat16"),
        ("__nv_fp8_e4m3 e;", "cuda_fp8.h", "__nv_fp8_e4m3"),
        ("uint32_t i = threadIdx.x; y[i] = 0;", "cstdint", "uint32_t"),
        ("y[0] = -FLT_MAX;", "cfloat", "FLT_MAX"),
        (
            "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f;",
            "mma.h",
            "nvcuda",
        ),
        (
            "auto block = cooperative_groups::this_thread_block(); block.sync();",
            "cooperative_groups.h",
            "cooperative_groups",
        ),
        ("typedef cub::BlockReduce<float, 256> Reduce;", "cub/cub.cuh", "cub"),
    ],
)
def test_the_header_is_named_and_helps(compiler: CUDACompiler, line: str, header: str, name: str) -> None:
    source = KERNEL % line
    failed = compiler.compile(source)
    assert not failed.success
    assert missing_headers(failed.errors, source)[header] == name
    assert f"`{name}` needs `#include <{header}>`" in compile_error_words(failed, source)
    mended = f"#include <{header}>\n{source}"
    assert compiler.compile(mended).success


def test_what_is_included_is_not_asked_for_again(compiler: CUDACompiler) -> None:
    source = "#include <cuda_fp16.h>\n" + KERNEL % "y[0] = __hfoo(y[0]);"
    failed = compiler.compile(source)
    assert not failed.success
    assert "needs" not in compile_error_words(failed, source)


def test_what_is_included_is_not_missing_and_what_is_unknown_has_no_header(compiler: CUDACompiler) -> None:
    source = "#include <cstdint>\n" + KERNEL % "uint33_t i = 0; my_half h; thing::f();"
    failed = compiler.compile(source)
    assert not failed.success
    assert missing_headers(failed.errors, source) == {}
    assert "needs" not in compile_error_words(failed, source)


@pytest.mark.parametrize("header", ["cuda.h", "iostream", "string", "chrono"])
def test_headers_bring_what_they_bring_elsewhere_without_nvcc(compiler: CUDACompiler, header: str) -> None:
    built = compiler.compile(f"#include <{header}>\n" + KERNEL % "uint32_t i = threadIdx.x; y[i] = 0;")
    assert built.success
    assert built.compiler == "nvrtc"


def test_a_kernel_is_told_by_its_own_name(compiler: CUDACompiler) -> None:
    failed = compiler.compile("__global__ void blend(float4 q, float* y) { y[0] = q.x; }")
    assert "`blend` must be declared extern" in failed.errors[0].message


def test_an_instance_of_a_template_needs_another_kernel(compiler: CUDACompiler) -> None:
    template = "template <typename T> __global__ void twice(T* y) { y[0] *= 2; }\n"
    failed = compiler.compile(template + "template __global__ void twice<float>(float*);\n")
    assert "`twice` is a template" in failed.errors[0].message
    mended = template.replace("__global__", "__device__")
    assert compiler.compile(mended + 'extern "C" __global__ void k(float* y) { twice(y); }').success
