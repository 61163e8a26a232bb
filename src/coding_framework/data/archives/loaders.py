"""Which loader reads which archive."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from coding_framework.data.kernelbench_loader import KernelBenchLoader
from coding_framework.data.sakana_loader import SakanaDataLoader

ArchiveLoader = SakanaDataLoader | KernelBenchLoader
ArchiveKind = Literal["sakana", "kernelbench"]


def make_loader(
    kind: ArchiveKind, source: str | Path | None = None, *, seed: int | None = 0
) -> ArchiveLoader:
    """The loader of an archive; without a source, from the hub."""
    loader = SakanaDataLoader if kind == "sakana" else KernelBenchLoader
    return loader(seed=seed) if source is None else loader(source, seed=seed)
