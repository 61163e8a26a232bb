"""What the judge and its verifier say to each other: plain data, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.executors.gpu.messages import DeviceFacts
from coding_framework.cuda.executors.host.exchange.layout import ArenaLayout
from coding_framework.cuda.executors.host.exchange.protocol import ArenaHandle
from coding_framework.cuda.executors.host.verifier.comparing import WrongAt
from coding_framework.cuda.executors.host.verifier.drawing import SetDistribution


@dataclass(frozen=True)
class ShapeJob:
    """Prepare one shape of a task."""

    key: str
    """What later calls name it by."""
    task: str
    source: str
    overrides: dict[str, int]
    device: str
    gpu_index: int
    arena_path: str
    num_sets: int
    """Wanted; fewer where memory is short."""
    flush_bytes: int | None
    """Bytes to overwrite before each call; None: twice the L2 cache of the device."""
    relative: float
    absolute: float
    seed: int


@dataclass(frozen=True)
class ShapeFacts:
    """What a prepared shape looks like from outside."""

    layout: ArenaLayout
    arena: ArenaHandle
    init_inputs: bytes
    init_values: tuple[tuple[str, object], ...]
    """Plain init inputs by the name of the constructor's parameter; tensors left out."""
    init_seed: int
    distributions: tuple[SetDistribution, ...]
    card: DeviceFacts | None
    """None on a CPU."""

    @property
    def device_name(self) -> str:
        return "cpu" if self.card is None else self.card.name


@dataclass(frozen=True)
class TaskUnusable:
    """Why a task cannot be judged."""

    words: str
    for_now: bool = False
    """Whether others have the memory that it takes, which may be over soon."""


@dataclass(frozen=True)
class SetFill:
    """Fresh contents for one set."""

    index: int
    seed: int
    distribution: SetDistribution
    flush_value: int
    """What the child will be told to write into the flush region."""


@dataclass(frozen=True)
class SetReport:
    """What the verifier found in one set after a call."""

    index: int
    max_error_ratio: float
    num_wrong: int
    num_elements: int
    num_unwritten: int
    """Elements that still hold the poison."""
    wrong: tuple[WrongAt, ...]
    changed: str | None = None
    """An input or parameter that is not what it was."""
    guard_broken: bool = False
    """Bytes between the tensors were written."""
    late_write: bool = False
    """The output changed after the call was said to be done."""
    flushed: bool = True
    """Whether the flush region holds what it was to be filled with."""
    differs: bool = False
    """Not the same bytes as an earlier set of the same contents."""

    @property
    def right(self) -> bool:
        return self.num_wrong == 0
