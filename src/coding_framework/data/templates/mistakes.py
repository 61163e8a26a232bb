"""Usual mistakes, put into kernels that are right: material for pairs that repair one.

Each function takes the source of a template's plain kernel and returns one that the judge must
reject. They are the failures that models show most: no bounds check, a grid that does not cover the
data, a block of over 1,024 threads, a statement that does not end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Mistake = Callable[[str], str]


def without_guard(source: str) -> str:
    """Threads past the end read and write out of bounds."""
    return re.sub(r"if \([^{]*\) \{", "{", source, count=1)


def with_a_short_grid(source: str) -> str:
    """A quotient rounded down leaves the last elements unwritten, or launches nothing."""
    return re.sub(r"ceil_div\(([^,]*), (\d+)\)", r"\1 / \2", source, count=1)


def with_a_huge_block(source: str) -> str:
    """More threads than a block can have."""
    return re.sub(r"block=\(\d+\)", "block=(2048)", source, count=1)


def without_a_semicolon(source: str) -> str:
    """The statement that writes the output does not end."""
    head, semicolon, tail = source.rpartition(";")
    assert semicolon
    return head + tail


MISTAKES: tuple[Mistake, ...] = (without_guard, with_a_short_grid, with_a_huge_block, without_a_semicolon)
