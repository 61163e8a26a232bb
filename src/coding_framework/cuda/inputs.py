"""Inputs for checking and timing a kernel, drawn from a seed.

Guarantees: the same task, shape, distribution and seed give the same bytes everywhere; every value
is finite; different inputs of a task are drawn independently. The distributions:

    normal          standard normal
    uniform         even over [-1, 1)
    large           standard normal times 100
    small           standard normal times 0.001
    integers        whole numbers from -8 to 8, so that short sums and products are exact in float32
    constant_rows   each row (last axis) holds one normal value of its own
    outliers        standard normal, of which one in 256 is multiplied by 100
    far_below       even over [-800, -400): a maximum that begins at 0 shows
    far_above       even over [400, 800): a minimum that begins at 0 shows
    mixed           each row (of a vector: each element) is of one of the task's distributions, at random

Values are drawn in float64 and rounded once to the array's element type (through float32 for
bfloat16); an int32 array gets the nearest whole numbers, so `large` and `integers` suit it best.

Arrays with fewer axes than the task's first input (weights, biases, the vector of a matrix-vector
product) are parameters: the kinds that scale or shift draw them standard normal, because to
do so with data and parameters together would need error budgets so wide that they hide mistakes. A task
can say more: `drawn_as` names inputs that are drawn from another distribution than the run's.
It does not know tolerances or oracles.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from coding_framework.cuda.elements import encode_elements
from coding_framework.records import Dimensions, Distribution, Task, TensorSpec

Array = npt.NDArray[np.generic]
_Floats = npt.NDArray[np.float64]
_Extents = tuple[int, ...]
_STRUCTURED = ("integers", "constant_rows")


def draw_inputs(
    task: Task, dimensions: Dimensions, distribution: Distribution, seed: int
) -> dict[str, Array]:
    """One array for each input of the task, shaped as the task says."""
    drawn = {}
    for spec in task.inputs:
        kind = input_distribution(task, spec, distribution)
        generator = _generator(task, spec, dimensions, kind, seed)
        extents = spec.extents(dimensions)
        values = (
            _mixed(generator, extents, mixed_kinds(task, spec))
            if kind == "mixed"
            else _DRAW[kind](generator, extents)
        )
        drawn[spec.name] = encode_elements(values, spec.dtype)
    return drawn


def input_distribution(task: Task, spec: TensorSpec, distribution: Distribution) -> Distribution:
    """How one input is drawn when the run is of this distribution."""
    stated = task.drawn_as.get(distribution, {}).get(spec.name)
    if stated is not None:
        return stated
    is_data = len(spec.shape) >= len(task.inputs[0].shape)
    return distribution if is_data else _for_parameters(distribution)


def mixed_kinds(task: Task, spec: TensorSpec) -> tuple[Distribution, ...]:
    """What the rows of one input are drawn from in a mixed run."""
    return tuple(dict.fromkeys(input_distribution(task, spec, kind) for kind in plain_kinds(task)))


def plain_kinds(task: Task) -> tuple[Distribution, ...]:
    """The distributions of a task without a structure that a kernel could look for and take a shortcut on.

    Whole numbers fit into narrow types, and constant rows need no arithmetic: a kernel must be right on them,
    and no time of it is taken there.
    """
    return tuple(kind for kind in task.distributions if kind not in _STRUCTURED) or task.distributions


def _for_parameters(distribution: Distribution) -> Distribution:
    return distribution if distribution in ("normal", "uniform", "integers") else "normal"


def _generator(
    task: Task, spec: TensorSpec, dimensions: Dimensions, distribution: Distribution, seed: int
) -> np.random.Generator:
    """A stream of its own for everything that can differ; CRC, because `hash` changes with the process."""
    shape = ",".join(f"{name}={dimensions[name]}" for name in task.dimensions)
    label = f"{task.name}/{spec.name}/{shape}/{distribution}"
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def _normal(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return generator.standard_normal(extents)


def _uniform(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return generator.uniform(-1.0, 1.0, extents)


def _large(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return 100.0 * _normal(generator, extents)


def _small(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return 1e-3 * _normal(generator, extents)


def _integers(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return generator.integers(-8, 9, extents).astype(np.float64)


def _constant_rows(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return np.broadcast_to(_normal(generator, (*extents[:-1], 1)), extents).copy()


def _outliers(generator: np.random.Generator, extents: _Extents) -> _Floats:
    values = _normal(generator, extents)
    return np.where(generator.integers(0, 256, extents, dtype=np.uint8) == 0, 100.0 * values, values)


def _far_below(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return 200.0 * _uniform(generator, extents) - 600.0


def _far_above(generator: np.random.Generator, extents: _Extents) -> _Floats:
    return 200.0 * _uniform(generator, extents) + 600.0


def _mixed(generator: np.random.Generator, extents: _Extents, kinds: tuple[Distribution, ...]) -> _Floats:
    """Rows of different kinds side by side, so that one run shows what each of them would."""
    rows = extents[:-1] if len(extents) > 1 else extents
    values = np.empty(extents)
    chosen = generator.integers(0, len(kinds), rows)
    chosen.flat[-1] = len(kinds) - 1
    chosen.flat[0] = 0  # whoever takes the first row for all of them is wrong about the others
    for number, kind in enumerate(kinds):
        where = chosen == number
        shape = (int(where.sum()), *extents[-1:]) if len(extents) > 1 else (int(where.sum()), 1)
        values[where] = _DRAW[kind](generator, shape).reshape(values[where].shape)
    return values


_DRAW: dict[Distribution, Callable[[np.random.Generator, _Extents], _Floats]] = {
    "normal": _normal,
    "uniform": _uniform,
    "large": _large,
    "small": _small,
    "integers": _integers,
    "constant_rows": _constant_rows,
    "outliers": _outliers,
    "far_below": _far_below,
    "far_above": _far_above,
}
