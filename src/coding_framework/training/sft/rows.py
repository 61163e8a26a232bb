"""Pairs become packed rows: several in one, without padding, and positions begin at 0 again with each.

Guarantees: every pair of a step stands in exactly one row; no row is longer than asked for; rows of a step
are about equally long, so that none is a launch for a few tokens; nobody waits for the device while a row
is copied to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from coding_framework.training.sft.examples import Example

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Row:
    """One packed row on the device."""

    tokens: torch.Tensor
    """1 x tokens."""
    positions: torch.Tensor
    """Of each token in its own pair."""
    offsets: torch.Tensor
    """Where pairs begin, and where the last one ends."""
    longest: int
    """Tokens of the longest pair."""
    predicting: torch.Tensor
    """Places whose next token is one of an answer."""
    targets: torch.Tensor
    """These tokens."""

    @property
    def boundaries(self) -> dict[str, Any]:
        """As flash-attn and `packed_attention` take them, so that nobody has to look for them."""
        ends = {"cu_seq_lens_q": self.offsets, "cu_seq_lens_k": self.offsets}
        return {**ends, "max_length_q": self.longest, "max_length_k": self.longest}


def share_out(lengths: Sequence[int], limit: int, multiple: int = 1) -> list[list[int]]:
    """Places in `lengths`, none above `limit`, in as few rows as hold them; their number is a multiple.

    The longest first, each into the shortest row. Rows may be empty where there is less than one each.
    """
    fewest = max(1, math.ceil(sum(lengths) / limit))
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    for count in range(math.ceil(fewest / multiple) * multiple, len(lengths) + multiple, multiple):
        rows: list[list[int]] = [[] for _ in range(count)]
        filled = [0] * count
        for place in order:
            shortest = min(range(count), key=filled.__getitem__)
            rows[shortest].append(place)
            filled[shortest] += lengths[place]
        if max(filled) <= limit:
            return rows
    raise AssertionError("a pair is longer than a row: the config refuses sft.batch_tokens < sft.max_length")


def join(examples: Sequence[Example], device: torch.device) -> Row:
    """The row of these pairs, on the device."""
    import torch

    starts = [0, *accumulate(example.length for example in examples)]
    columns = (
        [token for example in examples for token in (*example.prompt_ids, *example.answer_ids)],
        [position for example in examples for position in range(example.length)],
        [
            place
            for start, example in zip(starts, examples, strict=False)
            for place in range(start + len(example.prompt_ids) - 1, start + example.length - 1)
        ],
        [token for example in examples for token in example.answer_ids],
    )
    tokens, positions, predicting, targets = (
        _moved(torch.tensor(column, dtype=torch.long), device) for column in columns
    )
    offsets = _moved(torch.tensor(starts, dtype=torch.int32), device)
    longest = max(example.length for example in examples)
    return Row(tokens[None], positions[None], offsets, longest, predicting, targets)


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
