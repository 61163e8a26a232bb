"""A PTX module as NVRTC writes it, into records.

Guaranteed: every register, label and call parameter has a unique name within its function, whatever
braces it was declared in. Not covered: textures, debug sections (skipped), alias directives.
"""

from __future__ import annotations

import re

from coding_framework.cuda.executors.emulator.ptx.declarations import (
    DeclarationError,
    parse_demands,
    parse_variable,
)
from coding_framework.cuda.executors.emulator.ptx.function_body import parse_body
from coding_framework.cuda.executors.emulator.ptx.lines import own_file_of
from coding_framework.cuda.executors.emulator.ptx.model import Function, Module, Variable
from coding_framework.cuda.executors.emulator.ptx.operands import split_operands
from coding_framework.cuda.executors.emulator.ptx.statements import matching_brace, strip_comments


class PtxSyntaxError(ValueError):
    """PTX that this parser does not know; the message quotes it."""


_SPACE = re.compile(r"\s*")
_FUNCTION = re.compile(r"(?:\.(?:visible|weak|extern|common)\s+)*\.(entry|func)\b")
_DIRECTIVE = re.compile(r"\.(version|target|address_size|file|loc|pragma)\b[^\n]*")
_SECTION = re.compile(r"\.section\b[^{]*")
_HEADER = re.compile(
    r"\s*\.(?P<kind>entry|func)\s*(?:\.\w+\s*)*(?:\((?P<results>[^)]*)\))?\s*(?P<name>[\w$]+)\s*"
    r"(?:\((?P<parameters>[^)]*)\))?(?P<directives>[^{;]*)",
    re.S,
)


def parse_module(text: str) -> Module:
    """Parse a whole PTX text; raises `PtxSyntaxError` on what it does not know."""
    try:
        return _parse(strip_comments(text))
    except (DeclarationError, ValueError) as error:
        raise PtxSyntaxError(str(error)) from error


def _parse(text: str) -> Module:
    functions: dict[str, Function] = {}
    variables: list[Variable] = []
    own_file = _entry_file(text)
    position = 0
    while (position := _SPACE.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        if match := _DIRECTIVE.match(text, position):
            position = match.end()
        elif match := _SECTION.match(text, position):
            position = matching_brace(text, match.end()) + 1
        elif match := _FUNCTION.match(text, position):
            function, position = _function(text, match.start(1) - 1, own_file)
            if function is not None:
                functions[function.name] = function
        else:
            stop = text.find(";", position)
            stop = len(text) if stop < 0 else stop
            declaration = text[position:stop].strip()
            if declaration and not declaration.startswith((".alias", ".weak .alias")):
                variables.append(parse_variable(declaration))
            position = stop + 1
    return Module(functions, tuple(variables))


def _entry_file(text: str) -> int | None:
    """The candidate's own file: the one in which the first kernel begins."""
    match = re.search(r"\.entry\b", text)
    return own_file_of(text[match.start() :]) if match else None


def _function(text: str, position: int, own_file: int | None) -> tuple[Function | None, int]:
    header = _HEADER.match(text, position)
    if header is None:
        raise PtxSyntaxError(f"unreadable function header: {text[position : position + 80]!r}")
    stop = header.end()
    if stop >= len(text) or text[stop] == ";":
        return None, stop + 1
    close = matching_brace(text, stop)
    body = parse_body(text[stop + 1 : close], own_file)
    function = Function(
        name=header["name"],
        is_entry=header["kind"] == "entry",
        parameters=_parameters(header["parameters"]),
        results=_parameters(header["results"]),
        registers=body.registers,
        variables=tuple(body.variables),
        body=tuple(body.items),
        demands=parse_demands(header["directives"]),
    )
    return function, close + 1


def _parameters(text: str | None) -> tuple[Variable, ...]:
    return tuple(parse_variable(piece) for piece in split_operands(text or "") if piece)
