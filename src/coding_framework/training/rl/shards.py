"""The weights of one checkpoint, joined from the files that the workers wrote.

Each worker of FSDP2 saves the rows that it holds. verl's own merger joins them too, but rounds every
tensor to bfloat16 on the way: what RL changes is often smaller than that rounding.

Guaranteed: float32 stays float32; a missing file, or a layout that is not one row of workers, is an
error. Not guaranteed: that all files were written in the same step: verl writes its marker after the last.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coding_framework.errors import TrainingError

_SHARD = re.compile(r"^model_world_size_(?P<workers>\d+)_rank_(?P<rank>\d+)\.pt$")


class Shards:
    """The files of all workers, mapped into memory and read one tensor at a time."""

    def __init__(self, actor: Path) -> None:
        self._states = [_load(path) for path in _files(actor)]

    @property
    def names(self) -> list[str]:
        return list(self._states[0])

    def tensors(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """(name, whole tensor)."""
        for name in names:
            yield name, _joined(name, [state[name] for state in self._states])


def _files(actor: Path) -> list[Path]:
    """In the order of the workers."""
    found = {
        int(match["rank"]): (path, int(match["workers"]))
        for path in actor.glob("model_world_size_*")
        if (match := _SHARD.match(path.name))
    }
    if not found:
        raise TrainingError(f"{actor} holds no model weights")
    workers = {number for _, number in found.values()}
    if len(workers) > 1 or set(found) != set(range(max(workers))):
        raise TrainingError(
            f"{actor} holds the weights of workers {sorted(found)}, of {max(workers)} in all: the run "
            "folder must be one that every node sees"
        )
    return [found[rank][0] for rank in sorted(found)]


def _load(path: Path) -> dict[str, Any]:
    import torch

    # A warning about process groups that only matters to torch.compile.
    logging.getLogger("torch.distributed.device_mesh").setLevel(logging.ERROR)
    # Our own file, from our own process: it holds DTensors, which the restricted loader refuses.
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=False, mmap=True)
    return state


def _joined(name: str, parts: Sequence[Any]) -> Any:
    """Rows of a split tensor one below the other; one copy of what every worker holds whole."""
    import torch

    placements = getattr(parts[0], "placements", None)
    if placements is None:
        return parts[0]
    if len(placements) != 1:
        raise TrainingError(f"{name} is laid out as {placements}: only one row of workers can be joined")
    local = [part._local_tensor for part in parts]
    (placement,) = placements
    return torch.cat(local, dim=placement.dim) if placement.is_shard() else local[0]
