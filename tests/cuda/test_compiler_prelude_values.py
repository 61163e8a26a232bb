"""What the prelude's overloads compute, run on the emulator from the PTX that NVRTC made."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.executors.base import BufferArgument, ExecutionRequest, ResolvedLaunch
from coding_framework.cuda.executors.isolated import EmulatorExecutor

EXPECTED = {
    "max(0, x)": 0.0,
    "max(0, y)": 4.0,
    "min(x, 1)": -2.5,
    "max(u, -1.5f)": 3.0,
    "max(ll, n)": 7.0,
    "min(u, ll)": 3.0,
    "sqrt(2)": math.sqrt(2),
    "exp(n)": math.exp(5),
    "pow(n, 2)": 25.0,
    "pow(x, 2.0)": 6.25,
    "fma(x, 2.0, y)": -1.0,
    "atan2(n, n)": math.pi / 4,
    "copysign(y, -1)": -4.0,
    "abs(x)": 2.5,
    "std::abs(-n)": 5.0,
    "std::max(x, y)": 4.0,
    "std::min(n, 3)": 3.0,
    "std::max({1.0f, y, x})": 4.0,
    "std::numeric_limits<float>::lowest()": -3.40282347e38,
    "std::numeric_limits<int>::max()": 2147483647.0,
    "INFINITY": math.inf,
    "std::isnan(NAN)": 1.0,
    "isless(1, 2)": 1.0,
}


def test_every_overload_gives_the_value_c_would(tmp_path: Path) -> None:
    lines = "".join(f"  o[{index}] = {text};\n" for index, text in enumerate(EXPECTED))
    head = 'extern "C" __global__ void k(const float* a, float* o, int n, long long ll, unsigned u) {\n'
    source = f"{head}  float x = a[0], y = a[1];\n{lines}}}"
    settings = CompilerSettings(compiler="nvrtc", architecture="sm_90", workers=1, cache_dir=tmp_path)
    with CUDACompiler(settings) as compiler:
        ptx = compiler.compile(source).ptx
    assert ptx is not None
    buffers = {"a": np.array([-2.5, 4], np.float32), "o": np.full(len(EXPECTED), np.nan, np.float32)}
    arguments = (BufferArgument("a"), BufferArgument("o"), 5, 7, 3)
    launch = ResolvedLaunch("k", (1, 1, 1), (1, 1, 1), 0, arguments)
    with EmulatorExecutor(memory_limit_bytes=2 * 2**30) as executor:
        outcome = executor.run(ExecutionRequest(ptx, (launch,), buffers), timeout_s=30)
    assert outcome.fault is None
    np.testing.assert_allclose(outcome.buffers["o"], list(EXPECTED.values()), rtol=1e-6)
