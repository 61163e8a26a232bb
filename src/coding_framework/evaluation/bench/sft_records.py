"""What the benchmark of SFT found."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coding_framework.records import Record
from coding_framework.training.sft.results import StepSplit


class SFTFigures(Record):
    """One trainer over the measured steps."""

    trainer: str
    """`ours`, or TRL with its version."""
    steps: int = Field(ge=1)
    """Measured, those to warm up not counted."""
    tokens: int = Field(ge=1)
    """Of prompts and answers, padding not counted."""
    answer_tokens: int = Field(ge=1)
    """Of these, the ones that the loss is taken over."""
    seconds: float = Field(gt=0)
    """Wall clock, from the pairs to the updated weights."""
    split: StepSplit | None = None
    """Where the seconds went; None where the trainer does not say."""
    peak_memory_bytes: int | None = Field(default=None, ge=0)
    """The most that the card held; None without a GPU."""
    losses: tuple[float, ...] = ()
    """Of every step, those to warm up included."""

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds

    @property
    def answer_tokens_per_s(self) -> float:
        return self.answer_tokens / self.seconds

    @property
    def step_s(self) -> float:
        return self.seconds / self.steps


class BenchSFTResult(Record):
    """Everything `cuda-rl bench sft` prints, measured in one run."""

    device: str
    """What computed."""
    model: str
    """What was trained."""
    method: Literal["lora", "qlora", "full"]
    """What of it."""
    attention: str
    """How rows are attended to."""
    pairs_per_step: int = Field(ge=1)
    """Of all forward passes of a step."""
    workers: int = Field(ge=1)
    """Processes of ours that shared a step; TRL's is always one."""
    row_tokens: int | None = Field(default=None, ge=1)
    """Limit of a packed row; None where rows are padded."""
    ours: SFTFigures
    """The trainer that `cuda-rl train` uses."""
    trl: SFTFigures | None = None
    """TRL's SFTTrainer on the same pairs, if asked for."""

    @property
    def ratio(self) -> float | None:
        """How many times as many tokens a second ours takes."""
        return self.ours.tokens_per_s / self.trl.tokens_per_s if self.trl else None
