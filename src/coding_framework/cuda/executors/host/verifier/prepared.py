"""One shape of a task, prepared in the verifier: reference, arena, poison, guards."""

from __future__ import annotations

import inspect
import pickle
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coding_framework.cuda.executors.gpu.messages import DeviceFacts
from coding_framework.cuda.executors.host.exchange.arena import Arena, create_arena
from coding_framework.cuda.executors.host.exchange.layout import ArenaLayout, SetMap
from coding_framework.cuda.executors.host.verifier.device_facts import (
    card_of,
    flush_bytes_for,
    full_precision,
    memory_bytes,
    release_memory,
    use_device,
)
from coding_framework.cuda.executors.host.verifier.records import SetFill, ShapeFacts, ShapeJob
from coding_framework.cuda.executors.host.verifier.reference import Reference
from coding_framework.errors import DeviceFull, UserError

if TYPE_CHECKING:
    import torch

GUARD_BYTE = 0xA5
_POISON = {1: 0xA5, 2: 0x7FC0, 4: 0x7FC0DEAD, 8: 0x7FF8DEAD_DEADDEAD}
"""Quiet NaNs in every float format of that width, and unlikely integers."""
_MEMORY_SHARE = 0.3
"""Of a device, for all sets of a shape at the most: the oracle's float64 copies need room as well."""
_FREE_SHARE = 0.1
"""Of what is free: others judge on the same device, and need to find something too."""
_LEAST_SETS = 2


@dataclass
class PreparedShape:
    """Everything the verifier keeps for a shape."""

    reference: Reference
    arena: Arena
    facts: ShapeFacts
    relative: float
    absolute: float
    collected: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    flushed: dict[int, bool] = field(default_factory=dict)
    """By set, whether the flush region held what its last call was to fill it with."""
    _unseen: SetFill | None = None
    """The call whose flush has not been looked at."""

    def map(self, index: int) -> SetMap:
        return self.facts.layout.set_map(index)

    def read_slots(self, index: int) -> list[torch.Tensor]:
        """Inputs, parameters, buffers."""
        placed = self.map(index)
        return [
            self.arena.view(item) for item in (*placed.input_tensors, *placed.parameters, *placed.buffers)
        ]

    def output_slots(self, index: int) -> list[torch.Tensor]:
        return [self.arena.view(item) for item in self.map(index).outputs]

    def poison(self, item: SetFill) -> None:
        """Outputs full of NaN, guards full of their byte, the flush region full of another value."""
        self.look_at_flush()
        for words, pattern in self._poison_words(item):
            words.fill_(pattern)
        for start, end in self.facts.layout.guard_ranges(item.index):
            self.arena.raw(start, end - start).fill_(GUARD_BYTE)
        self.arena.view(self.facts.layout.flush).fill_(item.flush_value ^ 0xFF)
        self._unseen = item

    def count_poison(self, item: SetFill) -> int:
        """Output elements that nobody wrote."""
        kept = self.collected[item.index]
        total = 0
        for output, (_, pattern) in zip(kept, self._poison_words(item), strict=True):
            total += int((_as_words(output) == pattern).sum())
        return total

    def guards_whole(self, index: int) -> bool:
        ranges = self.facts.layout.guard_ranges(index)
        return all(bool((self.arena.raw(start, end - start) == GUARD_BYTE).all()) for start, end in ranges)

    def look_at_flush(self) -> None:
        """Of the last call, before the next one takes the region."""
        last, self._unseen = self._unseen, None
        if last is not None:
            region = self.arena.view(self.facts.layout.flush)
            self.flushed[last.index] = bool((region == last.flush_value).all())

    def synchronize(self) -> None:
        if self.reference.device != "cpu":
            import torch

            torch.cuda.synchronize()

    def _poison_words(self, item: SetFill) -> list[tuple[torch.Tensor, int]]:
        """Each output as whole words, with its pattern; neighbours differ, so a repeat differs too."""
        slots = self.output_slots(item.index)
        return [(_as_words(slot), _POISON[slot.element_size()] - item.index % 16) for slot in slots]


def _as_words(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.contiguous().view(-1).view(words[tensor.element_size()])


def prepare_shape(job: ShapeJob) -> PreparedShape:
    """Build the reference, see what it can do, and make the sets."""
    use_device(job.device, job.gpu_index)
    full_precision()
    reference = Reference(job.task, job.source, job.overrides, job.device, job.seed)
    probe = secrets.randbits(62)
    if not reference.is_repeatable(probe):
        raise UserError(f"task {job.task} gives different results for the same inputs: it cannot be judged")
    card = card_of(job.device)
    distributions = reference.usable_distributions(probe)
    release_memory(job.device)
    layout = _layout(job, reference, card)
    arena = create_arena(job.device, Path(job.arena_path), layout.total_bytes)
    facts = ShapeFacts(
        layout=layout,
        arena=arena.handle,
        init_inputs=pickle.dumps(reference.init_inputs),
        init_values=_plain_init_values(reference),
        init_seed=reference.init_seed,
        distributions=distributions,
        card=card,
    )
    return PreparedShape(reference, arena, facts, job.relative, job.absolute)


def _layout(job: ShapeJob, reference: Reference, card: DeviceFacts | None) -> ArenaLayout:
    flush = flush_bytes_for(card) if job.flush_bytes is None else job.flush_bytes
    least = ArenaLayout(reference.call, _LEAST_SETS, flush)
    free, total = memory_bytes(job.device)
    if least.total_bytes > _MEMORY_SHARE * total:
        raise UserError(f"task {job.task}: a call takes {least.set_bytes:,} bytes, too many for this device")
    room = int(_FREE_SHARE * free) - least.total_bytes
    if room < 0:
        raise DeviceFull(
            f"task {job.task}: a call takes {least.set_bytes:,} bytes, and of this device's memory "
            f"only {free:,} bytes are free: judge with fewer workers"
        )
    return replace(least, num_sets=min(job.num_sets, _LEAST_SETS + room // least.set_bytes))


def _plain_init_values(reference: Reference) -> tuple[tuple[str, object], ...]:
    names = [name for name in inspect.signature(reference.model_class.__init__).parameters if name != "self"]
    names += [f"init {i}" for i in range(len(reference.init_inputs) - len(names))]
    pairs = zip(names, reference.init_inputs, strict=False)
    return tuple((name, value) for name, value in pairs if _is_plain(value))


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in (int, float, bool, str)
