"""Finds sums of floats whose rounding depends on the order of threads, by `atomicAdd` or `atomicCAS`.

A loop counts only if the value that it swaps in is a sum of floats, so that locks, flags and maxima by
`atomicCAS` earn nothing. Not found: a sum under a lock, and halves that are packed after they were added.
"""

from __future__ import annotations

import re

_FLOAT = r"(?:f16|bf16|f16x2|bf16x2|f32|f64)"
_ADD = re.compile(r"\b(?:atom|red)\.[\w.:]*\badd\.(?:noftz\.)?(?:f16|bf16|f32|f64|v\d)")
_FUNCTION = re.compile(r"\.(?:entry|func)\b")
_SUM = re.compile(rf"\b(?:add|sub|fma)\.(?:[a-z]\w*\.)*{_FLOAT}\s+(%\w+)\s*,")
_BITS = re.compile(r"\bmov\.b(?:16|32|64)\s+(%\w+)\s*,\s*(%\w+)\s*;")
_SWAP = re.compile(r"\batom\.(?:\w+\.)*cas\.[\w.]*\s+%\w+\s*,\s*\[[^\]]*\]\s*,\s*[%\w]+\s*,\s*(%\w+)\s*;")


def adds_floats_atomically(ptx: str) -> bool:
    """Whether the order of threads may show in the last bits of an honest answer."""
    return bool(_ADD.search(ptx)) or any(_swaps_in_a_sum(body) for body in _FUNCTION.split(ptx))


def _swaps_in_a_sum(body: str) -> bool:
    """`assumed = old; old = atomicCAS(p, assumed, bits(value + float(assumed)))`, as CUDA's guide has it."""
    swapped_in = set(_SWAP.findall(body))
    if not swapped_in:
        return False
    sums = set(_SUM.findall(body))
    sums |= {bits for bits, of in _BITS.findall(body) if of in sums}
    return not swapped_in.isdisjoint(sums)
