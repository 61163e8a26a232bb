"""Honest sources, and words in strings and comments: no critical finding, ever."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.data.tasks import all_tasks, variants
from coding_framework.data.templates.drawing import draw_style
from coding_framework.data.templates.synthetic import draw_synthetic_task
from coding_framework.records import Finding

ROOT = Path(__file__).resolve().parents[3]
ARCHIVE = ROOT.parent / "shared" / "data" / "sakana_subset.jsonl"
SOURCES = {f"{task.name}/baseline": task.baseline for task in all_tasks()}
SOURCES |= {f"{t.name}/{at}": v.source for t in all_tasks() for at, v in enumerate(variants(t.name))}
SOURCES |= {
    path.stem: path.read_text() for path in sorted((ROOT / "tests/cuda/parity").glob("accepted*/*.cu"))
}

HONEST = [
    "float signal = x[0]; float open = 1, read = 2; x[0] = signal + open + read;",
    "int system = n; x[system - 1] = 0;",
    "auto write = [&](int i, float v) { x[i] = v; }; write(0, 1.f);",
    'asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x[0]) : "l"(x));',
    'asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\\n" ::"r"(n), "l"(x));',
    'asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%1};" : "=f"(x[0]) : "r"(n));',
    'asm("{ .reg .pred p; setp.lt.s32 p, %1, 3; selp.f32 %0, 1.0, 0.0, p; }" : "=f"(x[0]) : "r"(n));',
    'asm("add.s32 %[to], %[a], 1;" : [to] "=r"(n) /* CUDA */ : [a] "r"(static_cast<int>(n)) : "memory");',
    "float4 v = reinterpret_cast<float4*>(x)[0]; x[0] = v.x;",
    "float* p = nullptr; float* q = (float*)0; x[0] = p == q;",
    "char* bytes = (char*)x + 16; x[0] = *(float*)(bytes + 4);",
    "x[0] = __int_as_float(0x7f800000);",
    "__shared__ float tile[32][33]; tile[0][0] = x[0]; x[1] = tile[0][0];",
    "#pragma unroll 4\nfor (int i = 0; i < 4; ++i) x[i] = 0;",
    'const char* s = "system(\\"ls\\"); #include </etc/passwd>"; x[0] = s[0];',
    '/* system("ls"); fork(); \u200b\n#include </etc/passwd> */ // mmap(0) ??/ asm("call f;")\n x[0] = 1;',
    'const char* s = R"(dlopen("x"))"; x[0] = s[0];',
    "int big = 1'000'000; x[0] = big;",
]

WHOLE = [
    "#define CAT(a, b) a##b\n#define KERNEL(n) CAT(kernel_, n)\n__global__ void KERNEL(one)(float* x) {}",
    '#define cudaCheck(x) do { if ((x) != 0) printf("%s", #x); } while (0)\nvoid f() { cudaCheck(1); }',
    "#define cudaErrorCheck(x) (x)\n#define cudaSafeCall(x) (x)\n#define cuCheck(x) (x)\nint a = cuCheck(1);",
    '#define CHECK(x) do { if ((x) != 0) printf("%s", #x); } while (0)\nvoid f() { CHECK(1); }',
    "#if __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\n#endif\nint a;",
    '#include <iostream>\n#include <cuda/std/array>\n#include "cuda_runtime.h"\nint a;',
    "__device__ unsigned int done = 0;\n__constant__ float c[16384];\nconst __device__ float t[99999];",
    "__device__ __forceinline__ float clock(float x) { return x; }\n__device__ void read(float* x) {}",
    "struct File { int open(int a) { return a; } };\nvoid f(File g) { g.open(1); }",
    "torch::Tensor f(torch::Tensor x) { return x.clone().contiguous().index({0}); }",
]


def critical(source: str, contract: str = "kernel") -> list[Finding]:
    report = SecurityValidator().validate(source, contract=contract)  # type: ignore[arg-type]
    found = CUDASafetyAnalyzer().analyze(source, contract=contract).findings  # type: ignore[arg-type]
    return [finding for finding in (*report.findings, *found) if finding.severity == "critical"]


@pytest.mark.parametrize("name", SOURCES)
def test_the_catalogue_and_the_accepted_corpus_raise_no_alarm(name: str) -> None:
    assert critical(SOURCES[name]) == []


@pytest.mark.parametrize("seed", range(40))
def test_kernels_drawn_from_the_templates_have_no_finding(seed: int) -> None:
    rng = random.Random(seed)
    drawn = draw_synthetic_task(rng, ())
    style = draw_style(rng)
    for source in (drawn.kernel(style), drawn.optimised_kernel(style) or ""):
        assert SecurityValidator().validate(source).findings == ()
        assert CUDASafetyAnalyzer().analyze(source).findings == ()


@pytest.mark.parametrize("code", HONEST)
def test_honest_kernel_code_raises_no_alarm(code: str) -> None:
    source = f'extern "C" __global__ void k(float* x, int n) {{\n{code}\n}}'
    assert critical(source) == []


@pytest.mark.parametrize("source", WHOLE)
def test_honest_sources_raise_no_alarm(source: str) -> None:
    assert critical(source, "extension") == []


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the archive's rows are not on this machine")
def test_no_source_of_the_archive_raises_an_alarm() -> None:
    rows = [json.loads(line)["CUDA_Code"] for line in ARCHIVE.read_text().splitlines()]
    assert len(rows) == 102
    assert {at: found for at, row in enumerate(rows) if (found := critical(row, "extension"))} == {}


@pytest.mark.parametrize("header", ["cuComplex.h", "cuda_fp16.h", "math_constants.h"])
def test_a_header_of_the_toolkit_has_no_finding(header: str) -> None:
    source = f'#include <{header}>\nextern "C" __global__ void k(float* x) {{ x[0] = 1.0f; }}'
    assert SecurityValidator().validate(source).findings == ()


def test_a_device_lambda_may_hold_assembly() -> None:
    source = (
        'void f() { auto g = [] __device__(float v) { asm("max.f32 %0, %0, 0.0;" : "+f"(v)); return v; }; }'
    )
    assert critical(source, "extension") == []


def test_a_clean_kernel_has_no_risk() -> None:
    report = SecurityValidator().validate(all_tasks()[0].baseline)
    assert (report.findings, report.risk_score, report.is_safe) == ((), 0.0, True)
