"""Where every tensor of the exchange memory lies: one map for the verifier and for the child.

A *set* is everything one call needs: inputs, the module's state, room for the outputs. Sets follow each
other at a fixed stride, and behind them lies one region for all of them that is overwritten before a call
to empty the L2 cache: it is larger than many a set, and calls are made one after the other. After every
tensor lies a guard zone whose bytes must survive. Nothing here knows torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

ALIGNMENT = 512
"""As torch's allocator aligns, so that vector loads work as they would on its tensors."""
GUARD_BYTES = 512
ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
}

_SHARE = 1 / 8
_TIMES_A_SET = 16
"""A candidate may take so much of the device, or so many times what a call is given and gives back."""


@dataclass(frozen=True)
class TensorShape:
    """A tensor without its values."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """torch's name of it, e.g. `float32`."""

    @property
    def num_bytes(self) -> int:
        return prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class Constant:
    """An argument of `forward` that is not a tensor."""

    value: object


@dataclass(frozen=True)
class CallShape:
    """What goes into one call and comes out of it."""

    inputs: tuple[TensorShape | Constant, ...]
    """Arguments of the module's `forward`, in order."""
    parameters: tuple[TensorShape, ...]
    """In the order of `named_parameters`."""
    buffers: tuple[TensorShape, ...]
    """In the order of `named_buffers`."""
    outputs: tuple[TensorShape, ...]

    @property
    def input_tensors(self) -> tuple[TensorShape, ...]:
        return tuple(item for item in self.inputs if isinstance(item, TensorShape))

    @property
    def read_only(self) -> tuple[TensorShape, ...]:
        """What a call must leave as it was."""
        return (*self.input_tensors, *self.parameters)

    @property
    def compulsory_bytes(self) -> int:
        """Every input and parameter read once, every output written once."""
        return sum(tensor.num_bytes for tensor in self.read_only) + self.output_bytes

    @property
    def output_bytes(self) -> int:
        return sum(tensor.num_bytes for tensor in self.outputs)


@dataclass(frozen=True)
class Placed:
    """A tensor and the offset of its first byte in the arena."""

    tensor: TensorShape
    offset: int

    @property
    def end(self) -> int:
        return self.offset + self.tensor.num_bytes


@dataclass(frozen=True)
class SetMap:
    """One set, placed, and the region that all of them flush with."""

    inputs: tuple[Placed | Constant, ...]
    parameters: tuple[Placed, ...]
    buffers: tuple[Placed, ...]
    outputs: tuple[Placed, ...]
    flush: Placed

    @property
    def input_tensors(self) -> tuple[Placed, ...]:
        return tuple(item for item in self.inputs if isinstance(item, Placed))

    @property
    def tensors(self) -> tuple[Placed, ...]:
        return (*self.input_tensors, *self.parameters, *self.buffers, *self.outputs)


@dataclass(frozen=True)
class ArenaLayout:
    """`num_sets` sets of one call shape."""

    call: CallShape
    num_sets: int
    flush_bytes: int

    @property
    def set_bytes(self) -> int:
        call = self.call
        tensors = (*call.input_tensors, *call.parameters, *call.buffers, *call.outputs)
        return sum(round_up(tensor.num_bytes + GUARD_BYTES) for tensor in tensors)

    @property
    def total_bytes(self) -> int:
        return round_up(self.flush.end + GUARD_BYTES)

    @property
    def flush(self) -> Placed:
        """Behind the last set."""
        return Placed(TensorShape("flush", (self.flush_bytes,), "uint8"), self.num_sets * self.set_bytes)

    def set_map(self, index: int) -> SetMap:
        """The offsets of set `index`."""
        cursor = _Cursor(index * self.set_bytes)
        return SetMap(
            inputs=tuple(cursor.place(i) if isinstance(i, TensorShape) else i for i in self.call.inputs),
            parameters=tuple(map(cursor.place, self.call.parameters)),
            buffers=tuple(map(cursor.place, self.call.buffers)),
            outputs=tuple(map(cursor.place, self.call.outputs)),
            flush=self.flush,
        )

    def guard_ranges(self, index: int) -> tuple[tuple[int, int], ...]:
        """(start, end) of every guard zone of a set and of the flush region: from each tensor's end on."""
        placed = self.set_map(index)
        ends = [item.end for item in (*placed.tensors, placed.flush)]
        return tuple((end, round_up(end + GUARD_BYTES)) for end in ends)


def allowed_bytes(set_bytes: int, device_bytes: int) -> int:
    """What a candidate may take of the device, through torch: others judge there too."""
    return min(max(int(_SHARE * device_bytes), _TIMES_A_SET * set_bytes), device_bytes)


class _Cursor:
    def __init__(self, start: int) -> None:
        self._offset = start

    def place(self, tensor: TensorShape) -> Placed:
        placed = Placed(tensor, self._offset)
        self._offset = round_up(placed.end + GUARD_BYTES)
        return placed


def round_up(value: int) -> int:
    """To the next multiple of the alignment."""
    return -(-value // ALIGNMENT) * ALIGNMENT
