"""Running sums of a rescoring: nothing of a conversation is kept but two numbers a turn."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path

from coding_framework.config import RewardConfig
from coding_framework.training.reward_functions.rank_correlation import spearman
from coding_framework.training.reward_functions.rescore_records import (
    RescoredConversation,
    RescoredTurn,
    RescoreReport,
    RewardComparison,
)


@dataclass
class _Sums:
    turns: int = 0
    old: float = 0.0
    new: float = 0.0

    def add(self, turn: RescoredTurn) -> None:
        self.turns += 1
        self.old += turn.old_total
        self.new += turn.reward.total

    def comparison(self, group: str) -> RewardComparison:
        return RewardComparison(
            group=group,
            turns=self.turns,
            old_mean=self.old / self.turns,
            new_mean=self.new / self.turns,
        )


@dataclass
class Tally:
    """Add conversations, then ask for the report."""

    conversations: int = 0
    stops_moved: int = 0
    overall: _Sums = field(default_factory=_Sums)
    agents: dict[str, _Sums] = field(default_factory=dict)
    tasks: dict[str, _Sums] = field(default_factory=dict)
    verdicts: dict[str, _Sums] = field(default_factory=dict)
    old: array[float] = field(default_factory=lambda: array("d"))
    new: array[float] = field(default_factory=lambda: array("d"))

    def add(self, conversation: RescoredConversation) -> None:
        self.conversations += 1
        self.stops_moved += conversation.stop_moves
        for turn in conversation.turns:
            self.overall.add(turn)
            self.agents.setdefault(turn.agent, _Sums()).add(turn)
            self.tasks.setdefault(conversation.task, _Sums()).add(turn)
            self.verdicts.setdefault(turn.verdict.value, _Sums()).add(turn)
            self.old.append(turn.old_total)
            self.new.append(turn.reward.total)

    def report(self, run: Path, written: Path, reward: RewardConfig, skipped: int) -> RescoreReport:
        return RescoreReport(
            run=run,
            written=written,
            reward=reward,
            conversations=self.conversations,
            skipped_lines=skipped,
            stops_moved=self.stops_moved,
            rank_correlation=spearman(self.old, self.new),
            overall=self.overall.comparison("all"),
            by_agent=_compared(self.agents),
            by_task=_compared(self.tasks),
            by_verdict=_compared(self.verdicts),
        )


def _compared(groups: dict[str, _Sums]) -> tuple[RewardComparison, ...]:
    return tuple(sums.comparison(name) for name, sums in sorted(groups.items()))
