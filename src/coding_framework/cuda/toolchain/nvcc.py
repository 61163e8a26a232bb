"""nvcc, the referee: asked when NVRTC rejects a source for a reason that might be NVRTC's alone.

Runs in a worker process, so its time and memory are limited with it. Flags are nvcc's defaults and
`--expt-relaxed-constexpr`, which the usual build systems for CUDA extensions pass as well.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from coding_framework.cuda.toolchain.compiler_log import shorten_log
from coding_framework.cuda.toolchain.messages import CompileRequest, RawCompilation
from coding_framework.cuda.toolchain.nvrtc import plain_file_names
from coding_framework.cuda.toolchain.private_folder import private_folder
from coding_framework.cuda.toolchain.ptx_identity import code_digest
from coding_framework.cuda.toolchain.standins import SOURCE_NAME
from coding_framework.errors import ToolchainMissingError

_RELEASE = re.compile(r"release (\d+\.\d+)")
_OUT_OF_MEMORY = re.compile(r"error: out of memory|bad_alloc|cannot allocate memory|Killed", re.IGNORECASE)
_VERSION_TIMEOUT_S = 20.0


@cache
def nvcc_version(nvcc: Path) -> str:
    """E.g. `13.0`; raises `ToolchainMissingError` when it does not run."""
    try:
        answer = subprocess.run(
            [str(nvcc), "--version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainMissingError(f"{nvcc} does not run: {error}") from error
    found = _RELEASE.search(answer.stdout)
    if found is None:
        raise ToolchainMissingError(f"{nvcc} --version does not name a release")
    return found[1]


def compile_request(request: CompileRequest) -> RawCompilation:
    """Source to PTX with nvcc, PTX to cubin with the ptxas beside it."""
    with tempfile.TemporaryDirectory(dir=private_folder()) as name:
        folder = Path(name)
        (folder / SOURCE_NAME).write_text(request.source)
        front_log, built = _run(folder, _front_end(request))
        if not built:
            return RawCompilation("rejected", front_log)
        back_log, built = _run(folder, _assembler(request))
        log = f"{front_log}\n{back_log}"
        if not built:
            return RawCompilation("rejected", log)
        ptx = plain_file_names((folder / "kernel.ptx").read_text())
        cubin = (folder / "kernel.cubin").read_bytes()
        return RawCompilation("built", log, ptx, cubin, code_digest(ptx))


def _front_end(request: CompileRequest) -> list[str]:
    return [
        *(request.tool, "-ptx", f"-arch={request.architecture}", "-lineinfo", "--expt-relaxed-constexpr"),
        *request.extra_flags,
        *("-o", "kernel.ptx", SOURCE_NAME),
    ]


def _assembler(request: CompileRequest) -> list[str]:
    # A fat wrapper may hide the real folder: nvcc itself passes PTX on to the right ptxas.
    return [
        *(request.tool, "-cubin", f"-arch={request.architecture}", "-lineinfo", "-Xptxas", "-v"),
        *request.extra_flags,
        *("-o", "kernel.cubin", "kernel.ptx"),
    ]


def _run(folder: Path, command: list[str]) -> tuple[str, bool]:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    log = done.stdout + done.stderr
    if done.returncode != 0 and _OUT_OF_MEMORY.search(log):
        raise MemoryError
    return shorten_log(log), done.returncode == 0
