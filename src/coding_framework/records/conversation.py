"""Turns of a conversation: what was asked, what was sampled, what the judge said, what it earned."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record
from coding_framework.records.evaluation import Evaluation
from coding_framework.records.reward import RewardComponents
from coding_framework.records.task import Distribution

Role = Literal["system", "user", "assistant"]
AgentRole = Literal["generator", "optimizer", "tester"]
FinishReason = Literal["stop", "length"]
StopReason = Literal["max_turns", "early_stop"]
JudgePlace = Literal["no_card", "own_card", "card_in_turns"]
"""Where kernels are timed in training: without a GPU (modelled), on a card of the judge's own, or on one
that it shares with the policy, which rests meanwhile."""


class Message(Record):
    """One chat message."""

    role: Role
    """Who speaks."""
    content: str
    """The words."""


class GenerationRequest(Record):
    """What an agent asks of a model."""

    agent: AgentRole
    """Which agent asks; models with several adapters choose by it."""
    messages: tuple[Message, ...] = Field(min_length=1)
    """The whole prompt."""
    max_tokens: int = Field(ge=1)
    """Limit of the answer."""
    seed: int | None = Field(default=None, ge=0)
    """Where given, the answer is drawn from it, so that asking again after a restart gives the same one;
    None: the model's own order of requests decides."""


class Generation(Record):
    """Tokens in, tokens out: the sampled ids are the ids that are trained on."""

    text: str
    """The decoded answer."""
    prompt_token_ids: tuple[int, ...] = ()
    """The ids that the model was given; empty for a model that does not tell."""
    token_ids: tuple[int, ...] = ()
    """The ids that it sampled."""
    log_probs: tuple[float, ...] = ()
    """Log-probability of each sampled id under the sampling policy."""
    finish_reason: FinishReason = "stop"
    """Whether it ended by itself or was cut off."""

    @model_validator(mode="after")
    def _one_log_probability_for_each_token(self) -> Generation:
        if self.log_probs and len(self.log_probs) != len(self.token_ids):
            raise ValueError("log_probs and token_ids differ in length")
        return self


class TesterReport(Record):
    """What the tester added to a turn: shapes of its own choice, and the verdict on them."""

    messages: tuple[Message, ...]
    """The prompt in words."""
    generation: Generation
    """The answer."""
    shapes: tuple[dict[str, int], ...] = ()
    """Sizes that it asked for and that fit the task."""
    distributions: tuple[Distribution, ...] = ()
    """How the inputs of each were drawn."""
    reason: str | None = None
    """Why there are none."""
    evaluation: Evaluation | None = None
    """The verdict on the turn's candidate with these shapes added; None where there are none."""

    @model_validator(mode="after")
    def _shapes_were_judged(self) -> TesterReport:
        if bool(self.shapes) != (self.evaluation is not None) or bool(self.shapes) == bool(self.reason):
            raise ValueError(
                "a tester's report holds shapes with a verdict, or the reason why there are none"
            )
        if len(self.distributions) != len(self.shapes):
            raise ValueError("every shape of a tester has a distribution")
        return self

    @property
    def found_fault(self) -> bool:
        """Whether the candidate fails on the tester's shapes."""
        return self.evaluation is not None and not self.evaluation.passed


class ConversationTurn(Record):
    """One answer of one agent and everything that followed from it."""

    index: int = Field(ge=0)
    """Position in the conversation."""
    agent: AgentRole
    """Who answered."""
    messages: tuple[Message, ...]
    """The prompt in words."""
    generation: Generation
    """The answer."""
    evaluation: Evaluation
    """The judge's verdict on it."""
    reward: RewardComponents
    """What it earned."""
    tests: TesterReport | None = None
    """The tester's part, where there is a tester; its verdict is then the turn's if it found a fault."""


class Conversation(Record):
    """One episode on one task."""

    conversation_id: str
    """Unique within a run."""
    task: str
    """Name of the task."""
    turns: tuple[ConversationTurn, ...] = Field(min_length=1)
    """In order."""
    stop_reason: StopReason
    """Why it ended."""
    discount: float = Field(ge=0, le=1)
    """Discount between turns."""
    max_turns: int = Field(ge=1)
    """How many turns it could have had."""
    step: int | None = Field(default=None, ge=0)
    """Training step in which it was sampled; None outside training."""
    phase: Literal["train", "evaluation", "interactive"] = "interactive"
    """What it was sampled for."""
    model: str | None = None
    """Which model of the run answered (`base`, `sft`, `rl`), in an evaluation; None elsewhere."""
    judged_on: JudgePlace | None = None
    """Where its kernels were timed; None outside training."""
    opening_turns: int = Field(default=0, ge=0)
    """How many of the first turns were there before it began, spoken by another model."""

    @model_validator(mode="after")
    def _begins_after_its_opening(self) -> Conversation:
        if self.opening_turns >= len(self.turns):
            raise ValueError("a conversation has a turn of its own after its opening")
        return self

    @property
    def own_turns(self) -> tuple[ConversationTurn, ...]:
        """Those after the opening."""
        return self.turns[self.opening_turns :]

    @property
    def best_turn(self) -> ConversationTurn:
        return max(self.own_turns, key=lambda turn: turn.reward.total)

    @property
    def returns(self) -> tuple[float, ...]:
        """Discounted return of each turn.

        An episode that stops early keeps earning its last reward until `max_turns`, so that
        stopping with a good kernel is never worth less than failing first and repairing later.
        """
        rewards = [turn.reward.total for turn in self.turns]
        rewards += [rewards[-1]] * (self.max_turns - len(rewards))
        value, values = 0.0, []
        for reward in reversed(rewards):
            value = reward + self.discount * value
            values.append(value)
        return tuple(reversed(values))[: len(self.turns)]
