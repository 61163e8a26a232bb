"""What this machine has for training, found by looking and without loading torch."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field

from coding_framework.agents.models.store import cache_folder
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.records import Record
from coding_framework.records.cores import usable_cores


class Card(Record):
    """One GPU."""

    name: str
    """E.g. `NVIDIA H200`."""
    memory_bytes: int = Field(gt=0)
    """All of it."""
    architecture: str = "sm_90"
    """What kernels are compiled for there."""


class Machine(Record):
    """One machine."""

    cores: int = Field(ge=1)
    """That this process may use."""
    memory_bytes: int = Field(gt=0)
    """Of the host."""
    cards: tuple[Card, ...] = ()
    """In the driver's order."""
    no_cards_because: str = ""
    """Why there are none."""
    packages: frozenset[str] = frozenset()
    """Of those that change a decision, the ones that are installed."""
    free_disk_bytes: int | None = Field(default=None, ge=0)
    """Where runs are kept; None if nobody looked."""
    free_cache_bytes: int | None = Field(default=None, ge=0)
    """Where fetched models are kept; None if nobody looked."""
    one_disk: bool = False
    """Whether runs and fetched models share it."""
    runs_refused_because: str = ""
    """Why no run folder can be made there; empty if nothing is in the way."""
    free_shared_bytes: int | None = Field(default=None, ge=0)
    """In the memory that processes share (`/dev/shm`); None if nobody looked."""


_DECIDING = (
    *("torch", "transformers", "peft", "bitsandbytes", "flash_attn", "vllm"),
    *("verl", "ray", "transfer_queue", "tensordict", "pyarrow"),
    *("tensorboard", "wandb", "trackio"),
)


def look_at_machine(runs: Path | None = None) -> Machine:
    """This machine, with the disk that holds `runs`."""
    _, gpus, reason = find_gpus()
    return Machine(
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        cards=tuple(
            Card(name=gpu.name, memory_bytes=gpu.memory_bytes, architecture=gpu.architecture) for gpu in gpus
        ),
        no_cards_because=reason,
        packages=frozenset(name for name in _DECIDING if find_spec(name) is not None),
        free_disk_bytes=_free_bytes(runs) if runs is not None else None,
        free_cache_bytes=_free_bytes(cache_folder()) if runs is not None else None,
        one_disk=runs is not None and _there(runs).stat().st_dev == _there(cache_folder()).stat().st_dev,
        runs_refused_because=_refused_because(runs) if runs is not None else "",
        free_shared_bytes=_free_bytes(Path("/dev/shm")),
    )


def _free_bytes(folder: Path) -> int:
    """On the disk that would hold it; the folder need not exist."""
    return shutil.disk_usage(_there(folder)).free


def _there(folder: Path) -> Path:
    """The folder, or what is there of the way to it."""
    folder = folder.expanduser().absolute()
    return next(place for place in (folder, *folder.parents) if place.exists())


def _refused_because(folder: Path) -> str:
    there = _there(folder)
    if not there.is_dir():
        return f"{there} is a file"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written to"
