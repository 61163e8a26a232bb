"""What the benchmark of RL found."""

from __future__ import annotations

from pydantic import Field

from coding_framework.evaluation.bench.sft_records import BenchSFTResult
from coding_framework.records import Record

COLUMNS = ("step", "s", "sample", "judge", "update", "sync", "other", "new tokens", "gap", "card", "host")


class RLStepFigures(Record):
    """One step of RL: where its time went, and how much was done in it."""

    step: int = Field(ge=1)
    """Counted from 1; the first one also records, compiles and opens what later ones find ready."""
    seconds: float = Field(gt=0)
    """Wall clock."""
    sampling_s: float = Field(ge=0)
    """While at least one answer was being sampled."""
    judging_s: float = Field(ge=0)
    """While at least one kernel was being judged; with a card of its own or on the CPU this overlaps."""
    update_s: float = Field(ge=0)
    """Forward and backward passes of the policy, and the optimizer."""
    sync_s: float = Field(ge=0)
    """New weights to what samples."""
    episodes: int = Field(ge=0)
    """Finished."""
    episodes_lost: int = Field(ge=0)
    """To faults of the judge."""
    judgements: int = Field(ge=0)
    """Answers that were judged."""
    new_tokens: int = Field(ge=0)
    """Sampled."""
    update_tokens: int = Field(ge=0)
    """Of prompts and answers that the policy was trained on."""
    logprob_gap: float | None = None
    """Mean distance of a sampled token's log-probability between what sampled it and the policy."""
    card_memory_bytes: int | None = None
    """In use on the card at the end of the step, by all processes; None without a GPU."""
    host_memory_bytes: int = Field(ge=0)
    """In use on the machine at the end of the step, by all processes."""

    @property
    def other_s(self) -> float:
        """The rest, where sampling and judging take turns: advantages, bookkeeping, waiting."""
        return self.seconds - self.sampling_s - self.judging_s - self.update_s - self.sync_s

    @property
    def cells(self) -> tuple[str, ...]:
        """As `COLUMNS` names them."""
        parts = (self.sampling_s, self.judging_s, self.update_s, self.sync_s, self.other_s)
        return (
            str(self.step),
            f"{self.seconds:.1f}",
            *(f"{one:.1f}" for one in parts),
            f"{self.new_tokens:,}",
            "–" if self.logprob_gap is None else f"{self.logprob_gap:.4f}",
            "–" if self.card_memory_bytes is None else f"{self.card_memory_bytes / 2**30:.1f} GiB",
            f"{self.host_memory_bytes / 2**30:.1f} GiB",
        )


class BenchTrainResult(Record):
    """Everything `cuda-rl bench train` prints, measured in one run."""

    device: str
    """What computed."""
    model: str
    """What was trained."""
    weights: str
    """`LoRA rank 32`, or `all`."""
    prompts: int = Field(ge=1)
    """Tasks of a step."""
    group_size: int = Field(ge=1)
    """Episodes of each."""
    max_prompt_tokens: int = Field(ge=1)
    """Limit of a prompt."""
    max_response_tokens: int = Field(ge=1)
    """Limit of an answer."""
    max_turns: int = Field(ge=1)
    """Of an episode."""
    judged: str
    """By what, and where it timed."""
    start: dict[str, float]
    """Seconds from the beginning to the end of each stage; `first_answer` is the first rollout."""
    steps: tuple[RLStepFigures, ...] = Field(min_length=1)
    """All of them."""
    sft: BenchSFTResult | None = None
    """The warm start before it; None where the config has none."""

    @property
    def counted(self) -> tuple[RLStepFigures, ...]:
        """Without the first step, where there are others."""
        return self.steps[1:] or self.steps

    @property
    def step_s(self) -> float:
        return _mean([step.seconds for step in self.counted])

    @property
    def judging_share(self) -> float:
        return sum(step.judging_s for step in self.counted) / sum(step.seconds for step in self.counted)

    @property
    def rollout_tokens_per_s(self) -> float:
        return _rate([(step.new_tokens, step.sampling_s) for step in self.counted])

    @property
    def update_tokens_per_s(self) -> float:
        return _rate([(step.update_tokens, step.update_s) for step in self.counted])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _rate(pairs: list[tuple[int, float]]) -> float:
    seconds = sum(time for _, time in pairs)
    return sum(count for count, _ in pairs) / seconds if seconds else 0.0
