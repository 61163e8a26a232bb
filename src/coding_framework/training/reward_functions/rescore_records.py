"""What a rescoring writes and answers."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coding_framework.config import RewardConfig
from coding_framework.records import Record, RewardComponents, Verdict
from coding_framework.records.conversation import AgentRole


class RescoredTurn(Record):
    """One turn under the other reward."""

    index: int = Field(ge=0)
    """Position in the conversation."""
    agent: AgentRole
    """Who answered."""
    verdict: Verdict
    """The judge's verdict, as it was stored."""
    old_total: float
    """What it earned when it was sampled."""
    reward: RewardComponents
    """What it earns now."""


class RescoredConversation(Record):
    """One line of the file that a rescoring writes."""

    conversation_id: str
    """As in `conversations.jsonl`."""
    task: str
    """Name of the task."""
    step: int | None
    """Training step in which it was sampled."""
    turns: tuple[RescoredTurn, ...] = Field(min_length=1)
    """In order."""
    stop_moves: bool
    """Whether the other reward would have ended the episode at another turn."""


class RewardComparison(Record):
    """Old and new means of one group of turns."""

    group: str
    """An agent, a task, a verdict, or `all`."""
    turns: int = Field(ge=1)
    """How many."""
    old_mean: float
    """Mean of the stored rewards."""
    new_mean: float
    """Mean under the other reward."""


class RescoreReport(Record):
    """How the rewards of a run change."""

    run: Path
    """The run folder."""
    written: Path
    """One `RescoredConversation` a line; `.json` beside it holds the reward's settings."""
    reward: RewardConfig
    """The reward that was applied."""
    conversations: int = Field(ge=1)
    """How many were read."""
    skipped_lines: int = Field(ge=0)
    """Lines that are no conversation."""
    stops_moved: int = Field(ge=0)
    """Conversations that the other reward would have ended at another turn: their rest was never sampled."""
    rank_correlation: float | None = Field(ge=-1, le=1)
    """Spearman's, over all turns; None where one of the rewards never differs."""
    overall: RewardComparison
    """All turns."""
    by_agent: tuple[RewardComparison, ...]
    """By agent."""
    by_task: tuple[RewardComparison, ...]
    """By task."""
    by_verdict: tuple[RewardComparison, ...]
    """By verdict."""
