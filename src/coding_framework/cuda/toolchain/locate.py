"""Where the parts of the CUDA toolkit lie: PyPI wheels first, then a toolkit installed on the machine.

Only looks at the file system; nothing is loaded or run.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from functools import cache
from pathlib import Path


def wheel_roots() -> tuple[Path, ...]:
    """Every `nvidia/cuNN` folder that wheels have made, newest first."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec is not None else None
    roots = [root for place in places or () for root in Path(place).glob("cu[0-9]*") if root.is_dir()]
    return tuple(sorted(roots, reverse=True))


def toolkit_roots() -> tuple[Path, ...]:
    """Toolkits outside the wheels: CUDA_HOME, CUDA_PATH, the one nvcc on PATH belongs to, the usual place."""
    named = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    roots = [Path(name) for name in named if name]
    on_path = shutil.which("nvcc")
    if on_path:
        roots.append(Path(on_path).resolve().parents[1])
    roots.append(Path("/usr/local/cuda"))
    return tuple(root for root in dict.fromkeys(roots) if root.is_dir())


@cache
def include_dirs() -> tuple[Path, ...]:
    """Folders with CUDA's own headers, to be searched in this order; empty when there are none.

    CCCL (cub, `cuda::std`) is a wheel of its own: where it is missing beside the headers, the next
    place that has it is added.
    """
    includes = [root / "include" for root in (*wheel_roots(), *toolkit_roots())]
    headers = next((include for include in includes if (include / "cuda_fp16.h").is_file()), None)
    if headers is None:
        return ()
    libraries = (folder for include in (headers, *includes) for folder in (include / "cccl", include))
    cccl = next((folder for folder in libraries if (folder / "cub" / "cub.cuh").is_file()), None)
    return tuple(dict.fromkeys(folder for folder in (headers, cccl) if folder is not None))


@cache
def find_nvcc() -> Path | None:
    """An nvcc: on PATH, in a toolkit, or in the wheel. It is usable only with a host compiler."""
    on_path = shutil.which("nvcc")
    candidates = [Path(on_path)] if on_path else []
    candidates += [root / "bin" / "nvcc" for root in (*toolkit_roots(), *wheel_roots())]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


@cache
def find_ptxas() -> Path | None:
    """The assembler that goes with nvcc, or the wheel's."""
    roots = [*toolkit_roots(), *wheel_roots()]
    on_path = shutil.which("ptxas")
    candidates = [root / "bin" / "ptxas" for root in roots] + ([Path(on_path)] if on_path else [])
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def find_host_compiler() -> Path | None:
    """The g++ that nvcc would call."""
    found = shutil.which("g++")
    return Path(found) if found else None
