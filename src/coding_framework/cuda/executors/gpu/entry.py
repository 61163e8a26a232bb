"""A kernel's parameters as its PTX declares them, and a launch ready for the driver.

The parameter block is encoded by the same code as the emulator's, and handed over as one buffer.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from coding_framework.cuda.executors.base import FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.launch_check import check_launch, encode_arguments
from coding_framework.cuda.executors.emulator.ptx import Variable
from coding_framework.cuda.executors.emulator.ptx.declarations import (
    DeclarationError,
    parse_demands,
    parse_variable,
)
from coding_framework.cuda.executors.emulator.ptx.model import NO_DEMANDS, Demands
from coding_framework.cuda.executors.emulator.ptx.statements import strip_comments

_ENTRY = re.compile(r"^\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)", re.MULTILINE)
_POINTER_HINT = re.compile(r"\.ptr(?:\s+\.(?!align)\w+)*(?:\s+\.align\s+\d+)?")


@dataclass
class PtxEntry:
    """One `.entry`, as far as a launch must fit it."""

    name: str
    parameters: tuple[Variable, ...]
    demands: Demands = NO_DEMANDS
    static_shared_bytes: int = 0
    registers: int | None = None

    @cached_property
    def parameter_offsets(self) -> tuple[int, ...]:
        return _offsets(self.parameters)[0]

    @cached_property
    def parameter_bytes(self) -> int:
        return _offsets(self.parameters)[1]


@lru_cache(maxsize=32)
def ptx_entries(ptx: str) -> dict[str, PtxEntry]:
    """Every kernel of a PTX text by name; raises `KernelFault` for one that is declared in two ways.

    A candidate can put text of its own there (inline assembly), but no second kernel of the same name.
    """
    entries: dict[str, PtxEntry] = {}
    for name, text, directives in _ENTRY.findall(strip_comments(ptx)):
        try:
            entry = PtxEntry(name, _parameters(text), parse_demands(directives))
        except DeclarationError as error:
            raise KernelFault(FaultKind.INVALID_LAUNCH, f"`{name}`: {error}") from None
        if entries.setdefault(name, entry) != entry:
            raise KernelFault(FaultKind.INVALID_LAUNCH, f"`{name}` is declared in two ways")
    return entries


def _parameters(text: str) -> tuple[Variable, ...]:
    return tuple(_parameter(piece.strip()) for piece in text.split(",") if piece.strip())


def _parameter(text: str) -> Variable:
    return parse_variable(_POINTER_HINT.sub("", text))


def _offsets(parameters: tuple[Variable, ...]) -> tuple[tuple[int, ...], int]:
    offsets, at = [], 0
    for parameter in parameters:
        at = -(-at // parameter.alignment) * parameter.alignment
        offsets.append(at)
        at += parameter.num_bytes
    return tuple(offsets), at


class PreparedLaunch:
    """A launch whose arguments lie encoded in memory, so that firing it is one call."""

    def __init__(
        self, launch: ResolvedLaunch, entry: PtxEntry, function: Any, addresses: Mapping[str, int]
    ) -> None:
        check_launch(launch, entry, entry.registers)
        block = encode_arguments(launch, entry, addresses)
        self.grid, self.block, self.shared_bytes = launch.grid, launch.block, launch.shared_bytes
        self.function = function
        self._block = ctypes.create_string_buffer(block, max(len(block), 1))
        self._size = ctypes.c_size_t(entry.parameter_bytes)
        self._extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self._block), 2, ctypes.addressof(self._size), 0
        )
        self.extra = ctypes.addressof(self._extra)
