"""The prelude, parsed once in a process instead of before every source.

Parsing it is a fifth of a small kernel's compilation (12 of 56 ms of CPU, over the catalogue's 31
kernels); the PTX that comes out is the same to the byte. NVRTC can use a precompiled header only in
the process that made it, and making one costs as much as three compilations save: a process that
compiles but a few sources never makes one. Where it cannot be made, compiling goes on without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coding_framework.cuda.toolchain.private_folder import private_folder
from coding_framework.cuda.toolchain.standins import PRELUDE, SOURCE_NAME, standin_headers

FIRST_USE = 3
"""Compilations of a process, with the same flags, before it is worth making."""
HEAP_BYTES = 64 * 2**20
"""Address space that NVRTC sets aside for it; the prelude takes nine megabytes."""


@dataclass
class PrecompiledPrelude:
    """Which flags have one in this process."""

    _compilations: dict[tuple[str, ...], int] = field(default_factory=dict)
    _made: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def flags(self, nvrtc: Any, compile_flags: list[str]) -> tuple[str, ...]:
        """What to add to these flags: nothing at first, then the use of the header made with them."""
        key = tuple(compile_flags)
        count = self._compilations[key] = self._compilations.get(key, 0) + 1
        if count < FIRST_USE:
            return ()
        if key not in self._made:
            self._made[key] = _make(nvrtc, key, f"prelude{len(self._made)}.pch")
        return self._made[key]


def _make(nvrtc: Any, flags: tuple[str, ...], name: str) -> tuple[str, ...]:
    path = private_folder() / name
    nvrtc.nvrtcSetPCHHeapSize(HEAP_BYTES)
    headers = standin_headers()
    texts, names = [text.encode() for text in headers.values()], [name.encode() for name in headers]
    source = f'#include "{PRELUDE}"\n'.encode()
    _, program = nvrtc.nvrtcCreateProgram(source, SOURCE_NAME.encode(), len(texts), texts, names)
    try:
        options = [flag.encode() for flag in (*flags, f"--create-pch={path}", "--pch-messages=false")]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    made = status == nvrtc.nvrtcResult.NVRTC_SUCCESS and path.is_file()
    return (f"--use-pch={path}", "--pch-messages=false") if made else ()
