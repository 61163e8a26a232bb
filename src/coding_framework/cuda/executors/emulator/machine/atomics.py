"""Atomic operations, in the order of the lanes: deterministic, and exact in what each lane gets back.

Lanes that hit one address form a run; a run is a prefix computation, so the old value of a lane is
the result of those before it. float32 sums are added one by one in float32, as hardware would do in
this order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.ops import half

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def apply_atomic(
    memory: Array, index: Array, operation: str, values: tuple[Array, ...], kind: str, wants_old: bool
) -> Array:
    """Update `memory[index]` lane by lane; returns the old value of each lane (zeros if not wanted)."""
    if kind in ("f16", "bf16", "f16x2", "bf16x2"):
        return _by_rounds(memory, index, _half_step(operation, kind), values)
    if operation in _UFUNCS:
        if not wants_old:
            _UFUNCS[operation].at(memory, index, values[0])
            return np.zeros_like(values[0])
        return _by_runs(memory, index, _UFUNCS[operation], values[0])
    if operation == "exch":
        return _exchange(memory, index, values[0])
    return _by_rounds(memory, index, _STEPS[operation], values)


def _runs(index: Array) -> tuple[Array, Array]:
    """A stable order by address, and where each run begins in it."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return order, starts


def _by_runs(memory: Array, index: Array, function: np.ufunc, values: Array) -> Array:
    order, starts = _runs(index)
    lengths = np.diff(np.append(starts, index.size))
    if lengths.max() <= max(8, len(starts) // 4):
        return _by_rounds(memory, index, lambda old, value: function(old, value), (values,))
    old = np.empty(index.size, dtype=memory.dtype)
    sorted_values = values[order]
    for start, length in zip(starts, lengths, strict=True):
        place = index[order[start]]
        chain = np.empty(length + 1, dtype=memory.dtype)
        chain[0] = memory[place]
        chain[1:] = sorted_values[start : start + length]
        chain = function.accumulate(chain, dtype=memory.dtype)
        old[order[start : start + length]] = chain[:-1]
        memory[place] = chain[-1]
    return old


def _exchange(memory: Array, index: Array, values: Array) -> Array:
    order, starts = _runs(index)
    previous = np.empty(index.size, dtype=memory.dtype)
    previous[1:] = values[order][:-1]
    previous[starts] = memory[index[order[starts]]]
    ends = np.append(starts[1:], index.size) - 1
    memory[index[order[ends]]] = values[order[ends]]
    old = np.empty_like(previous)
    old[order] = previous
    return old


def _by_rounds(memory: Array, index: Array, step: Callable[..., Value], values: tuple[Array, ...]) -> Array:
    """The first lane of every address together, then the second of every address, and so on."""
    order, starts = _runs(index)
    ends = np.append(starts[1:], index.size)
    old = np.empty(index.size, dtype=memory.dtype)
    cursor = starts.copy()
    while cursor.size:
        lanes = order[cursor]
        places = index[lanes]
        old[lanes] = memory[places]
        memory[places] = step(old[lanes], *(value[lanes] for value in values))
        cursor = cursor + 1
        keep = cursor < ends
        cursor, ends = cursor[keep], ends[keep]
    return old


def _half_step(operation: str, kind: str) -> Callable[..., Value]:
    base = kind.removesuffix("x2")

    def step(old: Value, value: Value) -> Value:
        def one(a: Value, b: Value) -> Value:
            return half.arithmetic(operation, base, a, b)

        return half.on_pairs(one, old, value) if kind.endswith("x2") else one(old, value)

    return step


_STEPS: dict[str, Callable[..., Value]] = {
    "cas": lambda old, compare, value: np.where(old == compare, value, old),
    "inc": lambda old, limit: np.where(old >= limit, 0, old + 1).astype(old.dtype),
    "dec": lambda old, limit: np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype),
}
