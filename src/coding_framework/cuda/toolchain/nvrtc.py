"""NVRTC: CUDA C++ to PTX and cubin in one pass, without nvcc, a host compiler or a GPU.

`compile_request` runs in a worker process. One call for a real architecture gives the cubin, the PTX
it was made from and ptxas' report (40 ms for a small kernel; PTX alone takes two thirds of that, and
assembling it apart more than the last third, so sources with the same code are compiled all the same).
"""

from __future__ import annotations

import contextlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from coding_framework.cuda.toolchain import standins
from coding_framework.cuda.toolchain.compiler_log import shorten_log
from coding_framework.cuda.toolchain.messages import CompileRequest, RawCompilation
from coding_framework.cuda.toolchain.private_folder import private_folder
from coding_framework.cuda.toolchain.ptx_identity import code_digest
from coding_framework.cuda.toolchain.standins import SOURCE_NAME, standin_headers
from coding_framework.errors import ToolchainMissingError

_HOST_FUNCTION = re.compile(
    rf"^{re.escape(SOURCE_NAME)}\((\d+)\): error: A function without execution space annotations",
    re.MULTILINE,
)
_ERROR = re.compile(r"^.*\(\d+\): (?:catastrophic )?error", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(r"(?:catastrophic|internal) error: out of memory")
_FILE = re.compile(r'(\.file\s+\d+\s+")[^"]*?/((?:cf/)?[^"/]+")')


def nvrtc_module() -> Any:
    """The binding, or a message that says what to install."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:
        raise ToolchainMissingError(
            f"NVRTC cannot be loaded ({error}): run  pip install cuda-bindings nvidia-cuda-nvrtc"
        ) from error
    return nvrtc


@cache
def nvrtc_version() -> str:
    """E.g. `13.0`."""
    _, major, minor = nvrtc_module().nvrtcVersion()
    return f"{major}.{minor}"


@cache
def supported_architectures() -> tuple[str, ...]:
    """Real architectures this NVRTC can compile for, e.g. `sm_90`."""
    answer = nvrtc_module().nvrtcGetSupportedArchs()
    return tuple(f"sm_{number}" for number in answer[-1])


def compile_request(request: CompileRequest) -> RawCompilation:
    """Compile in this process; relative includes find an empty folder."""
    plain = standins.is_plain(request.source)
    source, flags = standins.with_prelude(request.source, plain=plain), _flags(request, plain=plain)
    with contextlib.chdir(_empty_folder()):
        raw = _compile(source, flags)
        if raw.outcome == "rejected" and _only_constexpr_helpers(raw.log, request.source):
            return _compile(source, [*flags, "--device-as-default-execution-space"])
        return raw


def _empty_folder() -> Path:
    """NVRTC writes no files, so that it stays empty."""
    folder = private_folder() / "empty"
    folder.mkdir(exist_ok=True)
    return folder


def _flags(request: CompileRequest, *, plain: bool) -> list[str]:
    return [
        f"--gpu-architecture={request.architecture}",
        "-lineinfo",
        "--ptxas-options=-v",
        *_newer_flags(plain=plain),
        *(f"-I{folder}" for folder in request.include_dirs),
        *request.extra_flags,
    ]


def _newer_flags(*, plain: bool) -> tuple[str, ...]:
    """Those that an NVRTC before 12.9 does not know.

    Where there is a driver, NVRTC keeps results in the user's folder. Ours is the only cache: it is
    bounded, and what comes out of it is counted as such.
    """
    if not _is_recent():
        return ()
    return ("--no-cache", "--minimal") if plain else ("--no-cache",)


@cache
def _is_recent() -> bool:
    return tuple(int(part) for part in nvrtc_version().split(".")) >= (12, 9)


def _only_constexpr_helpers(log: str, source: str) -> bool:
    """Whether every error is an unannotated `constexpr` function, which nvcc lets kernels call.

    Other unannotated functions are host functions to nvcc as well, so they stay errors.
    """
    lines = source.split("\n")
    helpers = [int(number) for number in _HOST_FUNCTION.findall(log)]
    return (
        bool(helpers)
        and len(helpers) == len(_ERROR.findall(log))
        and all(number <= len(lines) and "constexpr" in lines[number - 1] for number in helpers)
    )


def _compile(source: str, flags: list[str]) -> RawCompilation:
    nvrtc = nvrtc_module()
    headers = standin_headers()
    texts, names = [text.encode() for text in headers.values()], [name.encode() for name in headers]
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), SOURCE_NAME.encode(), len(texts), texts, names)
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        log = shorten_log(_fetch(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
        if not _is_built(nvrtc.nvrtcResult, status, log):
            return RawCompilation("rejected", log)
        ptx = _fetch(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).rstrip(b"\0").decode()
        cubin = _fetch(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        ptx = plain_file_names(ptx)
        return RawCompilation("built", log, ptx, cubin, code_digest(ptx))
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _is_built(codes: Any, status: Any, log: str) -> bool:
    """False for a fault of the source; raises MemoryError, which also has the worker replaced."""
    if status == codes.NVRTC_SUCCESS:
        return True
    if status == codes.NVRTC_ERROR_OUT_OF_MEMORY or _OUT_OF_MEMORY.search(log):
        raise MemoryError
    if status == codes.NVRTC_ERROR_COMPILATION:
        return False
    raise RuntimeError(f"{status.name}: {log[:2000]}")


def _fetch(program: Any, size: Any, get: Any) -> bytes:
    _, length = size(program)
    buffer = bytes(length)
    get(program, buffer)
    return buffer


def plain_file_names(ptx: str) -> str:
    """`.file` directives without the temporary folder, so that equal sources give equal PTX."""
    return _FILE.sub(r"\1\2", ptx)
