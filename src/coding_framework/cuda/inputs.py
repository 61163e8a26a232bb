"""Inputs for checking and timing a kernel, drawn from a seed.

Guarantees: the same task, shape, distribution and seed give the same bytes everywhere; every value
is finite; different inputs of a task are drawn independently. The distributions:

    normal          standard normal
    uniform         even over [-1, 1)
    large           standard normal times 100
    small           standard normal times 0.001
    integers        whole numbers from -8 to 8, so that short sums and products are exact in float32
    constant_rows   each row (last axis) holds one normal value of its own

Arrays with fewer axes than the task's first input (weights, biases, the vector of a matrix-vector
product) are parameters: `large`, `small` and `constant_rows` draw them standard normal, because
scaling data and parameters together would need error budgets so wide that they hide mistakes.
It does not know tolerances or oracles.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from coding_framework.records import Dimensions, Distribution, Task, TensorSpec

Array = npt.NDArray[np.generic]
_Floats = npt.NDArray[np.float64]
_Extents = tuple[int, ...]

_NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "int32": np.dtype(np.int32),
}


def draw_inputs(
    task: Task, dimensions: Dimensions, distribution: Distribution, seed: int
) -> dict[str, Array]:
    """One array for each input of the task, shaped as the task says."""
    axes = len(task.inputs[0].shape)
    drawn = {}
    for spec in task.inputs:
        kind: Distribution = distribution if len(spec.shape) >= axes else _for_parameters(distribution)
        values = _DRAW[kind](_generator(task, spec, dimensions, kind, seed), spec.extents(dimensions))
        drawn[spec.name] = values.astype(_numpy_dtype(spec))
    return drawn


def _for_parameters(distribution: Distribution) -> Distribution:
    return "normal" if distribution in ("large", "small", "constant_rows") else distribution


def _generator(
    task: Task, spec: TensorSpec, dimensions: Dimensions, distribution: Distribution, seed: int
) -> np.random.Generator:
    """A stream of its own for everything that can differ; CRC, because `hash` changes with the process."""
    shape = ",".join(f"{name}={dimensions[name]}" for name in task.dimensions)
    label = f"{task.name}/{spec.name}/{shape}/{distribution}"
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def _numpy_dtype(spec: TensorSpec) -> np.dtype[Any]:
    if spec.dtype not in _NUMPY_DTYPES:
        raise NotImplementedError(f"inputs of type {spec.dtype} cannot be drawn yet ({spec.name})")
    return _NUMPY_DTYPES[spec.dtype]


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


_DRAW: dict[Distribution, Callable[[np.random.Generator, _Extents], _Floats]] = {
    "normal": _normal,
    "uniform": _uniform,
    "large": _large,
    "small": _small,
    "integers": _integers,
    "constant_rows": _constant_rows,
}
