"""Nothing honest is refused: a false alarm costs as much as a hole.

On the emulator the kernels of the catalogue are judged by `tests/data/test_tasks_judged.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.pool import JudgePool
from judge_suite import ARCHIVE, HonestKernel, archive_corpus, catalogue_corpus, honest_row, written_corpus

CORPUS = [*catalogue_corpus(), *written_corpus()]


@pytest.fixture(scope="module")
def emulator() -> Iterator[JudgePool]:
    with JudgePool(JudgeConfig(executor="emulator", workers=2)) as made:
        yield made


@pytest.fixture(scope="module")
def gpu() -> Iterator[JudgePool]:
    with JudgePool(JudgeConfig(executor="gpu", workers=1)) as made:
        yield made


def named(corpus: list[HonestKernel]) -> list[object]:
    return [pytest.param(kernel, id=kernel.name) for kernel in corpus]


@pytest.mark.parametrize("kernel", named([kernel for kernel in written_corpus() if kernel.emulator]))
def test_an_honest_kernel_passes_on_the_emulator(emulator: JudgePool, kernel: HonestKernel) -> None:
    row = honest_row(emulator, kernel)
    assert row.as_wanted, f"{row.outcome}: {row.message}"


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", named(CORPUS))
def test_an_honest_kernel_passes_on_a_gpu(gpu: JudgePool, kernel: HonestKernel) -> None:
    row = honest_row(gpu, kernel)
    assert row.as_wanted, f"{row.outcome}: {row.message}"


@pytest.mark.gpu
@pytest.mark.skipif(not ARCHIVE.exists(), reason=f"the archive's rows are not at {ARCHIVE}")
@pytest.mark.parametrize("kernel", named(list(archive_corpus())))
def test_a_correct_row_of_the_archive_passes_on_a_gpu(gpu: JudgePool, kernel: HonestKernel) -> None:
    row = honest_row(gpu, kernel)
    assert row.as_wanted, f"{row.outcome}: {row.message}"


def test_the_corpus_holds_forty_kernels_of_our_own() -> None:
    assert len(written_corpus()) >= 40
