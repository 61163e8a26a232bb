"""What is on this machine, found by looking and never by guessing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from coding_framework.records import Record

EXTRAS = {
    "train": ("torch", "transformers", "peft"),
    "verl": ("verl", "ray"),
    "watch": ("tensorboard", "wandb", "trackio"),
    "serve": ("fastapi", "uvicorn"),
}
EXTRA_GIVES = {
    "train": "SFT, sampling in this process, the report's plots",
    "verl": "reinforcement learning",
    "watch": "TensorBoard, wandb and trackio beside metrics.jsonl",
    "serve": "serving a trained model",
}


class MachineItem(Record):
    """One thing that may be here."""

    name: str
    """What."""
    present: bool
    """Whether it is here and answers."""
    detail: str
    """Version and place, or why it is missing."""
    gives: str
    """What it is needed for."""


class MachineReport(Record):
    """Everything `cuda-rl doctor` looks at."""

    items: tuple[MachineItem, ...]
    """In the order of the flow."""

    @property
    def summary(self) -> str:
        have = {item.name for item in self.items if item.present}
        if "NVRTC" not in have:
            return "Nothing can be judged here: install the core dependencies again."
        if not {"extra train", "extra verl"} <= have:
            return "Kernels can be judged here; to train, install the missing extras."
        where = "on the GPU" if "NVIDIA GPU" in have else "without a GPU (times are modelled)"
        return f"Kernels can be judged and models trained here, {where}. Next: make quick-test"


def inspect_machine() -> MachineReport:
    """Look at everything once."""
    return MachineReport(
        items=(
            _python(),
            _hardware(),
            *_toolchain(),
            *_sandboxes(),
            *(_extra(name) for name in EXTRAS),
            *_models(),
        )
    )


def _python() -> MachineItem:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return MachineItem(
        name="Python",
        present=sys.version_info >= (3, 11),
        detail=f"{version} ({sys.executable})",
        gives="everything",
    )


def _hardware() -> MachineItem:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    free_gb = shutil.disk_usage(Path.cwd()).free / 2**30
    detail = f"{os.cpu_count()} cores, {memory_gb:.0f} GiB memory, {free_gb:.0f} GiB free disk"
    return MachineItem(
        name="machine",
        present=free_gb > 5,
        detail=detail,
        gives="5 GiB of disk hold the quick run; `cuda-rl train --plan` says what others need",
    )


def _toolchain() -> list[MachineItem]:
    from coding_framework.cuda.toolchain.detect import describe_toolchain

    found = describe_toolchain()
    gpus = ", ".join(f"{gpu.name} ({gpu.architecture})" for gpu in found.gpus)
    headers = ", ".join(str(folder) for folder in found.include_dirs)
    rows = (
        ("NVRTC", "nvrtc", _place(found.nvrtc_version, found.nvrtc_path), "compiling kernels, no GPU needed"),
        ("CUDA headers", "headers", headers, "cuda_fp16.h, cooperative groups, cub"),
        (
            "nvcc",
            "nvcc",
            _place(found.nvcc_version, found.nvcc_path),
            "a second opinion on what NVRTC rejects",
        ),
        ("NVIDIA GPU", "gpu", gpus, "measured times instead of modelled ones"),
    )
    items = [
        MachineItem(
            name=name, present=key not in found.missing, detail=found.missing.get(key, detail), gives=gives
        )
        for name, key, detail, gives in rows
    ]
    chosen = f"{found.architecture} ({found.architecture_reason})"
    return [*items, MachineItem(name="architecture", present=True, detail=chosen, gives="what `auto` means")]


def _place(version: str | None, path: Path | None) -> str:
    return f"{version} ({path})"


def _sandboxes() -> list[MachineItem]:
    """Best first; a first program was run in each that is present."""
    from coding_framework.cuda.safety_wrapper import describe_sandboxes

    return [
        MachineItem(
            name=f"sandbox {found.name}",
            present=found.available,
            detail=found.reason,
            gives="isolation of host code (kernel candidates hold none)",
        )
        for found in describe_sandboxes()
    ]


def inspect_docker() -> MachineItem:
    """Whether an engine answers."""
    gives = "isolation of host code (kernel candidates hold none)"
    if shutil.which("docker") is None:
        return MachineItem(name="Docker", present=False, detail="no docker command", gives=gives)
    try:
        answer = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except subprocess.TimeoutExpired:
        return MachineItem(name="Docker", present=False, detail="the engine does not answer", gives=gives)
    detail = answer.stdout.strip() if answer.returncode == 0 else "the command is here, but no engine answers"
    return MachineItem(name="Docker", present=answer.returncode == 0, detail=detail, gives=gives)


def _extra(name: str) -> MachineItem:
    missing = [package for package in EXTRAS[name] if find_spec(package) is None]
    detail = (
        "installed" if not missing else f"pip install 'coding_framework[{name}]' (no {', '.join(missing)})"
    )
    return MachineItem(name=f"extra {name}", present=not missing, detail=detail, gives=EXTRA_GIVES[name])


def _models() -> list[MachineItem]:
    from coding_framework.agents.models.store import list_models

    return [
        MachineItem(
            name=f"model {model.name}",
            present=model.fetched,
            detail=str(model.path or f"cuda-rl models fetch {model.name} ({model.size_bytes / 1e6:,.0f} MB)"),
            gives="something to train",
        )
        for model in list_models()
    ]
