"""Flags that could touch the host are refused; those that are allowed are known to both compilers."""

from __future__ import annotations

import pytest

from coding_framework.cuda.toolchain import nvcc, nvrtc
from coding_framework.cuda.toolchain.detect import usable_nvcc
from coding_framework.cuda.toolchain.flags import check_flags
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.errors import ConfigError

KERNEL = 'extern "C" __global__ void k(float* y) { y[0] = 1; }'
ALLOWED = (
    "--use_fast_math",
    "-lineinfo",
    "--maxrregcount=64",
    "--ftz=true",
    "--fmad=false",
    "--prec-div=false",
    "-DNAME=VALUE",
    "-DNAME",
    "-UNAME",
    "--std=c++17",
    "-Xptxas=-O1",
    "--extra-device-vectorization",
    "--restrict",
    "-w",
)


def test_flags_that_change_the_code_alone_are_allowed() -> None:
    check_flags(ALLOWED)


@pytest.mark.parametrize("flag", ALLOWED)
def test_nvrtc_knows_what_is_allowed(flag: str) -> None:
    assert nvrtc.compile_request(CompileRequest(KERNEL, "sm_90", (flag,), ())).outcome == "built"


def test_nvcc_knows_what_is_allowed() -> None:
    found = usable_nvcc()
    if found is None:
        pytest.skip("no nvcc here")
    raw = nvcc.compile_request(CompileRequest(KERNEL, "sm_90", ALLOWED, (), str(found[0])))
    assert raw.outcome == "built", raw.log


@pytest.mark.parametrize(
    "flag",
    [
        "-include",
        "-include=/etc/passwd",
        "--pre-include=/etc/passwd",
        "-I/etc",
        "--include-path=/etc",
        "--keep",
        "-o",
        "-o/tmp/x",
        "--output-directory=/tmp",
        "-ccbin=/bin/sh",
        "--compiler-options=-fplugin=x.so",
        "-Xcompiler=-B/tmp",
        "--pch",
        "--create-pch=/tmp/x",
        "--use-pch=/tmp/x",
        "--time=/tmp/x",
        "-DNAME=/etc/passwd",
        '-DNAME="x"',
        "-DNAME=1 -I/etc",
        "@/tmp/flags",
        "--options-file=/tmp/x",
        "--gpu-architecture=sm_80",
        "-Xptxas=-v,-o,/tmp/x",
        "kernel.cu",
        "",
        "--use_fast_math\n-I/etc",
    ],
)
def test_everything_else_is_refused_with_examples(flag: str) -> None:
    with pytest.raises(ConfigError, match="use_fast_math"):
        check_flags(("-lineinfo", flag))
