"""The precompiled prelude changes how long a compilation takes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.cuda.toolchain import nvrtc, precompiled
from coding_framework.cuda.toolchain.locate import include_dirs
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.cuda.toolchain.precompiled import FIRST_USE, PrecompiledPrelude

KERNELS = sorted((Path(__file__).parents[1] / "parity" / "accepted").glob("*.cu"))


@pytest.fixture
def prelude(monkeypatch: pytest.MonkeyPatch) -> PrecompiledPrelude:
    fresh = PrecompiledPrelude()
    monkeypatch.setattr(nvrtc, "_prelude", fresh)
    return fresh


def request_for(source: str, *flags: str) -> CompileRequest:
    return CompileRequest(source, "sm_90", flags, tuple(str(folder) for folder in include_dirs()))


def test_it_is_made_when_it_begins_to_pay(prelude: PrecompiledPrelude) -> None:
    module = nvrtc.nvrtc_module()
    answers = [prelude.flags(module, ["--gpu-architecture=sm_90"]) for _ in range(FIRST_USE + 1)]
    assert answers[: FIRST_USE - 1] == [()] * (FIRST_USE - 1)
    assert answers[-1] == answers[-2]
    assert answers[-1][0].startswith("--use-pch=")
    assert prelude.flags(module, ["--gpu-architecture=sm_80"]) == ()  # other flags, another header


def test_the_same_code_comes_out_with_it(
    prelude: PrecompiledPrelude, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as never:
        never.setattr(precompiled, "FIRST_USE", 10**6)
        before = [nvrtc.compile_request(request_for(kernel.read_text())) for kernel in KERNELS]
    assert not prelude._made
    for _ in range(FIRST_USE):
        nvrtc.compile_request(request_for(KERNELS[0].read_text()))
    after = [nvrtc.compile_request(request_for(kernel.read_text())) for kernel in KERNELS]
    assert prelude._made
    assert all(prelude._made.values())
    for kernel, plain, quick in zip(KERNELS, before, after, strict=True):
        assert plain.ptx == quick.ptx, kernel
        assert "pch" not in quick.log.lower()


def test_messages_about_the_source_stay_the_same(prelude: PrecompiledPrelude) -> None:
    wrong = 'extern "C" __global__ void k(float* y) {\n  int unused;\n  y[0] = missing;\n}\n'
    logs = {nvrtc.compile_request(request_for(wrong)).log for _ in range(FIRST_USE + 1)}
    assert len(logs) == 1
    assert "kernel.cu(3): error" in logs.pop()


def test_where_it_cannot_be_made_compiling_goes_on(
    prelude: PrecompiledPrelude, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(precompiled, "private_folder", lambda: tmp_path / "missing")
    for _ in range(FIRST_USE + 1):
        raw = nvrtc.compile_request(request_for('extern "C" __global__ void k(float* y) { y[0] = 1; }'))
        assert raw.outcome == "built"
    assert list(prelude._made.values()) == [()]
