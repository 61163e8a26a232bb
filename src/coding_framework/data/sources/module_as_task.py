"""Whether a module computes what a task of named arrays computes.

A module has its own ranks: what is `x[n]` to a task is `x[batch, channels, height, width]` to a module, and a
row may lie along any axis. So each array is looked at in every way that merges neighbouring axes into the
task's rank, after at most one axis was moved to the end, until sizes agree and the task's oracle gives the
module's outputs, up to a constant factor, on every draw. Guarantees nothing for modules that take their
arrays apart or copy them into others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from math import prod

import array_api_compat.numpy as xp
import numpy as np

from coding_framework.data.sources.multiples import are_multiples
from coding_framework.data.sources.trace_memory import Floats, ModuleTrace
from coding_framework.errors import ExpressionError
from coding_framework.records import Expression, Task

View = tuple[tuple[int, ...], tuple[int, ...]]
"""An order of the axes, and the shape after it."""
_MAX_PERMUTED = 4
_WORD = re.compile(r"[A-Za-z_]\w*")
_MAX_FREE = 8
"""So far from an array's extent a size is looked for, as with a window or a border."""
_MAX_TRIES = 400
"""Ways to look at one module as one task."""


def computes(trace: ModuleTrace, task: Task) -> bool:
    """Whether the module of this trace computes the task."""
    if not trace.given or len(trace.given[0]) != len(task.inputs) or len(trace.found[0]) != len(task.outputs):
        return False
    tried = 0
    for order, views, sizes in _ways(trace, task):
        if not _gives_as_much(trace, task, sizes):
            continue
        tried += 1
        if tried > _MAX_TRIES:
            return False
        found = _oracle_on_draws(trace, task, order, views, sizes)
        if found is not None and any(are_multiples(one, found) for one in _output_orders(trace)):
            return True
    return False


def _ways(
    trace: ModuleTrace, task: Task
) -> Iterator[tuple[tuple[int, ...], tuple[View, ...], dict[str, int]]]:
    """Which array is which input, how each is looked at, and what sizes follow."""
    arrays = trace.given[0]
    places = range(len(arrays))
    for order in permutations(places) if len(arrays) <= _MAX_PERMUTED else (tuple(places),):
        choices = [
            _views(arrays[place].shape, len(spec.shape))
            for place, spec in zip(order, task.inputs, strict=True)
        ]
        for views in product(*choices):
            for sizes in _sizes(task, views):
                yield order, views, sizes


def _views(shape: tuple[int, ...], rank: int) -> list[View]:
    """Without repetition; axes of one element are left out, and added in front where there are too few."""
    axes = tuple(axis for axis, size in enumerate(shape) if size != 1)
    idle = tuple(axis for axis, size in enumerate(shape) if size == 1)
    orders = [axes, *((*axes[:n], *axes[n + 1 :], axes[n]) for n in range(len(axes) - 1))]
    found: dict[View, None] = {}
    for order in orders:
        sizes = [shape[axis] for axis in order]
        for groups in range(1, min(rank, len(order)) + 1) if order else ():
            for cuts in combinations(range(1, len(order)), groups - 1):
                ends = (0, *cuts, len(order))
                merged = tuple(prod(sizes[a:b]) for a, b in pairwise(ends))
                found[(*idle, *order), (1,) * (rank - groups) + merged] = None
    return list(found) or [(idle, (1,) * rank)]


def _sizes(task: Task, views: Sequence[View]) -> Iterator[dict[str, int]]:
    """Values of the task's dimensions with which all extents are those of the views."""
    extents = [
        (extent, size)
        for spec, (_, shape) in zip(task.inputs, views, strict=True)
        for extent, size in zip(spec.shape, shape, strict=True)
    ]
    extents.sort(key=lambda one: len(one[0].text))  # bare names first: they tell most
    for sizes in _solved(extents, {}, task.dimensions):
        if set(sizes) == set(task.dimensions):
            yield {name: sizes[name] for name in task.dimensions}


def _solved(
    extents: Sequence[tuple[Expression, int]], known: dict[str, int], names: Sequence[str]
) -> Iterator[dict[str, int]]:
    """Extent by extent; where several names of one are free, all but one are tried."""
    if not extents:
        yield known
        return
    (extent, size), rest = extents[0], extents[1:]
    free = [name for name in names if name not in known and name in _WORD.findall(extent.text)]
    likely = range(max(1, size - _MAX_FREE), size + 1)
    for values in product(*(likely if n == 0 else range(1, _MAX_FREE) for n in range(len(free)))):
        sizes = known | dict(zip(free, values, strict=True))
        if _value(extent, sizes) == size:
            yield from _solved(rest, sizes, names)


def _value(extent: Expression, sizes: Mapping[str, int]) -> int | None:
    try:
        return extent.evaluate(sizes)
    except ExpressionError:
        return None


def _gives_as_much(trace: ModuleTrace, task: Task, sizes: Mapping[str, int]) -> bool:
    wanted = [spec.num_elements(sizes) for spec in task.outputs]
    return wanted == [array.size for array in trace.found[0]]


def _oracle_on_draws(
    trace: ModuleTrace, task: Task, order: Sequence[int], views: Sequence[View], sizes: dict[str, int]
) -> list[Floats] | None:
    draws = []
    for given in trace.given:
        inputs = {
            spec.name: given[place].transpose(axes).reshape(shape)
            for place, spec, (axes, shape) in zip(order, task.inputs, views, strict=True)
        }
        try:
            with np.errstate(all="ignore"):
                found = task.oracle(xp, inputs, sizes)
            draws.append(
                [np.asarray(found[spec.name], dtype=np.float64).reshape(-1) for spec in task.outputs]
            )
        except Exception:  # numbers that the task never sees, an index beyond its array for one
            return None
    return [np.concatenate(one) for one in zip(*draws, strict=True)]


def _output_orders(trace: ModuleTrace) -> Iterator[list[Floats]]:
    """The outputs as they are, and with each axis moved to the end."""
    yield trace.outputs
    ranks = {array.ndim for array in trace.found[0]}
    for axis in range(max(ranks) - 1 if len(ranks) == 1 else 0):
        moved = [[np.moveaxis(array, axis, -1).reshape(-1) for array in draw] for draw in trace.found]
        yield [np.concatenate(one) for one in zip(*moved, strict=True)]
