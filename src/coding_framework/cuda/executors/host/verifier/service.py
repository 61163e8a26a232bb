"""The verifier: a trusted process that owns the exchange memory and knows what is right.

Called by name through a `Worker`; keeps the prepared shapes between calls. For every call: `fill`
puts secret inputs and weights into its set and poisons the outputs; the child runs; `collect` copies
the outputs into private memory at once, which is the moment at which the judge's clock stops. After some
calls `examine` computes the expected values, compares, and looks again for whatever changed meanwhile.

Expected values do not exist while the candidate runs, and never leave this process but for a few
wrong elements in a report.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from coding_framework.cuda.executors.host.exchange.layout import Placed
from coding_framework.cuda.executors.host.verifier.comparing import Comparison, WrongAt, compare
from coding_framework.cuda.executors.host.verifier.device_facts import memory_bytes, release_memory
from coding_framework.cuda.executors.host.verifier.drawing import DrawnSet
from coding_framework.cuda.executors.host.verifier.prepared import PreparedShape, prepare_shape
from coding_framework.cuda.executors.host.verifier.records import (
    SetFill,
    SetReport,
    ShapeFacts,
    ShapeJob,
    TaskUnusable,
)
from coding_framework.errors import DeviceFull, UserError

if TYPE_CHECKING:
    import torch

QUIET_S = 0.005
"""Pause before the second look at an output: time for a late writer to give itself away."""
_shapes: dict[str, PreparedShape] = {}


def prepare(job: ShapeJob) -> ShapeFacts | TaskUnusable:
    """Build the reference for one shape and the memory for its sets."""
    try:
        shape = _shapes[job.key] = prepare_shape(job)
    except UserError as error:
        return TaskUnusable(str(error))
    except DeviceFull as error:
        return TaskUnusable(str(error), for_now=True)
    return shape.facts


def forget(key: str) -> None:
    """Give a shape's memory back."""
    shape = _shapes.pop(key, None)
    if shape is not None:
        shape.collected.clear()
        shape.arena.close()
        release_memory(shape.reference.device)


def rest(device: str) -> None:
    """Between two candidates: what looking at one took is for others to use."""
    for shape in _shapes.values():
        shape.collected.clear()
        shape.flushed.clear()
    release_memory(device)


def memory(device: str) -> tuple[int, int]:
    """Of the device: what is free now, and what there is in all."""
    return memory_bytes(device)


def fill(key: str, item: SetFill) -> None:
    """Fresh contents, poisoned outputs, whole guards; returns when the device has them."""
    shape = _shapes[key]
    drawn = shape.reference.draw(item.seed, item.distribution)
    for slot, value in zip(shape.read_slots(item.index), tensors_of(drawn), strict=True):
        slot.copy_(value)
    shape.poison(item)
    shape.synchronize()


def collect(key: str, index: int) -> None:
    """Copy the outputs of this set into private memory, now."""
    shape = _shapes[key]
    shape.collected[index] = [slot.clone() for slot in shape.output_slots(index)]
    shape.synchronize()


def examine(key: str, fills: tuple[SetFill, ...]) -> tuple[SetReport, ...]:
    """What the collected outputs are worth."""
    shape = _shapes[key]
    time.sleep(QUIET_S)
    shape.look_at_flush()
    late = {item.index: _is_late(shape, item.index) for item in fills}
    first_of: dict[int, int] = {}
    for item in fills:
        first_of.setdefault(item.seed, item.index)
    reports = tuple(_examine_set(shape, item, late[item.index], first_of[item.seed]) for item in fills)
    shape.collected.clear()
    shape.flushed.clear()
    return reports


def tensors_of(drawn: DrawnSet) -> list[torch.Tensor]:
    """Inputs, parameters and buffers, as they lie in a set."""
    import torch

    inputs = [value for value in drawn.inputs if isinstance(value, torch.Tensor)]
    return [*inputs, *drawn.parameters, *drawn.buffers]


def _is_late(shape: PreparedShape, index: int) -> bool:
    pairs = zip(shape.output_slots(index), shape.collected[index], strict=True)
    return not all(_same_bytes(slot, kept) for slot, kept in pairs)


def _examine_set(shape: PreparedShape, item: SetFill, late: bool, first: int) -> SetReport:
    drawn = shape.reference.draw(item.seed, item.distribution)
    changed = _changed(shape, item.index, drawn)
    expectation = shape.reference.expected(drawn)
    outputs = shape.collected[item.index]
    compared = [
        compare(placed.tensor.name, actual, wide, narrow, relative=shape.relative, absolute=shape.absolute)
        for placed, actual, wide, narrow in zip(
            shape.map(item.index).outputs, outputs, expectation.wide, expectation.narrow, strict=True
        )
    ]
    return SetReport(
        index=item.index,
        max_error_ratio=max(entry.max_error_ratio for entry in compared),
        num_wrong=sum(entry.num_wrong for entry in compared),
        num_elements=sum(entry.num_elements for entry in compared),
        num_unwritten=shape.count_poison(item),
        wrong=_first_wrong(compared),
        changed=changed,
        guard_broken=not shape.guards_whole(item.index),
        late_write=late,
        flushed=shape.flushed[item.index],
        differs=not all(map(_same_bytes, outputs, shape.collected[first])),
    )


def _first_wrong(compared: list[Comparison]) -> tuple[WrongAt, ...]:
    return next((entry.wrong for entry in compared if entry.wrong), ())


def _changed(shape: PreparedShape, index: int, drawn: DrawnSet) -> str | None:
    """The first input or parameter whose bytes are not those that were put there; buffers may change."""
    placed = shape.map(index)
    watched: tuple[Placed, ...] = (*placed.input_tensors, *placed.parameters)
    for item, value in zip(watched, tensors_of(drawn), strict=False):
        if not _same_bytes(shape.arena.view(item), value):
            return item.tensor.name
    return None


def _same_bytes(first: torch.Tensor, second: torch.Tensor) -> bool:
    import torch

    def flat(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.contiguous().view(-1).view(torch.uint8)

    return bool(torch.equal(flat(first), flat(second)))
