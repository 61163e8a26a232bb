"""What modules compute, seen by running them: to compare them with tasks that are held out.

Guarantees: modules run in another process on small shapes, in float64 on drawn numbers, within limits of time
and memory; one that cannot be run is named with the reason, and is then compared by its text alone. It needs
torch.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coding_framework.errors import MissingExtraError
from coding_framework.records import ModuleTask

Floats = NDArray[np.float64]
_CHILD = "coding_framework.data.sources.trace_child"
_MEMORY_BYTES = 16 << 30
_START_S, _EACH_S = 60.0, 3.0
_SIZES = (5, 7, 6, 9, 8, 11, 10)
"""Small, and different for constants that stand beside each other."""


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

    @cached_property
    def outputs(self) -> list[Floats]:
        """Each output over all draws."""
        return [np.concatenate([one.reshape(-1) for one in draws]) for draws in zip(*self.found, strict=True)]


@dataclass
class _Request:
    modules: Sequence[ModuleTask]
    against: Sequence[ModuleTask]
    folder: str
    traces: dict[str, ModuleTrace] = field(default_factory=dict)


def trace_modules(
    modules: Sequence[ModuleTask], against: Sequence[ModuleTask] = ()
) -> dict[str, ModuleTrace]:
    """By name; raises `MissingExtraError` without torch."""
    if not modules:
        return {}
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "train")
    with tempfile.TemporaryDirectory(prefix="module-traces-") as folder:
        request = _Request(modules, against, folder)
        while left := [one for one in modules if one.name not in request.traces]:
            before = len(request.traces)
            words = _ask(request, left)
            if len(request.traces) == before or words:
                stuck = next(one for one in left if one.name not in request.traces)
                request.traces[stuck.name] = ModuleTrace(why_not=words or "its process gave no answer")
        return request.traces


def small_constants(task: ModuleTask) -> dict[str, int]:
    """Sizes at which it runs quickly and says something: what may be varied is small, and different."""
    tiny = task.hidden_constants[0] if task.hidden_constants else {}
    return {
        name: _SIZES[n % len(_SIZES)] if least <= _SIZES[n % len(_SIZES)] else least + least % 2
        for n, (name, least) in enumerate(tiny.items())
    }


def _ask(request: _Request, left: Sequence[ModuleTask]) -> str:
    """Takes in what one child answers; why it ended early, or nothing."""
    numbers = {one.name: number for number, one in enumerate(request.modules)}
    message = {
        "folder": request.folder,
        "memory_bytes": _MEMORY_BYTES,
        "modules": [_words(one) | {"number": numbers[one.name]} for one in left],
        "against": [_words(one) for one in request.against],
    }
    limit_s = _START_S + _EACH_S * len(left) * (1 + len(request.against))
    lines, status = _run_child(json.dumps(message), limit_s)
    for line in lines:
        answer = json.loads(line)
        request.traces[request.modules[answer["number"]].name] = _trace(request, answer)
    if status == 0:
        return ""
    return (
        f"no answer within {limit_s:g} s" if status is None else f"it ended its process with status {status}"
    )


def _words(task: ModuleTask) -> dict[str, Any]:
    return {"source": task.source, "constants": small_constants(task)}


def _trace(request: _Request, answer: dict[str, Any]) -> ModuleTrace:
    if answer["words"]:
        return ModuleTrace(why_not=answer["words"])
    with np.load(Path(request.folder) / f"{answer['number']}.npz", allow_pickle=False) as arrays:
        given, found = (
            {key: arrays[key] for key in arrays.files if key.startswith(p)} for p in ("given", "found")
        )
    return ModuleTrace(
        given=_by_draw(given),
        found=_by_draw(found),
        same_as=tuple(request.against[place].name for place in answer["same"]),
    )


def _by_draw(arrays: dict[str, Any]) -> tuple[tuple[Floats, ...], ...]:
    draws: dict[int, dict[int, Floats]] = {}
    for key, array in arrays.items():
        _, draw, place = key.split("_")
        draws.setdefault(int(draw), {})[int(place)] = np.asarray(array, dtype=np.float64)
    return tuple(tuple(draws[d][p] for p in sorted(draws[d])) for d in sorted(draws))


def _run_child(message: str, limit_s: float) -> tuple[list[str], int | None]:
    """Its whole lines and its status; None: it was killed because the time was up."""
    child = subprocess.Popen(
        [sys.executable, "-m", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "2"},
    )
    status: int | None = None
    try:
        output, _ = child.communicate(message, timeout=limit_s)
        status = child.returncode
    except subprocess.TimeoutExpired:
        _kill(child)
        output, _ = child.communicate()
    finally:
        _kill(child)
    return [line for line in output.splitlines() if line.endswith("}")], status


def _kill(child: subprocess.Popen[str]) -> None:
    """Whatever a source started dies with it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
