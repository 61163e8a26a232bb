"""What makes two tasks the same, and the code of two candidates: a digest of all that decides a verdict.

Of a `Task` its arrays, shapes, inputs, budget, baseline, and what its oracle computes on inputs drawn from
each of its distributions; of a `ModuleTask` its source, hidden shapes and budget. Name, title, tier, family
and the words of the prompt are not part of it. Whatever is remembered of a judgement is remembered for a
digest, never for a name alone. Guarantees: equal on every machine for oracles that differ in rounding only.
Not guaranteed: that two oracles that differ on other inputs alone are told apart.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Iterator

import array_api_compat.numpy as xp
import numpy as np
from numpy.typing import NDArray

from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.errors import ConfigError
from coding_framework.records import CompilationResult, Dimensions, LaunchPlan, ModuleTask, Task

_WORDS = {"name", "title", "tier", "family", "prompt"}
_PLACES = {"launches": {"__all__": {"line", "text"}}, "scratch": {"__all__": {"line"}}}
_MADE: dict[int, tuple[weakref.ref[Task | ModuleTask], str]] = {}
"""By the object and not on it: a copy that differs would take it along."""
_SEED = 7_919
_VALUES = 256
"""Of each output, evenly spread."""
_DIGITS = 6
"""Behind the point, with the largest value as one: far from what float64 rounds."""


def task_digest(task: Task | ModuleTask) -> str:
    """Sixteen hex digits, made once for an object; raises `ConfigError` where the oracle cannot be asked."""
    known = _MADE.get(id(task))
    if known is not None and known[0]() is task:
        return known[1]
    digest = _made(task)
    weakref.finalize(task, _MADE.pop, id(task), None).atexit = False
    _MADE[id(task)] = weakref.ref(task), digest
    return digest


def _made(task: Task | ModuleTask) -> str:
    words = json.dumps(task.model_dump(mode="json", exclude=_WORDS), sort_keys=True)
    material = [words.encode()]
    if isinstance(task, Task):
        material += [_rounded(array) for array in _computed(task)]
    return hashlib.sha256(b"\0".join(material)).hexdigest()[:16]


def code_digest(task: Task, plan: LaunchPlan, compilation: CompilationResult) -> str:
    """Equal for code that is launched in the same way for the same task, whatever its text."""
    code = compilation.ptx_key or compilation.ptx or ""
    words = (task_digest(task), plan.model_dump_json(exclude=_PLACES), code)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def smallest_shape(task: Task) -> Dimensions:
    """The one with the fewest elements that is more than a few."""
    shapes = (*task.visible_shapes, *task.hidden_shapes)
    telling = [shape for shape in shapes if min(shape.values()) >= 5] or list(task.visible_shapes)
    return min(telling, key=lambda shape: sum(spec.num_elements(shape) for spec in task.inputs))


def _computed(task: Task) -> Iterator[NDArray[np.float64]]:
    shape, nameless = smallest_shape(task), task.model_copy(update={"name": ""})
    for distribution in task.distributions:
        drawn = draw_inputs(nameless, shape, distribution, _SEED)
        inputs = {spec.name: decode_elements(drawn[spec.name], spec.dtype) for spec in task.inputs}
        try:
            with np.errstate(all="ignore"):
                outputs = task.oracle(xp, inputs, shape)
                yield from (np.asarray(outputs[spec.name], dtype=np.float64) for spec in task.outputs)
        except Exception as error:
            raise ConfigError(
                f"the oracle of '{task.name}' fails on {dict(shape)}: {type(error).__name__}: {error}"
            ) from error


def _rounded(array: NDArray[np.float64]) -> bytes:
    flat = array.reshape(-1)
    places = np.linspace(0, flat.size - 1, min(flat.size, _VALUES)).astype(np.int64)
    chosen = np.nan_to_num(flat[places], posinf=1e300, neginf=-1e300)
    largest = float(np.abs(chosen).max(initial=0.0)) or 1.0
    return f"{largest:.{_DIGITS - 1}e}".encode() + (np.round(chosen / largest, _DIGITS) + 0.0).tobytes()
