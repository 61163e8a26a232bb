"""What a module was seen to compute, and its memory on disk.

Guarantees: a trace is remembered by the module's source and sizes, by what it was compared with, and by the
code that ran it; what a process that was killed left open is not remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coding_framework.data.archives.hub import default_cache_folder
from coding_framework.errors import StorageError
from coding_framework.monitoring.storage import replacing

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ModuleTrace:
    """What one module was given and gave, draw by draw."""

    given: tuple[tuple[Floats, ...], ...] = ()
    """Inputs and then parameters."""
    found: tuple[tuple[Floats, ...], ...] = ()
    """Outputs."""
    same_as: tuple[str, ...] = ()
    """Held-out modules that give the same."""
    why_not: str = ""
    """Why it could not be run; empty where it was."""
    by_accident: bool = False
    """Whether another attempt might end otherwise: a process was killed, or the time was up."""

    @cached_property
    def outputs(self) -> list[Floats]:
        """Each output over all draws."""
        return [np.concatenate([one.reshape(-1) for one in draws]) for draws in zip(*self.found, strict=True)]


class TraceMemory:
    """Traces on disk, by what was run and what it was compared with; a damaged file counts as none."""

    def __init__(self, against: Sequence[dict[str, Any]]) -> None:
        self._against = against
        self._folder = default_cache_folder().parent / "traces"

    def recall(self, words: dict[str, Any]) -> ModuleTrace | None:
        try:
            with np.load(self._file(words), allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in arrays.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None
        return ModuleTrace(
            given=by_draw({name: array for name, array in found.items() if name.startswith("given_")}),
            found=by_draw({name: array for name, array in found.items() if name.startswith("found_")}),
            same_as=tuple(map(str, found["same"].tolist())),
            why_not=str(found["why"]),
        )

    def keep(self, words: dict[str, Any], trace: ModuleTrace) -> None:
        """An aid: a disk that takes no more loses nothing but time."""
        if trace.by_accident:
            return
        named: dict[str, Any] = {"same": np.array([int(place) for place in trace.same_as], dtype=np.int64)}
        named["why"] = np.array(trace.why_not)
        for kind, draws in (("given", trace.given), ("found", trace.found)):
            named |= {f"{kind}_{d}_{p}": one for d, draw in enumerate(draws) for p, one in enumerate(draw)}
        with contextlib.suppress(OSError, StorageError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with replacing(self._file(words)) as beside, beside.open("wb") as stream:
                np.savez_compressed(stream, allow_pickle=False, **named)

    def _file(self, words: dict[str, Any]) -> Path:
        material = json.dumps([_child_digest(), words, self._against], sort_keys=True)
        return self._folder / f"{hashlib.sha256(material.encode(errors='surrogatepass')).hexdigest()}.npz"


def by_draw(arrays: dict[str, Any]) -> tuple[tuple[Floats, ...], ...]:
    """Arrays called KIND_DRAW_PLACE, draw by draw."""
    draws: dict[int, dict[int, Floats]] = {}
    for key, array in arrays.items():
        _, draw, place = key.split("_")
        draws.setdefault(int(draw), {})[int(place)] = np.asarray(array, dtype=np.float64)
    return tuple(tuple(draws[d][p] for p in sorted(draws[d])) for d in sorted(draws))


@cache
def _child_digest() -> str:
    """Of the code that runs modules: what it does otherwise, it has not done before."""
    here = Path(__file__).parent
    texts = (here / name for name in ("trace_child.py", "multiples.py"))
    return hashlib.sha256(b"".join(text.read_bytes() for text in texts)).hexdigest()
