"""Compilers with a cache of their own; where NVRTC is meant, nvcc has no say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CUDACompiler]:
    settings = CompilerSettings(
        compiler="nvrtc", architecture="sm_90", cache_dir=tmp_path_factory.mktemp("cache"), workers=2
    )
    with CUDACompiler(settings) as started:
        yield started


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., CUDACompiler]]:
    started: list[CUDACompiler] = []

    def build(**settings: object) -> CUDACompiler:
        chosen = {
            "compiler": "nvrtc",
            "architecture": "sm_90",
            "workers": 1,
            "cache_dir": tmp_path,
            **settings,
        }
        started.append(CUDACompiler(CompilerSettings.model_validate(chosen)))
        return started[-1]

    yield build
    for item in started:
        item.close()
