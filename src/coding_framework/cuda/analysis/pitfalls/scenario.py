"""The launches under which a kernel is traced: block shape, grid, one block of it, and parameters.

Indices are judged on concrete numbers, so these must be numbers that tell: `large` has prime sizes
that fill the traced block, `aligned` has sizes that vector code likes, `small` has fewer elements than
threads, so that guards cut warps in two. Guarantees: with a launch plan (the record, or the source's
own comments) block, grid and parameters fit together; without, the block is a guess and is marked so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from coding_framework.cuda.analysis.pitfalls.ir import Function, Parameter
from coding_framework.errors import ExpressionError
from coding_framework.records import Expression, LaunchPlan, parse_expression

_SIZES = {
    "large": (16411, 16417, 16421, 16427, 16433, 16447, 16451, 16453),
    "aligned": (16384, 20480, 24576, 28672, 32768, 36864, 40960, 45056),
    "small": (37, 41, 43, 47, 53, 59, 61, 67),
}
"""The large ones exceed two blocks of 1,024 threads with four elements each."""
MIN_SIZE = 8192
"""A stride of this many elements or more comes from our sizes, not from the source."""
_MODEST = (509, 521, 523, 541, 547, 557, 563, 569)
_FITTING = {
    "large": (251, 257, 263, 269, 271, 277, 281, 283),
    "aligned": (256, 128, 64, 32, 512, 96, 160, 192),
    "small": (37, 41, 43, 47, 53, 59, 61, 67),
}
"""For plans whose block grows with a dimension."""
MAX_THREADS = 1024
_LAUNCH = re.compile(r"^[ \t]*+//++[ \t]*+launch[ \t]*+:[ \t]*+(\w++)?[^\n]*+$", re.MULTILINE)
_SCRATCH = re.compile(r"^[ \t]*+//++[ \t]*+scratch[ \t]*+:[ \t]*+(\w++)", re.MULTILINE)
_EXTENTS = {field: re.compile(rf"\b{field}\s*=\s*(?:dim3\s*)?") for field in ("grid", "block", "args")}

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class LaunchText:
    """A launch's expressions; None where it says nothing that can be read."""

    kernel: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    arguments: tuple[Expression, ...] | None
    scratch: frozenset[str] = frozenset()
    """Buffers of the plan's own, whose size is stated with the grid in mind."""

    def scratch_of(self, kernel: Function) -> frozenset[str]:
        """Which of a kernel's parameters these are."""
        pairs = zip(kernel.parameters, self.arguments or (), strict=False)
        return frozenset(p.name for p, argument in pairs if argument.text.strip() in self.scratch)


@dataclass(frozen=True)
class Scenario:
    """One block of one launch."""

    kind: str
    """`large`, `aligned` or `small`."""
    block: Triple
    grid: Triple
    block_index: Triple
    parameters: dict[str, int]
    """Values of integer parameters, by the kernel's own names."""
    modest: dict[str, int]
    """The same for dimensions of some 500: what stays small there is a small stride in practice."""
    is_guess: bool
    """The block's shape is not stated anywhere."""


def launches_of(source: str, plan: LaunchPlan | None) -> tuple[LaunchText, ...]:
    """The plan's launches, or those that the source's comments state."""
    if plan is not None:
        scratch = frozenset(buffer.name for buffer in plan.scratch)
        return tuple(LaunchText(x.kernel, x.grid, x.block, x.arguments, scratch) for x in plan.launches)
    scratch = frozenset(_SCRATCH.findall(source))
    found = []
    for match in _LAUNCH.finditer(source):
        line = match.group()
        grid, block = _expressions(line, "grid"), _expressions(line, "block")
        if grid and block:
            name = match.group(1) or ""
            kernel = "" if name in _EXTENTS else name
            found.append(LaunchText(kernel, grid, block, _expressions(line, "args"), scratch))
        if len(found) >= 64:
            break
    return tuple(found)


def _expressions(line: str, field: str) -> tuple[Expression, ...] | None:
    match = _EXTENTS[field].search(line)
    if match is None:
        return None
    rest = line[match.end() :]
    if not rest.startswith("("):
        rest = "(" + rest.split()[0].rstrip(",") + ")" if rest.split() else "()"
    depth, start, items = 0, 1, []
    for at, char in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if (char == "," and depth == 1) or (char == ")" and depth == 0):
            items.append(rest[start:at])
            start = at + 1
        if depth == 0:
            break
    try:
        return tuple(parse_expression(item) for item in items)
    except ExpressionError:
        return None


def scenarios(kernel: Function, launches: Sequence[LaunchText], shapes: Sequence[Triple]) -> list[Scenario]:
    """Under which to trace a kernel: those of its first launch, or guesses over `shapes`."""
    integers = [p.name for p in kernel.parameters if _is_integer(p)]
    for launch in launches:
        if launch.kernel in ("", kernel.name):
            modest = _modest(kernel, launch)
            made = [_planned(kind, kernel, launch, modest) for kind in _SIZES]
            found = [scenario for scenario in made if scenario is not None]
            if found:
                return found
    modest = dict(zip(integers, _MODEST, strict=False))
    grid = (97, 89, 1)
    return [
        Scenario(
            kind, shape, grid, _place(kind, grid), dict(zip(integers, sizes, strict=False)), modest, True
        )
        for kind, sizes in _SIZES.items()
        for shape in shapes
    ]


def _planned(kind: str, kernel: Function, launch: LaunchText, modest: dict[str, int]) -> Scenario | None:
    """The launch with numbers put in; None if no choice of sizes makes it legal."""
    for table in (_SIZES, _FITTING):
        sizes = _dimensions(kernel, launch, table[kind])
        try:
            grid = _triple(launch.grid, sizes)
            block = _triple(launch.block, sizes)
            parameters = _parameters(kernel, launch, sizes)
        except ExpressionError:
            return None
        if min(grid) >= 1 and min(block) >= 1 and prod(block) <= MAX_THREADS:
            return Scenario(kind, block, grid, _place(kind, grid), parameters, modest, False)
    return None


def _modest(kernel: Function, launch: LaunchText) -> dict[str, int]:
    try:
        return _parameters(kernel, launch, _dimensions(kernel, launch, _MODEST))
    except ExpressionError:
        return {}


def _dimensions(kernel: Function, launch: LaunchText, sizes: tuple[int, ...]) -> dict[str, int]:
    expressions = [*(launch.arguments or ()), *launch.grid, *launch.block]
    names = dict.fromkeys(name for expression in expressions for name in sorted(expression.names))
    if launch.arguments is None:
        names.update(dict.fromkeys(p.name for p in kernel.parameters if _is_integer(p)))
    return {name: sizes[at % len(sizes)] for at, name in enumerate(names)}


def _parameters(kernel: Function, launch: LaunchText, sizes: dict[str, int]) -> dict[str, int]:
    """By position where the plan gives arguments, else by name, which is the contract's default."""
    found: dict[str, int] = {}
    given = launch.arguments
    for at, parameter in enumerate(kernel.parameters):
        if _is_integer(parameter):
            if given is None:
                found[parameter.name] = sizes[parameter.name]
            elif at < len(given):
                found[parameter.name] = given[at].evaluate(sizes)
    return found


def _is_integer(parameter: Parameter) -> bool:
    return bool(parameter.name) and not parameter.is_pointer and not parameter.type.is_float


def _triple(expressions: tuple[Expression, ...], sizes: dict[str, int]) -> Triple:
    x, y, z = (*(expression.evaluate(sizes) for expression in expressions[:3]), 1, 1, 1)[:3]
    return x, y, z


def _place(kind: str, grid: Triple) -> Triple:
    """The second block where there is one and sizes allow, else the first."""
    if kind != "large":
        return 0, 0, 0
    return min(1, grid[0] - 1), min(1, grid[1] - 1), 0
