"""The naive kernel as the truth on a GPU, in the process that verifies: beside torch, in its context.

The candidate runs elsewhere and sees nothing of it. Not promised: anything about a naive kernel that
faults. It ends the verifier, which is a fault of the task and no verdict on a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from coding_framework.cuda.executors.base import ResolvedLaunch
from coding_framework.cuda.executors.gpu.session import LoadedModule, fire

_DEFAULT_STREAM = 0
"""Torch's own, so that everything stays in order."""


def launch_on_gpu(ptx: str, launches: tuple[ResolvedLaunch, ...], tensors: Mapping[str, Any]) -> None:
    """Put the launches on torch's stream; `tensors` are the kernel's arrays by name."""
    module = _loaded(ptx)
    addresses = {name: int(tensor.data_ptr()) for name, tensor in tensors.items()}
    for launch in launches:
        fire(module.prepare(launch, addresses), _DEFAULT_STREAM)


@lru_cache(maxsize=8)
def _loaded(ptx: str) -> LoadedModule:
    """The driver assembles it, once in a process."""
    return LoadedModule(ptx.encode() + b"\0", ptx)
