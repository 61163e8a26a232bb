"""What modules compute, seen by running them: to compare them with tasks that are held out.

Guarantees: modules run in another process on small shapes, in float64 on drawn numbers, within limits of time
and memory and without the user's environment; one that cannot be run is named with the reason, and is then
compared by its text alone. Not guaranteed: that they can do no harm. They run outside any sandbox, as the
user and with the network, so name only sources that you trust. It needs torch.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coding_framework.cuda.executors.host.verifier.task_source import integer_constants
from coding_framework.data.archives.input_shapes import input_shapes
from coding_framework.data.sources.multiples import MAX_ELEMENTS
from coding_framework.data.sources.trace_memory import ModuleTrace, TraceMemory, by_draw
from coding_framework.errors import MissingExtraError
from coding_framework.plugins import search_path
from coding_framework.records import ModuleTask

Floats = NDArray[np.float64]
_CHILD = "coding_framework.data.sources.trace_child"
_MEMORY_BYTES = 16 << 30
_START_S, _EACH_S = 60.0, 3.0
_TOO_LARGE = ModuleTrace(why_not=f"more than {MAX_ELEMENTS:,} numbers")
_SIZES = (5, 7, 6, 9, 8, 11, 10)
"""Small, and different for constants that stand beside each other."""


def trace_modules(
    modules: Sequence[ModuleTask], against: Sequence[ModuleTask] = ()
) -> dict[str, ModuleTrace]:
    """By name; what was run before is remembered on disk. Raises `MissingExtraError` without torch."""
    memory = TraceMemory([_words(one) for one in against])
    traces = {one.name: _TOO_LARGE for one in modules if is_too_large(one)}
    for one in modules:
        known = None if one.name in traces else memory.recall(_words(one))
        if known is not None:
            traces[one.name] = known
    new = [one for one in modules if one.name not in traces]
    if new and find_spec("torch") is None:
        raise MissingExtraError("torch", "train")
    for name, trace in _run_all(new, against).items() if new else ():
        traces[name] = trace
        memory.keep(_words(next(one for one in new if one.name == name)), trace)
    return {
        name: replace(trace, same_as=tuple(against[int(place)].name for place in trace.same_as))
        for name, trace in traces.items()
    }


@dataclass
class _Request:
    modules: Sequence[ModuleTask]
    against: Sequence[ModuleTask]
    folder: str
    traces: dict[str, ModuleTrace] = field(default_factory=dict)


def _run_all(modules: Sequence[ModuleTask], against: Sequence[ModuleTask]) -> dict[str, ModuleTrace]:
    """`same_as` holds places in `against`, for names may change."""
    with tempfile.TemporaryDirectory(prefix="module-traces-") as folder:
        request = _Request(modules, against, folder)
        while left := [one for one in modules if one.name not in request.traces]:
            before = len(request.traces)
            words = _ask(request, left)
            if len(request.traces) == before or words:
                stuck = next((one for one in left if one.name not in request.traces), None)
                if stuck is not None:
                    why_not = words or "its process gave no answer"
                    request.traces[stuck.name] = ModuleTrace(why_not=why_not, by_accident=True)
        return request.traces


def is_too_large(task: ModuleTask) -> bool:
    """Whether its inputs have more numbers than are compared, so that they need not be made to know it."""
    values = {**integer_constants(task.source), **small_constants(task)}
    return input_shapes(task.source).num_elements(values) > MAX_ELEMENTS


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
        given=by_draw(given),
        found=by_draw(found),
        same_as=tuple(map(str, answer["same"])),
    )


def _environment() -> dict[str, str]:
    """Small and fixed: a source's code learns no token of the user's from it."""
    return {
        "PATH": os.defpath,
        "HOME": tempfile.gettempdir(),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(search_path()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "2",
    }


def _run_child(message: str, limit_s: float) -> tuple[list[str], int | None]:
    """Its whole lines and its status; None: it was killed because the time was up."""
    child = subprocess.Popen(
        [sys.executable, "-m", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=_environment(),
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
