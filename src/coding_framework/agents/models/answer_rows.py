"""Answers while they are being written, each with its own limit and its own random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class Sampled(NamedTuple):
    """One answer."""

    token_ids: tuple[int, ...]
    """Includes the stop token when there was one."""
    log_probs: tuple[float, ...]
    finish_reason: Literal["stop", "length"]


class AnswerRow:
    """One answer while it is being written."""

    def __init__(self, index: int, prompt_length: int, limit: int, uniforms: list[float]) -> None:
        self.index = index
        self.prompt_length = prompt_length
        self.limit = limit
        self.uniforms = uniforms
        self.token_ids: list[int] = []
        self.log_probs: list[float] = []
        self.finish_reason: Literal["stop", "length"] = "length"

    def add(self, token: int, log_prob: float, stop_token_ids: frozenset[int]) -> bool:
        """Append one token; True when the row is done."""
        self.token_ids.append(token)
        self.log_probs.append(log_prob)
        if token in stop_token_ids:
            self.finish_reason = "stop"
            return True
        return len(self.token_ids) >= self.limit

    def sampled(self) -> Sampled:
        return Sampled(tuple(self.token_ids), tuple(self.log_probs), self.finish_reason)


def row_seeds(seed: int | Sequence[int] | None, rows: int) -> list[tuple[int, ...] | None]:
    if seed is None:
        return [None] * rows
    if isinstance(seed, int):
        return [(seed, row) for row in range(rows)]
    return [(one,) for one in seed]


def uniforms_of(seed: tuple[int, ...] | None, count: int) -> list[float]:
    """The row's random numbers, all at once; independent of every other row."""
    import numpy as np

    entropy = None if seed is None else [part % 2**64 for part in seed]
    return [float(number) for number in np.random.default_rng(entropy).random(count)]
