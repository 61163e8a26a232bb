"""Every way in which a kernel can go wrong, and what the verdict says."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_support import compile_ptx, launch, run, run_ok

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, FaultKind

F32 = np.float32


def _fault(
    source: str, *launches: object, buffers: dict[str, np.ndarray], **options: object
) -> ExecutionFault:
    outcome = run(source, *launches, buffers=buffers, **options)  # type: ignore[arg-type]
    assert outcome.fault is not None
    return outcome.fault


COPY = """extern "C" __global__ void k(const float* x, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = x[i + n];
}"""


def _copy_buffers() -> dict[str, np.ndarray]:
    return {"x": np.ones(100, F32), "o": np.zeros(128, F32)}


def test_a_read_past_the_end_names_buffer_index_size_thread_and_line() -> None:
    fault = _fault(COPY, launch("k", 2, 64, "x", "o", 0), buffers=_copy_buffers())
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert fault.source_line == 3
    for words in ("read", "element 100 of `x`", "100 elements", "block (1,0,0), thread (36,0,0)"):
        assert words in fault.message


def test_a_negative_index_names_the_buffer_it_belongs_to() -> None:
    fault = _fault(COPY, launch("k", 1, 64, "x", "o", -3), buffers=_copy_buffers())
    assert "element -3 of `x`" in fault.message


def test_a_write_past_the_end_is_a_write() -> None:
    buffers = {"x": np.ones(200, F32), "o": np.zeros(100, F32)}
    fault = _fault(COPY, launch("k", 2, 64, "x", "o", 0), buffers=buffers)
    assert "write: element 100 of `o`" in fault.message


def test_a_null_pointer_has_its_own_words() -> None:
    source = 'extern "C" __global__ void k(float* o, long long p) { float* q = (float*)p; *q = 1.0f; }'
    fault = _fault(source, launch("k", 1, 32, "o", 0), buffers={"o": np.zeros(1, F32)})
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert "null pointer" in fault.message


def test_an_address_far_from_everything_says_so() -> None:
    source = 'extern "C" __global__ void k(float* o, long long p) { float* q = (float*)p; *q = 1.0f; }'
    fault = _fault(source, launch("k", 1, 32, "o", 1 << 53), buffers={"o": np.zeros(1, F32)})
    assert "far from every buffer" in fault.message


def test_shared_memory_overrun() -> None:
    source = """extern "C" __global__ void k(float* o, int n) {
  __shared__ float s[32];
  s[threadIdx.x + n] = 1.0f;
  o[threadIdx.x] = s[threadIdx.x];
}"""
    fault = _fault(source, launch("k", 1, 32, "o", 1), buffers={"o": np.zeros(32, F32)})
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert fault.source_line == 3
    assert "byte offset 128" in fault.message
    assert "128 bytes of shared memory" in fault.message


def test_missing_dynamic_shared_memory_says_what_to_set() -> None:
    source = """extern __shared__ float s[];
extern "C" __global__ void k(float* o) {
  s[threadIdx.x] = 1.0f; __syncthreads(); o[threadIdx.x] = s[31 - threadIdx.x];
}"""
    fault = _fault(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, F32)})
    assert "shared=" in fault.message


def test_local_array_overrun() -> None:
    source = """extern "C" __global__ void k(int* o, int n) {
  int a[4];
  for (int i = 0; i < n; i++) a[i] = i * o[i];
  o[0] = a[o[1] & 3];
}"""
    fault = _fault(source, launch("k", 1, 1, "o", 64), buffers={"o": np.zeros(64, np.int32)})
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert "local" in fault.message


def test_a_misaligned_vector_access() -> None:
    source = """extern "C" __global__ void k(const float* x, float* o, int n) {
  float4 v = *(const float4*)(x + threadIdx.x * n + 1);
  o[threadIdx.x] = v.x + v.y + v.z + v.w;
}"""
    buffers = {"x": np.zeros(400, F32), "o": np.zeros(32, F32)}
    fault = _fault(source, launch("k", 1, 32, "x", "o", 4), buffers=buffers)
    assert fault.kind is FaultKind.MISALIGNED
    assert fault.source_line == 2
    assert "multiple of 16" in fault.message


def test_a_misaligned_shared_access() -> None:
    source = """extern "C" __global__ void k(float* o, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x; __syncthreads();
  float2 v = *(float2*)(s + threadIdx.x + n);
  o[threadIdx.x] = v.x + v.y;
}"""
    fault = _fault(source, launch("k", 1, 32, "o", 1), buffers={"o": np.zeros(32, F32)})
    assert fault.kind is FaultKind.MISALIGNED


def test_writing_to_constant_memory_is_refused() -> None:
    source = """__constant__ int c[4];
extern "C" __global__ void k(int* o, int n) { int* p = n ? o : (int*)c; p[threadIdx.x] = 1; }"""
    fault = _fault(source, launch("k", 1, 4, "o", 0), buffers={"o": np.zeros(4, np.int32)})
    assert "__constant__" in fault.message


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (1, 2048, "limit is 1024"),
        (1, (64, 32), "2048 threads"),
        (1, (1, 1, 128), "limit is 64"),
        (1, (0, 1), "at least 1"),
        ((1, 70000), 32, "between 1 and 65535"),
        ((0, 1), 32, "between 1"),
    ],
)
def test_a_launch_that_the_driver_refuses(grid: object, block: object, words: str) -> None:
    fault = _fault(COPY, launch("k", grid, block, "x", "o", 0), buffers=_copy_buffers())  # type: ignore[arg-type]
    assert fault.kind is FaultKind.INVALID_LAUNCH
    assert words in fault.message


def test_launch_bounds_are_kept() -> None:
    source = 'extern "C" __global__ void __launch_bounds__(64) k(int* o) { o[threadIdx.x] = 1; }'
    fault = _fault(source, launch("k", 1, 128, "o"), buffers={"o": np.zeros(128, np.int32)})
    assert "__launch_bounds__ says 64" in fault.message


@pytest.mark.parametrize(
    ("registers", "most"), [(64, 1024), (65, 896), (80, 768), (128, 512), (168, 384), (255, 256)]
)
def test_a_block_with_more_registers_than_an_sm_is_refused(registers: int, most: int) -> None:
    def outcome(threads: int) -> ExecutionOutcome:
        the_launch = launch("k", 1, threads, "x", "o", 0)
        return run(COPY, the_launch, buffers=_copy_buffers(), registers={"k": registers})

    fits = outcome(most)
    assert fits.fault is None or fits.fault.kind is not FaultKind.INVALID_LAUNCH
    if most < 1024:
        fault = outcome(most + 32).fault
        assert fault is not None
        assert fault.kind is FaultKind.INVALID_LAUNCH
        assert f"blocks of {most} threads at the most" in fault.message
        assert f"{registers} registers a thread" in fault.message


CLUSTERED = 'extern "C" __global__ void CLUSTER k(int* o) { o[blockIdx.x + 8 * blockIdx.y] = 1; }'


@pytest.mark.parametrize(
    ("cluster", "grid", "words"),
    [
        ("__cluster_dims__(4, 1, 1)", 6, "no multiple of the cluster (4, 1, 1)"),
        ("__cluster_dims__(2, 2, 1)", (8, 3), "no multiple of the cluster (2, 2, 1)"),
        ("__cluster_dims__(16, 1, 1)", 16, "has 16 blocks; the limit is 8"),
        ("__cluster_dims__(3, 3, 1)", (3, 3), "has 9 blocks; the limit is 8"),
        ("__cluster_dims__()", 4, "does not say how large"),
        ("__block_size__((64, 1, 1))", 4, "__block_size__ says (64, 1, 1)"),
    ],
)
def test_a_launch_that_does_not_fit_the_clusters_is_refused(cluster: str, grid: object, words: str) -> None:
    the_launch = launch("k", grid, 32, "o")  # type: ignore[arg-type]
    fault = _fault(CLUSTERED.replace("CLUSTER", cluster), the_launch, buffers={"o": np.zeros(64, np.int32)})
    assert fault.kind is FaultKind.INVALID_LAUNCH
    assert words in fault.message


@pytest.mark.parametrize(
    ("cluster", "grid", "num_blocks"),
    [
        ("__cluster_dims__(4, 1, 1)", 8, 8),
        ("__cluster_dims__(2, 4, 1)", (2, 4), 8),
        ("__block_size__((32, 1, 1))", 3, 3),
        ("__block_size__((32, 1, 1), (2, 2, 1))", (3, 2), 24),
        ("__launch_bounds__(32, 1, 8)", 3, 3),
    ],
    ids=["a multiple", "as large as allowed", "without", "a grid of clusters", "only a bound"],
)
def test_clusters_that_fit_run(cluster: str, grid: object, num_blocks: int) -> None:
    the_launch = launch("k", grid, 32, "o")  # type: ignore[arg-type]
    outcome = run(CLUSTERED.replace("CLUSTER", cluster), the_launch, buffers={"o": np.zeros(64, np.int32)})
    assert outcome.fault is None
    assert outcome.buffers["o"].sum() == num_blocks


def test_too_much_shared_memory() -> None:
    static = """extern "C" __global__ void k(float* o) {
  __shared__ float s[13000]; s[threadIdx.x] = 0; __syncthreads(); o[threadIdx.x] = s[threadIdx.x ^ 1]; }"""
    fault = _fault(static, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, F32)})
    assert "52000 bytes of static shared memory" in fault.message
    fault = _fault(COPY, launch("k", 1, 32, "x", "o", 0, shared=240_000), buffers=_copy_buffers())
    assert "the limit is 232448" in fault.message
    fault = _fault(COPY, launch("k", 1, 32, "x", "o", 0, shared=-1), buffers=_copy_buffers())
    assert "negative" in fault.message


def test_an_unknown_kernel_lists_the_known_ones() -> None:
    fault = _fault(COPY, launch("nope", 1, 32), buffers={})
    assert fault.kind is FaultKind.INVALID_LAUNCH
    assert "kernels: k" in fault.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x", "o"), "takes 3 parameters"),
        (("x", "o", "x"), "passes the buffer `x`"),
        (("x", "nope", 3), "does not exist"),
        (("x", "o", 1 << 40), "does not fit"),
    ],
)
def test_wrong_arguments(arguments: tuple[str | int, ...], words: str) -> None:
    fault = _fault(COPY, launch("k", 1, 32, *arguments), buffers=_copy_buffers())
    assert fault.kind is FaultKind.INVALID_LAUNCH
    assert words in fault.message
    assert "64-bit (pointer or long long)" in fault.message or "argument" in fault.message


def test_a_struct_by_value_cannot_be_launched() -> None:
    source = """struct S { float a[4]; };
extern "C" __global__ void k(float* o, S s) { o[threadIdx.x] = s.a[threadIdx.x & 3]; }"""
    fault = _fault(source, launch("k", 1, 32, "o", 3), buffers={"o": np.zeros(32, F32)})
    assert "16-byte struct" in fault.message


def test_an_endless_loop_ends_at_its_line() -> None:
    source = """extern "C" __global__ void k(volatile int* o) {
  int i = threadIdx.x;
  while (o[0] == 0) {
    i++;
  }
  o[1] = i;
}"""
    fault = _fault(
        source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(2, np.int32)}, instruction_limit=1_000_000
    )
    assert fault.kind is FaultKind.TIMEOUT
    assert fault.source_line == 3


def test_threads_at_different_barriers_deadlock() -> None:
    source = """extern "C" __global__ void k(int* o) {
  if (threadIdx.x < 32) {
    while (((volatile int*)o)[0] == 0) __syncwarp();
  }
  __syncthreads();
  o[0] = 1;
}"""
    fault = _fault(
        source, launch("k", 1, 64, "o"), buffers={"o": np.zeros(1, np.int32)}, instruction_limit=3_000_000
    )
    assert fault.kind is FaultKind.TIMEOUT
    named = """extern "C" __global__ void k(int* o) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  o[0] = 1;
}"""
    fault = _fault(named, launch("k", 1, 64, "o"), buffers={"o": np.zeros(1, np.int32)})
    assert fault.kind is FaultKind.DEADLOCK
    assert {fault.source_line, fault.other_line} == {3, 5}


COUNTED = """extern "C" __global__ void k(int* o, int count) {
  if (threadIdx.x >= 64) return;
  asm volatile("bar.sync 1, %0;" :: "r"(count) : "memory");
  o[threadIdx.x] = 1;
}"""


@pytest.mark.parametrize(("threads", "count"), [(64, 96), (64, 1024), (48, 96), (96, 128), (64, 2**31)])
def test_a_barrier_for_more_threads_than_the_block_has_deadlocks(threads: int, count: int) -> None:
    fault = _fault(COUNTED, launch("k", 2, threads, "o", count), buffers={"o": np.zeros(96, np.int32)})
    assert fault.kind is FaultKind.DEADLOCK
    assert fault.source_line == 3
    assert f"waits for {count} threads" in fault.message


@pytest.mark.parametrize(("threads", "count"), [(64, 64), (48, 64), (96, 96)])
def test_a_barrier_for_the_whole_block_is_passed(threads: int, count: int) -> None:
    """The last warp may be in part, and threads that have ended count."""
    buffers = {"o": np.zeros(96, np.int32)}
    out = run_ok(COUNTED, launch("k", 2, threads, "o", count), buffers=buffers)["o"]
    assert out.sum() == min(threads, 64)


def test_a_shuffle_that_names_absent_lanes_deadlocks() -> None:
    source = """extern "C" __global__ void k(float* o) {
  float v = o[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffffff, v, 1);
  __syncthreads();
  o[threadIdx.x] = v;
}"""
    fault = _fault(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, F32)})
    assert fault.kind is FaultKind.DEADLOCK
    assert "names threads that do not reach it" in fault.message


def test_a_failed_assertion_and_a_trap_are_faults() -> None:
    source = """#include <cassert>
extern "C" __global__ void k(int* o) {
  assert(o[threadIdx.x] == 0);
  printf("%d\\n", o[0]);
  if (o[0] == 5) __trap();
  o[threadIdx.x] = 2;
}"""
    source = source.replace("#include <cassert>\n", "")
    ok = run(source, launch("k", 1, 32, "o"), buffers={"o": np.zeros(32, np.int32)})
    assert ok.fault is None
    fault = _fault(source, launch("k", 1, 32, "o"), buffers={"o": np.arange(32, dtype=np.int32)})
    assert "assertion failed" in fault.message
    assert "thread (1,0,0)" in fault.message
    trap = 'extern "C" __global__ void k(int* o) { if (o[threadIdx.x] == 5) __trap(); o[threadIdx.x] = 2; }'
    fault = _fault(trap, launch("k", 1, 32, "o"), buffers={"o": np.arange(32, dtype=np.int32)})
    assert "thread (5,0,0)" in fault.message


def test_an_unknown_instruction_is_unsupported_with_its_text() -> None:
    ptx = compile_ptx(COPY).replace("bra", "frobnicate", 0).replace("cvta.to.global.u64", "frobnicate.u64", 1)
    fault = _fault(ptx, launch("k", 1, 32, "x", "o", 0), buffers=_copy_buffers())
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "frobnicate.u64" in fault.message


def test_recursion_and_function_pointers_are_unsupported() -> None:
    recursion = """__device__ __noinline__ int f(int n, int* p) {
  return n < 2 ? p[n] : f(n - 1, p) + f(n - 2, p) * p[n];
}
extern "C" __global__ void k(int* o, int n) { o[threadIdx.x] = f(n, o); }"""
    fault = _fault(recursion, launch("k", 1, 1, "o", 5), buffers={"o": np.zeros(8, np.int32)})
    assert fault.kind is FaultKind.UNSUPPORTED
    assert "recursive" in fault.message
    pointer = """typedef int (*F)(int);
__device__ __noinline__ int a(int x) { return x + 1; }
__device__ __noinline__ int b(int x) { return x + 2; }
extern "C" __global__ void k(int* o, int n) { F f = n ? a : b; o[threadIdx.x] = f(o[0]); }"""
    fault = _fault(pointer, launch("k", 1, 1, "o", 5), buffers={"o": np.zeros(8, np.int32)})
    assert fault.kind is FaultKind.UNSUPPORTED


def test_text_that_is_no_ptx_is_unsupported() -> None:
    fault = _fault(".version 9.0\n.visible .entry (\n", launch("k", 1, 1), buffers={"o": np.zeros(1, F32)})
    assert fault.kind is FaultKind.UNSUPPORTED


def test_what_was_written_before_a_fault_is_kept_and_inputs_are_copied() -> None:
    x = np.ones(100, F32)
    outcome = run(COPY, launch("k", 2, 64, "x", "o", 0), buffers={"x": x, "o": np.zeros(128, F32)})
    assert outcome.fault is not None
    assert outcome.counters == ()
    assert outcome.buffers["x"] is not x
