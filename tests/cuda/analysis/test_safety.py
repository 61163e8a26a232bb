"""Hangs, leaks, dangerous functions and resources: what is seen, and what is left alone."""

from __future__ import annotations

import pytest

from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.records import Finding

KERNEL = "__global__ void k(float* x, int* flag, volatile int* vflag, int n) {{\n{}\n}}"

ENDLESS = [
    "while (true) { x[0] += 1; }",
    "while (1);",
    "for (;;) { x[0] = 1; }",
    "do { x[0] = 1; } while (1);",
    "for (int i = 0; true; ++i) { x[i] = 0; }",
    "while (true) { for (int i = 0; i < 3; ++i) break; }",
    "while (true) { switch (n) { case 1: break; } }",
    "int i = 0; while (i < n) { x[i] = 0; }",
    "for (int i = 0; i < n;) { x[i] = 0; }",
    "for (int i = 0, j = 0; i < n; ++j) { x[j] = 0; }",
    "int go = 1; do { x[0] += 1; } while (go);",
    "for (int s = 0; s < n; s *= 2) { x[s] = 0; }",
    "for (int i = 0; i < n; i += 0) { x[i] = 0; }",
    "for (unsigned i = n; i >= 0; --i) { x[i] = 0; }",
    "for (unsigned int i = n; i >= 0; --i) { x[i] = 0; }",
]
SPINNING = [
    "while (flag[0] == 0) {}",
    "while (*flag != 1);",
    "__shared__ int ready; while (ready == 0) { }",
    "while (!flag[blockIdx.x]) { __threadfence_block; }",
]
ENDING = [
    "while (true) { if (x[0] > 1) break; x[0] += 1; }",
    "while (true) { if (n) return; }",
    "for (int i = 0; i < n; ++i) x[i] = 0;",
    "for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 0;",
    "for (int s = blockDim.x / 2; s > 0; s >>= 1) { __syncthreads(); }",
    "for (int s = 1; s < n; s *= 2) { x[s] = 0; }",
    "int i = 0; while (i < n) { x[i++] = 0; }",
    "int i = 0; while (i < n) { step(&i); }",
    "int i = 0; while (i < n) { i = next(i); }",
    "while (atomicCAS(flag, 0, 1) != 0) {}",
    "while (vflag[0] == 0) {}",
    "while (((volatile int*)flag)[0] == 0) {}",
    "while (n--) { x[n] = 0; }",
    "do { x[0] = 1; } while (0);",
    "for (unsigned i = n; i-- > 0;) { x[i] = 0; }",
    "auto grow = [&] { ++n; }; while (n < 5) { grow(); n += 1; }",
]


def findings(source: str, rule: str | None = None) -> list[Finding]:
    found = CUDASafetyAnalyzer().analyze(source, contract="extension").findings
    assert all(finding.category == "safety" and finding.suggestion for finding in found)
    return [finding for finding in found if rule is None or finding.rule == rule]


@pytest.mark.parametrize("code", ENDLESS)
def test_a_loop_without_an_exit_is_found(code: str) -> None:
    (finding,) = findings(KERNEL.format(code), "endless-loop")
    assert (finding.line, finding.severity) == (2, "error")


@pytest.mark.parametrize("code", SPINNING)
def test_waiting_on_plain_memory_is_found(code: str) -> None:
    assert [finding.line for finding in findings(KERNEL.format(code), "spin-wait")] == [2]


@pytest.mark.parametrize("code", ENDING)
def test_loops_that_end_are_left_alone(code: str) -> None:
    source = KERNEL.format(code)
    assert findings(source, "endless-loop") + findings(source, "spin-wait") == []


def test_a_loop_behind_a_macro_is_found_where_it_is_used() -> None:
    source = "#define FOREVER while (1)\n" + KERNEL.format("\nFOREVER { x[0] = 1; }")
    assert [finding.line for finding in findings(source, "endless-loop")] == [4]


@pytest.mark.parametrize(
    ("code", "leaks"),
    [
        ("float* p; cudaMalloc(&p, 4);", 1),
        ("float* p; cudaMalloc((void**)&p, 4); cudaFree(p);", 0),
        ("float* p; cudaMalloc(&p, 4); float* q; cudaMalloc(&q, 4); cudaFree(p);", 1),
        ("float* p = (float*)malloc(4);", 1),
        ("float* p = (float*)malloc(4); free(p);", 0),
        ("float* p; p = new float[4];", 1),
        ("float* p = new float[4]; delete[] p;", 0),
        ("std::unique_ptr<float[]> p(new float[4]);", 0),
        ("new (buffer) Thing();", 0),
        ("cudaStream_t s; cudaStreamCreate(&s);", 1),
        ("cudaEvent_t e; cudaEventCreate(&e); cudaEventDestroy(e);", 0),
    ],
)
def test_what_is_never_given_back_is_a_leak(code: str, leaks: int) -> None:
    assert len(findings(f"void f(void* buffer) {{ {code} }}", "leak")) == leaks


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("device-allocation", "float* p = (float*)malloc(4); free(p);"),
        ("device-allocation", "float* p = new float[4]; delete[] p;"),
        ("leak", "float* p = new float[4];"),
        ("kernel-print", 'printf("%d", n);'),
        ("kernel-abort", "assert(n > 0);"),
        ("kernel-abort", "__trap();"),
        ("device-clock", "long long t = clock64();"),
        ("device-sleep", "__nanosleep(100);"),
        ("launch-from-device", "k<<<1, 1>>>(x, flag, vflag, n);"),
        ("local-array", "float big[1024]; x[0] = big[n];"),
        ("shared-memory", "__shared__ float a[64][200]; x[0] = a[0][0];"),
        ("shared-memory", "__shared__ double a[64 * 1024]; x[0] = a[0];"),
    ],
)
def test_dangerous_device_code_is_found(rule: str, code: str) -> None:
    assert findings(KERNEL.format(code), rule)


@pytest.mark.parametrize(
    ("rule", "severity", "code"),
    [
        ("context-reset", "critical", "cudaDeviceReset();"),
        ("device-choice", "warning", "cudaSetDevice(1);"),
        ("device-limit", "error", "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);"),
        (
            "device-limit",
            "error",
            "attribute.accessPolicyWindow = w; cudaStreamSetAttribute(s, 1, &attribute);",
        ),
        ("process-end", "warning", "exit(1);"),
        ("host-sleep", "warning", "usleep(100);"),
    ],
)
def test_dangerous_host_code_is_found(rule: str, severity: str, code: str) -> None:
    assert severity in {finding.severity for finding in findings(f"void f() {{ {code} }}", rule)}


def test_the_same_words_on_the_other_side_are_fine() -> None:
    assert findings('void f() { printf("x"); assert(true); long t = clock(); }') == []
    assert (
        findings("__device__ float clock(float x) { return x; }\n" + KERNEL.format("x[0] = clock(1.f);"))
        == []
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__device__ int f(int n) { return n ? f(n - 1) : 0; }", 1),
        ("template <int N> __device__ int f(int n) { return f<N - 1>(n); }", 0),
        ("__device__ int f(int n) { return n; }\n__device__ int f(float n) { return f((int)n); }", 0),
        ("int f(int n) { return n ? f(n - 1) : 0; }", 0),
    ],
)
def test_recursion_on_the_device_is_found(source: str, expected: int) -> None:
    assert len(findings(source, "recursion")) == expected


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("launch-bounds", "__global__ void __launch_bounds__(2048) k(float* x) { x[0] = 1; }"),
        ("launch-bounds", "constexpr int T = 64 * 32;\n__global__ void __launch_bounds__(T) k(float* x) {}"),
        ("global-array", "__device__ float big[1 << 28];"),
        ("global-array", "__constant__ float big[1 << 20];"),
    ],
)
def test_resources_that_no_device_has_are_found(rule: str, source: str) -> None:
    assert [finding.rule for finding in findings(source, rule)] == [rule]


def test_shared_arrays_of_one_kernel_add_up_and_those_of_two_do_not() -> None:
    one = "__global__ void {}(float* x) {{ __shared__ float a[10000]; x[0] = a[0]; {} }}"
    assert findings(one.format("a", ""), "shared-memory") == []
    assert findings(one.format("a", "") + "\n" + one.format("b", ""), "shared-memory") == []
    assert findings(one.format("a", "__shared__ float b[10000]; x[1] = b[0];"), "shared-memory")


def test_what_could_not_be_analysed_is_said() -> None:
    assert [finding.rule for finding in findings("struct->decltypea<b*" * 9_000)] == ["unparsable"]
