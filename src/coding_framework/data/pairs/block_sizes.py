"""The same kernel for another block size: plan and code changed together.

Whether the result is right is for the judge; a try that it rejects is not kept. What is changed: the
block itself, quotients of the grid that are a multiple of it or count its warps, literals of the code
that equal it, half of it where a tree of partial results begins, and warps a block beside `blockIdx`.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import text
from coding_framework.data.pairs.source_edit import Edit, apply_edits, is_plan_line, nodes

BLOCK_SIZES = (64, 128, 256, 512)
BLOCK_SHAPES = ((16, 16), (32, 8), (8, 8), (32, 16), (8, 32), (32, 4))
_BLOCK = re.compile(r"block=\((\d+)\)")
_FLAT_GRID = re.compile(r"ceil_div\(((?:[^(),]|\([^()]*\))*), (\d+)\)")
_SHAPE = re.compile(r"block=\((\d+), (\d+)\)")
_TILES = re.compile(r"grid=\(ceil_div\(([^(),]*), (\d+)\), ceil_div\(([^(),]*), (\d+)\)((?:, [^()]*)?)\)")
_WARP = 32


def block_variants(source: str) -> tuple[str, ...]:
    """The source for every other block size that its plan allows; empty where it allows none."""
    plan = [line for line in source.split("\n") if is_plan_line(line)]
    flat = {int(size) for line in plan for size in _BLOCK.findall(line)}
    if len(flat) == 1 and not any(_SHAPE.search(line) for line in plan):
        (old,) = flat
        if old <= _WARP:
            return ()
        return tuple(_with_flat_block(source, old, new) for new in BLOCK_SIZES if new != old)
    if not flat and len(plan) == 1 and (shape := _SHAPE.search(plan[0])):
        return _with_other_shapes(source, int(shape[1]), int(shape[2]))
    return ()


def _with_flat_block(source: str, old: int, new: int) -> str:
    quotients = _quotients(source, old, new)
    code = apply_edits(source, _code_edits(source, old, new, quotients))
    return "\n".join(_plan_line(line, old, new, quotients) for line in code.split("\n"))


def _quotients(source: str, old: int, new: int) -> dict[int, int]:
    """What the grid divides by → what it must divide by then."""
    found = {
        int(number)
        for line in source.split("\n")
        if is_plan_line(line)
        for _, number in _FLAT_GRID.findall(line)
    }
    changed = {number: number // old * new for number in found if number % old == 0}
    warps, new_warps = old // _WARP, new // _WARP
    if warps in found and warps > 1:
        changed[warps] = new_warps
    return changed


def _plan_line(line: str, old: int, new: int, quotients: dict[int, int]) -> str:
    if not is_plan_line(line):
        return line
    changed = _BLOCK.sub(f"block=({new})", line)
    changed = _FLAT_GRID.sub(
        lambda match: f"ceil_div({match[1]}, {quotients.get(int(match[2]), int(match[2]))})", changed
    )
    head, mark, shared = changed.partition("shared=")
    return head + mark + re.sub(rf"\b{old}\b", str(new), shared)


def _code_edits(source: str, old: int, new: int, quotients: dict[int, int]) -> list[Edit]:
    edits = []
    for node in nodes(source, "number_literal"):
        changed = _changed_literal(node, old, new, quotients)
        if changed is not None:
            edits.append(Edit.of(node, str(changed)))
    return edits


def _changed_literal(node: Node, old: int, new: int, quotients: dict[int, int]) -> int | None:
    if not text(node).isdigit():
        return None
    value = int(text(node))
    if value == old:
        return new
    if value == old // 2 and _begins_a_loop(node):
        return new // 2
    if value == old // _WARP and node.parent is not None and node.parent.type == "array_declarator":
        return new // _WARP
    return quotients[value] if value in quotients and _scales_block_index(node) else None


def _begins_a_loop(node: Node) -> bool:
    """`for (int half = 128; ...`"""
    declarator = node.parent
    declaration = declarator.parent if declarator is not None else None
    loop = declaration.parent if declaration is not None else None
    return loop is not None and loop.type == "for_statement"


def _scales_block_index(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "binary_expression" and "blockIdx" in text(parent)


def _with_other_shapes(source: str, x: int, y: int) -> tuple[str, ...]:
    """For a kernel that knows its block by `blockDim` alone."""
    tiles = _TILES.search(source)
    literals = {text(node) for node in nodes(source, "number_literal")}
    if tiles is None or (int(tiles[2]), int(tiles[4])) != (x, y) or {str(x), str(y)} & literals:
        return ()
    found = []
    for wide, high in BLOCK_SHAPES:
        if (wide, high) != (x, y):
            grid = f"grid=(ceil_div({tiles[1]}, {wide}), ceil_div({tiles[3]}, {high}){tiles[5]})"
            changed = _SHAPE.sub(f"block=({wide}, {high})", source, count=1)
            found.append(_TILES.sub(lambda _, grid=grid: grid, changed, count=1))  # type: ignore[misc]
    return tuple(found)
