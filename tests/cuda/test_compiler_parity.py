"""NVRTC, with our prelude and stand-in headers, against nvcc: what nvcc accepts must not fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from parity_sources import (
    ACCEPTED_GROUPS,
    ACCEPTED_WHOLE,
    GENEROUS,
    REJECTED,
    REJECTED_WHOLE,
    SLOW_WHOLE,
    WITHOUT_HEADERS,
    Group,
)

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain import nvcc, nvrtc
from coding_framework.cuda.toolchain.detect import usable_nvcc
from coding_framework.cuda.toolchain.locate import include_dirs
from coding_framework.cuda.toolchain.messages import CompileRequest

ACCEPTED = [(group.name, group.source(text)) for group in ACCEPTED_GROUPS for text in group.statements]
REJECTED_SOURCES = [WITHOUT_HEADERS.source(text) for text in REJECTED] + list(REJECTED_WHOLE.values())
needs_nvcc = pytest.mark.skipif(usable_nvcc() is None, reason="no nvcc with a host compiler on this machine")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CUDACompiler]:
    """NVRTC alone: a referee would hide its failures."""
    settings = CompilerSettings(
        compiler="nvrtc", architecture="sm_90", cache_dir=tmp_path_factory.mktemp("parity")
    )
    with CUDACompiler(settings) as started:
        yield started


def nvcc_accepts(source: str) -> bool:
    found = usable_nvcc()
    assert found is not None
    return nvcc.compile_request(request_for(source, str(found[0]))).outcome == "built"


def request_for(source: str, tool: str = "") -> CompileRequest:
    return CompileRequest(source, "sm_90", (), tuple(str(folder) for folder in include_dirs()), tool)


def test_the_corpus_is_large_enough() -> None:
    assert len(ACCEPTED) + len(ACCEPTED_WHOLE) + len(SLOW_WHOLE) + len(REJECTED_SOURCES) >= 60


@pytest.mark.parametrize("source", [source for _, source in ACCEPTED])
def test_nvrtc_accepts_each_statement(compiler: CUDACompiler, source: str) -> None:
    result = compiler.compile(source)
    assert result.success, [error.message for error in result.errors]
    assert result.kernel_names == ("k",)


@needs_nvcc
@pytest.mark.parametrize("group", ACCEPTED_GROUPS, ids=lambda group: group.name)
def test_nvcc_accepts_the_same_statements(group: Group) -> None:
    assert nvcc_accepts(group.whole)


@pytest.mark.parametrize("name", [*ACCEPTED_WHOLE, *SLOW_WHOLE])
def test_nvrtc_accepts_each_whole_source(compiler: CUDACompiler, name: str) -> None:
    result = compiler.compile({**ACCEPTED_WHOLE, **SLOW_WHOLE}[name])
    assert result.success, [error.message for error in result.errors]


@needs_nvcc
@pytest.mark.parametrize("name", ACCEPTED_WHOLE)
def test_nvcc_accepts_the_same_whole_sources(name: str) -> None:
    assert nvcc_accepts(ACCEPTED_WHOLE[name])


@pytest.mark.slow
@needs_nvcc
@pytest.mark.parametrize("name", SLOW_WHOLE)
def test_nvcc_accepts_sources_with_large_headers(name: str) -> None:
    assert nvcc_accepts(SLOW_WHOLE[name])


@pytest.mark.parametrize("source", REJECTED_SOURCES)
def test_nvrtc_rejects_what_is_wrong(compiler: CUDACompiler, source: str) -> None:
    result = compiler.compile(source)
    assert not result.success
    assert result.errors


@needs_nvcc
@pytest.mark.parametrize("source", REJECTED_SOURCES)
def test_nvcc_rejects_the_same(source: str) -> None:
    assert not nvcc_accepts(source)


@pytest.mark.parametrize("statement", GENEROUS)
def test_mixed_types_in_min_and_max_are_resolved(compiler: CUDACompiler, statement: str) -> None:
    assert compiler.compile(WITHOUT_HEADERS.source(statement)).success


def test_the_prelude_leaves_no_trace_in_the_ptx(compiler: CUDACompiler) -> None:
    result = compiler.compile(WITHOUT_HEADERS.source("o[0] = std::numeric_limits<float>::max()"))
    assert result.ptx is not None
    assert ".global " not in result.ptx
    assert ".func" not in result.ptx


@pytest.mark.parametrize(
    ("statement", "instruction"),
    [
        ("o[0] = max(0, x)", "max.f32"),
        ("o[0] = min(u, ll)", "min.s64"),
        ("o[0] = max(z, i)", "max.u64"),
        ("o[0] = max(i, d)", "max.f64"),
        ("o[0] = sqrt(i)", "sqrt.rn.f64"),
        ("o[0] = std::fmax(x, y)", "max.f32"),
    ],
)
def test_an_overload_computes_in_the_type_c_would_choose(statement: str, instruction: str) -> None:
    raw = nvrtc.compile_request(request_for(WITHOUT_HEADERS.source(statement)))
    assert instruction in raw.ptx


def test_the_working_folder_is_kept_and_empty_for_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.h").write_text("int leaked;")
    monkeypatch.chdir(tmp_path)
    raw = nvrtc.compile_request(request_for('#include "secret.h"\n' + WITHOUT_HEADERS.source("o[0] = 1")))
    assert raw.outcome == "rejected"
    assert Path.cwd() == tmp_path
