"""The sandbox request that starts a child: what it may read, its environment, its limits."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

from coding_framework.config import JudgeConfig
from coding_framework.cuda.sandbox.base import SandboxLimits, SandboxRequest
from coding_framework.cuda.toolchain.locate import toolkit_roots

SOURCE_ROOT = Path(__file__).resolve().parents[4]
_START = "import sys; sys.path.insert(0, {root!r}); from {package}.child.program import main; main()"
_GPU_HOST_BYTES = 16 * 2**30
"""Of the host, for a process that uses a GPU: the driver's and torch's own, and compilers beside it."""
_TOOLS = ("/usr/bin", "/bin", "/usr/local/bin")


def child_request(
    config: JudgeConfig, *, device: str, wall_s: float, arena_files: tuple[Path, ...], cpu_threads: int = 1
) -> SandboxRequest:
    """An isolated interpreter that runs `child/program.py`; the candidate itself is sent later."""
    start = _START.format(root=str(SOURCE_ROOT), package=__package__)
    return SandboxRequest(
        command=(sys.executable, "-I", "-B", "-c", start),
        readable=readable_places(),
        writable=arena_files,
        environment=environment(config, device, cpu_threads),
        limits=SandboxLimits(
            wall_s=wall_s,
            cpu_s=max(1.0, 4 * wall_s),
            memory_bytes=max(config.run_memory_bytes, _GPU_HOST_BYTES if device != "cpu" else 0),
            processes=256,
            file_bytes=2**30,
        ),
        gpu=device != "cpu",
    )


def readable_places() -> tuple[Path, ...]:
    """The Python installation, this package, and the CUDA toolkit."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent)}
    folders = {*sysconfig.get_paths().values(), *site.getsitepackages(), *sys.path}
    places = {Path(place).resolve() for place in (*prefixes, *folders) if place and Path(place).is_dir()}
    places |= {SOURCE_ROOT, *(root.resolve() for root in toolkit_roots())}
    places -= {Path("/"), Path.cwd()}
    return tuple(sorted(_outermost(places)))


def _outermost(places: set[Path]) -> set[Path]:
    """Without folders that lie in another one of the set."""
    return {place for place in places if not any(parent in places for parent in place.parents)}


def environment(config: JudgeConfig, device: str, cpu_threads: int) -> dict[str, str]:
    """Small and fixed: nothing of ours is inherited but where the GPU and the tools are."""
    tools = [*(str(root / "bin") for root in toolkit_roots()), str(Path(sys.executable).parent), *_TOOLS]
    values = {
        "PATH": os.pathsep.join(tools),
        "HOME": ".",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "random",
        "OMP_NUM_THREADS": str(cpu_threads),
        "MAX_JOBS": "4",
        "TORCH_EXTENSIONS_DIR": "torch_extensions",
        "TRITON_CACHE_DIR": "triton_cache",
        "TORCHINDUCTOR_CACHE_DIR": "inductor_cache",
    }
    if device != "cpu":
        values["CUDA_VISIBLE_DEVICES"] = _visible_device(config.gpu_index)
        if toolkit_roots():
            values["CUDA_HOME"] = str(toolkit_roots()[0])
    return values


def _visible_device(index: int) -> str:
    """The same card that we call `index`, by the name it has outside."""
    ours = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return ours[index].strip() if index < len(ours) else str(index)
