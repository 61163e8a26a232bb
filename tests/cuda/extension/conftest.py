"""One cache and one compiler for the builds of a test run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.records import ExtensionSettings
from coding_framework.cuda.toolchain.detect import usable_nvcc


@pytest.fixture(scope="session")
def extension_compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExtensionCompiler]:
    if usable_nvcc() is None:
        pytest.skip("no nvcc with a host compiler")
    folder: Path = tmp_path_factory.mktemp("extension_cache")
    with ExtensionCompiler(ExtensionSettings(cache_dir=folder, architecture="sm_90", workers=1)) as compiler:
        yield compiler
