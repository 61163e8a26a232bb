"""Declarations of variables and parameters."""

from __future__ import annotations

import re
from math import prod

from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES, Demands, Variable
from coding_framework.cuda.executors.emulator.ptx.operands import parse_literal, split_operands

_VARIABLE = re.compile(
    r"(?P<attributes>(?:\.[\w:]+\s*(?:\d+(?=\s))?\s*(?:\([^)]*\)\s*)?)+)"
    r"(?P<name>[%$\w]+)\s*(?P<array>(?:\[[^\]]*\]\s*)*)(?:=\s*(?P<initializer>.*))?$",
    re.S,
)
_EXTENT = re.compile(r"\.(maxntid|reqntid|reqnctapercluster)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_SPACES = ("global", "const", "shared", "local", "param")


class DeclarationError(ValueError):
    """A declaration whose form is not known."""


def parse_demands(directives: str) -> Demands:
    """`.maxntid 256, 1, 1 .explicitcluster` and their relatives, between a kernel's name and its body."""
    extents = {name: (int(x), int(y or 1), int(z or 1)) for name, x, y, z in _EXTENT.findall(directives)}
    return Demands(
        max_threads=prod(extents["maxntid"]) if "maxntid" in extents else None,
        block=extents.get("reqntid"),
        cluster=extents.get("reqnctapercluster"),
        needs_cluster=".explicitcluster" in directives,
        grid_counts_clusters=".blocksareclusters" in directives,
    )


def parse_variable(text: str) -> Variable:
    """`.global .align 4 .b8 table[16] = {0, 1}` and its relatives."""
    match = _VARIABLE.match(text.strip())
    if match is None:
        raise DeclarationError(f"unreadable declaration: {text[:80]!r}")
    words = re.findall(r"\.(\w+)(?:\s+(\d+))?", match["attributes"])
    space = next((word for word, _ in words if word in _SPACES), "param")
    kind = next((word for word, _ in words if word in TYPE_BYTES), None)
    if kind is None:
        raise DeclarationError(f"no type in the declaration: {text[:80]!r}")
    alignment = next((int(n) for word, n in words if word == "align" and n), TYPE_BYTES[kind])
    return Variable(
        match["name"], space, kind, _count(match["array"]), alignment, _initializer(match["initializer"])
    )


def _count(array: str) -> int | None:
    extents = re.findall(r"\[\s*(\d*)\s*\]", array)
    if not extents:
        return None
    count = 1
    for extent in extents:
        count *= int(extent) if extent else 0
    return count


def _initializer(text: str | None) -> tuple[int | float | str, ...]:
    if not text:
        return ()
    flat = text.replace("{", " ").replace("}", " ")
    values: list[int | float | str] = []
    for piece in split_operands(flat.strip()):
        literal = parse_literal(piece)
        if literal is None:
            values.append(piece)
        else:
            values.append(literal.float_bits if literal.float_bits is not None else literal.value)
    return tuple(values)
