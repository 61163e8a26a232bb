"""A candidate cannot turn its own failure into a fault of the judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.toolchain.compiler_log import MAX_LOG_CHARS, shorten_log
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.cuda.toolchain.nvrtc import compile_request
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Evaluation, Verdict

TASK = get_task("vector_add")
HALF = "\ud800"


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CUDACompiler]:
    folder: Path = tmp_path_factory.mktemp("cache")
    with CUDACompiler(CompilerSettings(compiler="nvrtc", cache_dir=folder, workers=1)) as made:
        yield made


@pytest.mark.parametrize("source", [HALF, TASK.baseline + f"// {HALF}"])
def test_half_a_surrogate_pair_is_no_candidate_and_can_be_kept(source: str) -> None:
    judge = Judge(JudgeConfig(executor="emulator"))
    try:
        evaluation = judge.judge(TASK, Candidate(source=source))
    finally:
        judge.close()
    assert evaluation.verdict is Verdict.NO_CANDIDATE
    assert "not valid Unicode" in evaluation.message
    stored = Evaluation.model_validate_json(evaluation.model_dump_json())
    assert stored.candidate.source.endswith("\\ud800")
    assert len(evaluation.candidate.digest) == 16


def test_digests_tell_half_characters_apart_and_leave_others_as_they_were() -> None:
    assert Candidate(source="\ud800").digest != Candidate(source="\ud801").digest
    assert Candidate(source="x").digest == "de0a5ec7c0e20de7"


@pytest.mark.parametrize("name", ["", "  x", "a(b", "(1): error: ", "a\\nb", "ptxas info", "Remark: "])
def test_a_file_name_of_the_candidates_own_hides_no_error(compiler: CUDACompiler, name: str) -> None:
    source = f'#line 1 "{name}"\nextern "C" __global__ void k() {{ int a = ; }}\n'
    result = compiler.compile(source)
    assert not result.success
    assert result.errors


def test_a_compiler_that_writes_megabytes_is_cut_short_in_its_own_process(compiler: CUDACompiler) -> None:
    source = 'extern "C" __global__ void k() {}\n' + "/* " * 2000
    result = compiler.compile(source)
    assert not result.success
    assert not result.timed_out
    assert len(result.diagnostics) <= 200
    raw = compile_request(CompileRequest(source, "sm_90", (), ()))
    assert len(raw.log) <= MAX_LOG_CHARS


def test_a_long_log_keeps_its_head_its_errors_and_its_tail() -> None:
    warning = "kernel.cu(1): warning #1-D: w\n\n"
    log = "first\n" + warning * 20_000 + "kernel.cu(7): error: the only one\n\n" + warning * 20_000 + "last"
    short = shorten_log(log)
    assert len(short) <= MAX_LOG_CHARS
    assert short.startswith("first")
    assert short.endswith("last")
    assert "kernel.cu(7): error: the only one" in short
    assert shorten_log(short) == short


@pytest.mark.parametrize("noise", ["an error of judgement\n", "fatal, error\n", "nothing\n"])
def test_an_error_is_found_in_a_log_that_speaks_of_errors(noise: str) -> None:
    log = (
        noise * 300_000 + "kernel.cu(7): error: the first\nkernel.cu(8): error: the second\n" + noise * 20_000
    )
    short = shorten_log(log.encode())
    assert len(short) <= MAX_LOG_CHARS
    assert short.count("kernel.cu(7): error: the first") == 1
    assert short.count("kernel.cu(8): error: the second") == 1


def test_a_hundred_kernels_without_extern_c_are_named_soon(compiler: CUDACompiler) -> None:
    source = "".join(f"__global__ void k{i}(float* x) {{}}\n" for i in range(100))
    result = compiler.compile(source)
    assert 1 <= len(result.errors) <= 20
    assert "`k0`" in result.errors[0].message
