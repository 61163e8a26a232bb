"""Runs nvcc on one extension, against the light headers or against torch's; called in a worker process.

The worker's limits hold for everything started here. Nothing is cached here but the runtime object,
which belongs to the light headers and is the same for every source.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coding_framework.cuda.extension.headers import (
    INCLUDE_DIR,
    RUNTIME_SOURCE,
    library_flags,
    write_forwards,
)
from coding_framework.cuda.toolchain.compiler_log import shorten_log
from coding_framework.cuda.toolchain.standins import SOURCE_NAME

_OUT_OF_MEMORY = re.compile(r"error: out of memory|bad_alloc|cannot allocate memory|Killed", re.IGNORECASE)
_HALF_FLAGS = (
    *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"),
    *("-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__"),
)
"""torch's build gives these to every extension: without them some sources would mean something else."""
_EXPORTS = "{ global: cf_extension_*; local: *; };\n"
"""Everything else stays inside: torch's own libraries have symbols of the same names."""
NO_TORCH = "building against the full headers needs torch: pip install 'coding_framework[train]'"


@dataclass(frozen=True)
class BuildRequest:
    """One source and how to build it."""

    source: str
    nvcc: str
    architecture: str
    extra_flags: tuple[str, ...]
    runtime_object: str
    """Where the compiled part of the light headers is, or is to be put."""
    module_name: str
    """Name of the Python module that a full build makes."""


@dataclass(frozen=True)
class RawBuild:
    """What nvcc left behind, not yet understood."""

    outcome: Literal["built", "rejected", "unavailable"]
    log: str
    shared_object: bytes = b""
    has_cuda_headers: bool = True
    """Whether the headers that were used know CUDA: those of a CPU build of torch do not."""


def build_runtime(request: BuildRequest) -> None:
    """Compile the light headers' own code once; two at a time do the same work and harm no one."""
    target = Path(request.runtime_object)
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp.o")
    os.close(descriptor)
    flags = ("-x", "c++", "-c", "-O2", "-std=c++17", "-Xcompiler", "-fPIC,-fvisibility=hidden")
    log, built = _run(
        target.parent, [request.nvcc, *flags, f"-I{INCLUDE_DIR}", "-o", name, str(RUNTIME_SOURCE)]
    )
    if not built:
        Path(name).unlink(missing_ok=True)
        raise RuntimeError(f"the light headers themselves do not compile:\n{log}")
    Path(name).replace(target)


def build_light(request: BuildRequest) -> RawBuild:
    """One pass of nvcc against our own headers, whose own code is compiled already."""
    with tempfile.TemporaryDirectory(prefix="cf-extension-") as name:
        folder = Path(name)
        write_forwards(folder / "include", request.source)
        (folder / "exports.map").write_text(_EXPORTS)
        command = [
            *_common(request),
            *("-std=c++17", "-Xcompiler", "-fPIC,-fvisibility=hidden,-O1", f"-I{INCLUDE_DIR}", "-Iinclude"),
            *("-Xlinker", "--version-script=exports.map", "-Xlinker", "--no-undefined"),
            request.runtime_object,
            *library_flags(request.source),
        ]
        return _compile(folder, request.source, command)


def build_full(request: BuildRequest) -> RawBuild:
    """A Python extension module against torch's own headers, as torch's own tools would build it."""
    try:
        import torch
        from torch.utils import cpp_extension
    except ImportError:
        return RawBuild("unavailable", NO_TORCH)
    folders = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    has_cuda = any((Path(path) / "c10/cuda/impl/cuda_cmake_macros.h").is_file() for path in folders)
    command = [
        *_common(request),
        *("-std=c++20", "-Xcompiler", "-fPIC,-O1", *(f"-I{path}" for path in folders)),
        *("-DTORCH_API_INCLUDE_EXTENSION_H", f"-DTORCH_EXTENSION_NAME={request.module_name}"),
        *_torch_libraries(Path(torch.__file__).parent / "lib"),
        *library_flags(request.source),
    ]
    with tempfile.TemporaryDirectory(prefix="cf-extension-") as name:
        raw = _compile(Path(name), request.source, command)
    return RawBuild(raw.outcome, raw.log, raw.shared_object, has_cuda)


def _common(request: BuildRequest) -> list[str]:
    number = request.architecture.removeprefix("sm_")
    return [
        *(request.nvcc, "-shared", "-gencode", f"arch=compute_{number},code=sm_{number}"),
        *("-nodlink", "-cudart=static", "-lineinfo", "--expt-relaxed-constexpr", "-Xptxas", "-v"),
        *_HALF_FLAGS,
        *request.extra_flags,
    ]


def _torch_libraries(folder: Path) -> list[str]:
    names = ("c10", "torch_cpu", "torch", "torch_python", "c10_cuda", "torch_cuda")
    return [f"-L{folder}", *(f"-l{name}" for name in names if (folder / f"lib{name}.so").is_file())]


def _compile(folder: Path, source: str, command: list[str]) -> RawBuild:
    (folder / SOURCE_NAME).write_text(source)
    log, built = _run(folder, [*command, "-o", "extension.so", SOURCE_NAME])
    if not built:
        return RawBuild("rejected", log)
    return RawBuild("built", log, (folder / "extension.so").read_bytes())


def _run(folder: Path, command: list[str]) -> tuple[str, bool]:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    log = done.stdout + done.stderr
    if done.returncode != 0 and _OUT_OF_MEMORY.search(log):
        raise MemoryError
    return shorten_log(log), done.returncode == 0
