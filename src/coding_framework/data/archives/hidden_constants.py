"""Other shapes for a problem in KernelBench's form, which fixes one shape in its constants.

A kernel that hard-codes the visible size passes a judge who only knows that size. So the constants
that `get_inputs` and `get_init_inputs` use get other values: tiny ones, odd ones (no multiple of a block or
a vector), and larger ones (a kernel that covers the visible size only leaves the rest unwritten).

Guarantees: only module-level integers are varied, none below 1, and the larger shape asks for at most
128 Mi elements or a quarter more than the visible one. It reads the source and does not run it: it
leaves out what is known to break (divisors, windows, axes), but only `verified_hidden_constants` knows
that what remains runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from coding_framework.cuda.executors.host.verifier.task_source import integer_constants
from coding_framework.data.archives.input_shapes import (
    InputShapes,
    input_shapes,
    names_used,
    names_used_in_classes,
)

MAX_ELEMENTS = 1 << 27
_WINDOW = re.compile(r"conv|pool|unfold|interpolate|upsample", re.IGNORECASE)
_DIVISION = re.compile(
    r"\bview\b|reshape|flatten|chunk|split|rearrange|shuffle|patch|heads|nhead|group|window|//|%|bmm|embed",
    re.IGNORECASE,
)
"""Words of sources in which sizes hang together in ways that their names do not show."""
_SPREAD = re.compile(r"norm|std|var\b", re.IGNORECASE)
"""Of a single element there is no spread: the reference itself would give NaN or nothing but zeros."""
_SIZE_NAME = re.compile(r"features|channels|hidden|classes|units|_size$|_dim$", re.IGNORECASE)
_OTHER_NAME = re.compile(r"kernel|pool|strid|pad|dilat|scale|step|block|layer|num_|divisor", re.IGNORECASE)
_LEAST_SIZE = 4
"""A constructor's argument below it is an axis, a count or a factor rather than an extent."""


class _Constant(NamedTuple):
    """A constant that may be varied."""

    name: str
    visible: int
    least: int


@lru_cache(maxsize=1024)
def _derived(source: str) -> tuple[tuple[tuple[str, int], ...], ...]:
    shapes = input_shapes(source)
    values = integer_constants(source)
    constants = list(_variable(source, shapes, values))
    choices = (
        {c.name: c.least for c in constants},
        {c.name: _odd(c, index) for index, c in enumerate(constants)},
        _larger(constants, shapes, values),
    )
    changed = ({n: v for n, v in choice.items() if v != values[n]} for choice in choices)
    return tuple(dict.fromkeys(tuple(choice.items()) for choice in changed if choice))


def derive_hidden_constants(source: str) -> tuple[dict[str, int], ...]:
    """Up to three sets of values; none where nothing can be varied. The source passed its check."""
    return tuple(dict(choice) for choice in _derived(source))


def _variable(source: str, shapes: InputShapes, values: dict[str, int]) -> Iterator[_Constant]:
    init, model = names_used(source, "get_init_inputs"), names_used_in_classes(source)
    code = _code(source)
    windows, divisions = bool(_WINDOW.search(code)), bool(_DIVISION.search(code))
    least = 3 if _SPREAD.search(code) else 1
    batch_least = 3 if "BatchNorm" in code else 1
    for name, visible in values.items():
        places = shapes.places(name)
        if visible < 1:
            continue
        if places and all(index == 0 and rank > 1 for index, rank in places) and name not in init:
            yield _Constant(name, visible, min(batch_least, visible))
        elif divisions:
            continue
        elif places and windows and all(index >= 2 for index, _ in places):
            yield _Constant(name, visible, max(1, (visible - visible // 4) | 1))
        elif places and visible >= _LEAST_SIZE:
            yield _Constant(name, visible, least if name not in init else 3)
        elif not places and name in init and name not in model and _is_size(name, visible):
            yield _Constant(name, visible, 3)


def _is_size(name: str, visible: int) -> bool:
    sounds = _SIZE_NAME.search(name) and not _OTHER_NAME.search(name)
    return bool(sounds) and visible >= _LEAST_SIZE


def _odd(constant: _Constant, index: int) -> int:
    """About half, odd, and for each constant another fraction, so that equal sizes come apart."""
    if constant.visible < _LEAST_SIZE:
        return constant.visible + 2 | 1
    least = min(constant.least + 2 * (index % 3), constant.visible)
    return max(least, constant.visible * 4 // (7 + index)) | 1


def _larger(constants: list[_Constant], shapes: InputShapes, values: dict[str, int]) -> dict[str, int]:
    """All constants grown by about an eighth, or the first alone that stays within bounds."""
    grown = {c.name: c.visible + max(1, min(c.visible // 8, 32)) + 2 * i | 1 for i, c in enumerate(constants)}
    bound = max(MAX_ELEMENTS, shapes.num_elements(values) * 5 // 4)
    for choice in (grown, *({name: value} for name, value in grown.items())):
        if shapes.num_elements({**values, **choice}) <= bound:
            return choice
    return {}


def _code(source: str) -> str:
    """Without comments and docstrings, which mention much that the code does not do."""
    without_docstrings = re.sub(r'("""|\'\'\')[\s\S]*?\1', "", source)
    return re.sub(r"#.*", "", without_docstrings)
