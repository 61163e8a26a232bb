"""Where every tensor of the exchange memory lies: one map for the verifier and for the child.

A *set* is everything one call needs: inputs, the module's state, room for the outputs, and a region
that is overwritten before the call to empty the L2 cache. Sets follow each other at a fixed stride;
after every tensor lies a guard zone whose bytes must survive. Nothing here knows torch.
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
    """One set, placed."""

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
        return round_up(self.set_map(0).flush.end + GUARD_BYTES)

    @property
    def total_bytes(self) -> int:
        return self.num_sets * self.set_bytes

    def set_map(self, index: int) -> SetMap:
        """The offsets of set `index`."""
        start = 0 if index == 0 else index * self.set_bytes
        cursor = _Cursor(start)
        return SetMap(
            inputs=tuple(cursor.place(i) if isinstance(i, TensorShape) else i for i in self.call.inputs),
            parameters=tuple(map(cursor.place, self.call.parameters)),
            buffers=tuple(map(cursor.place, self.call.buffers)),
            outputs=tuple(map(cursor.place, self.call.outputs)),
            flush=cursor.place(TensorShape("flush", (self.flush_bytes,), "uint8")),
        )

    def guard_ranges(self, index: int) -> tuple[tuple[int, int], ...]:
        """(start, end) of every guard zone of a set: from each tensor's end to the next one's start."""
        placed = self.set_map(index)
        ends = [item.end for item in (*placed.tensors, placed.flush)]
        return tuple((end, round_up(end + GUARD_BYTES)) for end in ends)


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
