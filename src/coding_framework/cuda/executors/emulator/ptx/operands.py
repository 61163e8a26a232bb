"""Operands: one text between commas into one record."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from coding_framework.cuda.executors.emulator.ptx.model import (
    Address,
    Immediate,
    NameList,
    Operand,
    Register,
    Symbol,
    Vector,
)

_FLOAT32 = re.compile(r"^0[fF]([0-9a-fA-F]{8})$")
_FLOAT64 = re.compile(r"^0[dD]([0-9a-fA-F]{16})$")
_INTEGER = re.compile(r"^-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_DECIMAL = re.compile(r"^-?\d+\.\d*([eE][-+]?\d+)?$")
_SUM = re.compile(r"^(.+?)\s*\+\s*(-?\w+)$")
WARP_SIZE = Immediate(32)
"""What PTX calls `WARP_SZ`; the shuffles of halves in CUDA's headers use it."""


def split_operands(text: str) -> list[str]:
    """Split at the commas that are outside brackets."""
    pieces: list[str] = []
    depth = start = 0
    for position, char in enumerate(text):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        elif char == "," and depth == 0:
            pieces.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*pieces, last] if last or pieces else []


def parse_integer(text: str) -> int:
    """A PTX integer literal: decimal, hexadecimal, binary or octal, with an optional U."""
    body, sign = (text[1:], -1) if text.startswith("-") else (text, 1)
    body = body.rstrip("U")
    if len(body) > 1 and body[0] == "0" and body.isdigit():
        return sign * int(body, 8)
    return sign * int(body, 0)


def parse_literal(text: str) -> Immediate | None:
    """A literal, or None if the text is a name."""
    if _INTEGER.match(text):
        return Immediate(parse_integer(text))
    if match := _FLOAT32.match(text):
        bits = int(match[1], 16)
        return Immediate(struct.unpack("<f", bits.to_bytes(4, "little"))[0], bits)
    if match := _FLOAT64.match(text):
        bits = int(match[1], 16)
        return Immediate(struct.unpack("<d", bits.to_bytes(8, "little"))[0], bits)
    if _DECIMAL.match(text):
        return Immediate(float(text))
    return None


class OperandParser:
    """Parses operands under scopes, which make unique names of written ones."""

    def __init__(self, unique: Callable[[str], str], plain_registers: set[str]) -> None:
        self._unique = unique
        self._registers = plain_registers

    def parse(self, text: str) -> Operand:
        if text.startswith("["):
            return self._address(text[1:-1].strip())
        if text.startswith("{"):
            items = tuple(self._item(piece) for piece in split_operands(text[1:-1]))
            return Vector(items)
        if text.startswith("("):
            return NameList(tuple(self._unique(p) for p in split_operands(text[1:-1])))
        if "|" in text:
            return Vector(tuple(self._item(piece.strip()) for piece in text.split("|")), pair=True)
        item = self._item(text)
        if item is None:
            return Vector((None,))
        return item

    def _item(self, text: str) -> Register | Immediate | Symbol | None:
        if text == "_":
            return None
        if text.startswith("!"):
            return Register(self._unique(text[1:].strip()), negated=True)
        literal = WARP_SIZE if text == "WARP_SZ" else parse_literal(text)
        if literal is not None:
            return literal
        return self._name(text)

    def _name(self, text: str) -> Register | Symbol:
        unique = self._unique(text)
        if unique.startswith("%") or unique in self._registers:
            return Register(unique)
        if match := _SUM.match(text):
            return Symbol(self._unique(match[1]), parse_integer(match[2]))
        return Symbol(unique)

    def _address(self, text: str) -> Address:
        literal = parse_literal(text)
        if literal is not None:
            return Address(None, int(literal.value))
        offset = 0
        if match := _SUM.match(text):
            text, offset = match[1].strip(), parse_integer(match[2])
        return Address(self._name(text), offset)
