"""What goes into and comes out of the warm start."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pydantic import Field

from coding_framework.records import Message
from coding_framework.records.base import Record


class PairLike(Protocol):
    """A prompt and the answer that the model should give."""

    @property
    def messages(self) -> tuple[Message, ...]: ...

    @property
    def answer(self) -> str: ...


class StepSplit(Record):
    """Where the time of a step went."""

    rows_s: float = Field(default=0.0, ge=0)
    """Pairs joined to rows and copied; on a GPU, what it idled for that."""
    forward_s: float = Field(default=0.0, ge=0)
    """From the tokens to the loss."""
    backward_s: float = Field(default=0.0, ge=0)
    """Gradients, with activations that are computed twice."""
    exchange_s: float = Field(default=0.0, ge=0)
    """Gradients added up over the processes, with the waiting for the slowest."""
    update_s: float = Field(default=0.0, ge=0)
    """Clipping and the optimizer."""


class SFTStep(Record):
    """One optimizer step."""

    step: int = Field(ge=1)
    """Counted from 1."""
    steps: int = Field(ge=1)
    """How many there will be."""
    loss: float
    """Mean negative log-likelihood of an answer token, before the update."""
    learning_rate: float = Field(ge=0)
    """Used for the update."""
    gradient_norm: float = Field(ge=0)
    """Before clipping."""
    answer_tokens: int = Field(ge=1)
    """Tokens the loss was taken over."""
    tokens: int = Field(ge=1)
    """These and the prompts'."""
    seconds: float = Field(ge=0)
    """Wall clock."""
    split: StepSplit
    """Its parts."""
    peak_memory_bytes: int | None = Field(default=None, ge=0)
    """The most that the card has held since the start; None without a GPU."""


class SFTResult(Record):
    """A finished warm start."""

    adapter_dir: Path | None
    """The LoRA adapter (peft format); None where all weights were trained."""
    model_dir: Path
    """The whole model, an adapter merged into it, tokenizer included: where RL starts."""
    losses: tuple[float, ...]
    """Of every step, those before a resume included."""
    pairs_used: int = Field(ge=1)
    """Pairs that fit."""
    pairs_too_long: int = Field(ge=0)
    """Pairs left out because they exceed `max_length`."""
