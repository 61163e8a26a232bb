"""Sums of floats by atomics are found in real PTX; other uses of atomics are not."""

from __future__ import annotations

import pytest

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.float_atomics import adds_floats_atomically

KERNEL = """#include <cuda_fp16.h>
extern "C" __global__ void k(TYPE* y, const float* x, int* lock) {
  float v = x[threadIdx.x];
  BODY
}"""
LOOP = """BITS* p = (BITS*)y; BITS old = *p, seen;
  do { seen = old; old = atomicCAS(p, seen, NEW); } while (seen != old);"""
FLOAT = LOOP.replace("BITS", "int").replace("NEW", "__float_as_int(NEW)")
LONG = LOOP.replace("BITS", "unsigned long long").replace("NEW", "__double_as_longlong(NEW)")
SHORT = LOOP.replace("BITS", "unsigned short").replace("NEW", "__half_as_ushort(NEW)")


def _finds(compiler: CUDACompiler, element: str, body: str) -> bool:
    result = compiler.compile(KERNEL.replace("TYPE", element).replace("BODY", body))
    assert result.ptx is not None, result
    return adds_floats_atomically(result.ptx)


@pytest.mark.parametrize(
    ("element", "body"),
    [
        ("float", "atomicAdd(y, v);"),
        ("float", FLOAT.replace("NEW", "v + __int_as_float(seen)")),
        ("float", FLOAT.replace("NEW", "v * v + __int_as_float(seen)")),
        ("float", FLOAT.replace("NEW", "__int_as_float(seen) - v")),
        ("double", LONG.replace("NEW", "v + __longlong_as_double(seen)")),
        ("__half", SHORT.replace("NEW", "__float2half(v) + __ushort_as_half(seen)")),
    ],
    ids=["atomicAdd", "float", "product", "difference", "double", "half"],
)
def test_a_sum_of_floats_by_atomics_is_found(compiler: CUDACompiler, element: str, body: str) -> None:
    assert _finds(compiler, element, body)


@pytest.mark.parametrize(
    "body",
    [
        "y[0] = v + 1.0f; atomicAdd(lock, 1);",
        FLOAT.replace("NEW", "fmaxf(v + 1.0f, __int_as_float(seen))"),
        "while (atomicCAS(lock, 0, 1) != 0) { } y[0] += v; atomicExch(lock, 0);",
        "y[0] = v + 1.0f; atomicCAS(lock, 0, (int)(v + 2.0f));",
        "int seen = *lock; while (atomicCAS(lock, seen, seen + 1) != seen) { seen++; } y[0] = v + 1.0f;",
    ],
    ids=["count", "maximum", "lock", "number", "sum of integers"],
)
def test_other_atomics_beside_a_sum_are_none(compiler: CUDACompiler, body: str) -> None:
    assert not _finds(compiler, "float", body)


def test_registers_of_another_kernel_say_nothing() -> None:
    adds = ".entry a() { add.f32 %f1, %f2, %f3; mov.b32 %r1, %f1; st.global.u32 [%rd1], %r1; }\n"
    locks = ".entry b() { atom.global.cas.b32 %r3, [%rd1], %r2, %r1; }\n"
    assert not adds_floats_atomically(adds + locks)
    assert adds_floats_atomically(adds.replace("}", "atom.global.cas.b32 %r3, [%rd1], %r2, %r1; }"))
