"""Which compiler, flags and architecture: nvcc's last word, and settings that are refused."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from compiler_sources import TWO_KERNELS, VECTOR_ADD
from pydantic import ValidationError

from coding_framework.cuda import compiler as compiler_module
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain import detect, interpret, nvcc, nvrtc
from coding_framework.cuda.toolchain.interpret import Backend
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.errors import ConfigError, ToolchainMissingError

needs_nvcc = pytest.mark.skipif(
    detect.usable_nvcc() is None, reason="no nvcc with a host compiler on this machine"
)


def test_a_flag_that_the_compiler_does_not_know_is_our_fault() -> None:
    with pytest.raises(RuntimeError, match="INVALID_OPTION"):
        nvrtc.compile_request(CompileRequest(VECTOR_ADD, "sm_90", ("--no-such-flag",), ()))


def test_a_flag_that_is_not_known_to_be_harmless_is_refused_at_the_start(
    make: Callable[..., CUDACompiler],
) -> None:
    with pytest.raises(ConfigError, match="'--no-such-flag' is not allowed"):
        make(extra_flags=("--no-such-flag",))


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


TWO_FACED = """extern "C" __global__ void k(float* x) {
#if %s
  x[0] = 1.0f;
#else
  x[0] = 2.0f;
#endif
}
"""
QUESTIONS = [
    "defined(__CUDACC_RTC__)",
    "!defined(__NVCC__)",
    "!defined(__GNUC__)",
    "!defined __linux__",
    "!defined(__x86_64__)",
    "!__has_include(<bits/stdc++.h>)",
]


@needs_nvcc
@pytest.mark.parametrize("question", QUESTIONS)
def test_code_that_can_be_another_one_for_each_compiler_is_nvccs(
    make: Callable[..., CUDACompiler], question: str
) -> None:
    result = make(compiler="auto").compile(TWO_FACED % question)
    assert result.success
    assert result.compiler == "nvcc"
    assert result.ptx is not None
    assert "1073741824" in result.ptx or "0f40000000" in result.ptx, "2.0f"
    assert make(compiler="auto").compile(TWO_FACED % question).from_cache


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_nvcc_it_is_refused(make: Callable[..., CUDACompiler], question: str) -> None:
    (error,) = make(compiler="nvrtc").compile(TWO_FACED % question).errors
    assert "lets the code be another one for each compiler" in error.message
    assert error.line == 2


def test_a_word_in_a_comment_asks_nothing(make: Callable[..., CUDACompiler]) -> None:
    assert make(compiler="nvrtc").compile("// __NVCC__ or __CUDACC_RTC__\n" + VECTOR_ADD).success


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
    gpu = detect.Gpu(name="NVIDIA X", architecture="sm_80", memory_bytes=2**34)
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
