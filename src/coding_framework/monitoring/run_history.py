"""What happened in a run, gathered in one pass over `metrics.jsonl` and `conversations.jsonl`.

Metrics that the trainer wrote are taken as they are. Where it wrote none of a name, the same is computed
from the conversations (the best turn of each), and `Curve.source` says so. A step that was done again
after a resume counts once in the metrics: the last one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean, median, pstdev

from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPhase
from coding_framework.records import Conversation, TimeKind, Verdict


@dataclass(frozen=True)
class Curve:
    """One number over the steps."""

    points: tuple[tuple[int, float], ...]
    source: str
    """Where it comes from, in words."""


@dataclass
class StepConversations:
    """What was sampled in one training step."""

    rewards: list[float] = field(default_factory=list)
    compiled: list[bool] = field(default_factory=list)
    passed: list[bool] = field(default_factory=list)
    speedups: list[float] = field(default_factory=list)
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    """Of every turn that was sampled, not only the best."""

    def add(self, conversation: Conversation) -> None:
        best = conversation.best_turn
        self.rewards.append(best.reward.total)
        self.compiled.append(best.evaluation.compiled)
        self.passed.append(best.evaluation.passed)
        if best.evaluation.speedup is not None:
            self.speedups.append(best.evaluation.speedup)
        self.verdicts.update(turn.evaluation.verdict for turn in conversation.own_turns)


_FROM_CONVERSATIONS: dict[str, Callable[[StepConversations], float | None]] = {
    "reward_mean": lambda step: fmean(step.rewards),
    "reward_std": lambda step: pstdev(step.rewards),
    "compile_rate": lambda step: fmean(step.compiled),
    "pass_rate": lambda step: fmean(step.passed),
    "speedup_median": lambda step: median(step.speedups) if step.speedups else None,
}


@dataclass
class RunHistory:
    """Everything the report draws from the two files."""

    metrics: dict[MetricPhase, dict[str, dict[int, float]]] = field(default_factory=dict)
    """Phase, name, step."""
    elapsed_s: dict[MetricPhase, float] = field(default_factory=dict)
    """Time of the last metric of each phase."""
    steps: dict[int, StepConversations] = field(default_factory=dict)
    """Training conversations by step."""
    best: dict[str, Conversation] = field(default_factory=dict)
    """The best conversation of each task."""
    time_kinds: set[TimeKind] = field(default_factory=set)
    """Kinds of time that occur in training conversations."""
    num_conversations: int = 0
    skipped_lines: int = 0
    """Lines of both files that could not be read."""

    def last_step(self, phase: MetricPhase) -> int | None:
        steps = [step for values in self.metrics.get(phase, {}).values() for step in values]
        if phase == "rl":
            steps += self.steps
        return max(steps, default=None)

    def curve(self, phase: MetricPhase, name: str) -> Curve | None:
        """The named number over the steps; None if nothing of it was recorded."""
        recorded = self.metrics.get(phase, {}).get(name, {})
        points = [(step, recorded[step]) for step in sorted(recorded) if isfinite(recorded[step])]
        if points:
            return Curve(tuple(points), "as the trainer recorded it")
        compute = _FROM_CONVERSATIONS.get(name) if phase == "rl" else None
        if compute is None:
            return None
        values = [(step, compute(self.steps[step])) for step in sorted(self.steps)]
        points = [(step, value) for step, value in values if value is not None]
        return Curve(tuple(points), "best turn of each conversation") if points else None


def read_history(run: RunFolder) -> RunHistory:
    """One streaming pass; memory holds one conversation a task."""
    history = RunHistory()
    metrics = run.read_metrics()
    for point in metrics:
        by_name = history.metrics.setdefault(point.phase, {})
        for name, value in point.values.items():
            by_name.setdefault(name, {})[point.step] = value
        history.elapsed_s[point.phase] = max(history.elapsed_s.get(point.phase, 0.0), point.elapsed_s)
    conversations = run.read_conversations()
    for conversation in conversations:
        _add_conversation(history, conversation)
    history.skipped_lines = metrics.skipped + conversations.skipped
    return history


def _add_conversation(history: RunHistory, conversation: Conversation) -> None:
    history.num_conversations += 1
    best = history.best.get(conversation.task)
    if best is None or _rank(conversation) > _rank(best):
        history.best[conversation.task] = conversation
    if conversation.phase == "train" and conversation.step is not None:
        history.steps.setdefault(conversation.step, StepConversations()).add(conversation)
        history.time_kinds |= {
            turn.evaluation.timing.kind for turn in conversation.turns if turn.evaluation.timing
        }


def _rank(conversation: Conversation) -> tuple[bool, float, float]:
    turn = conversation.best_turn
    return turn.evaluation.passed, turn.reward.total, turn.evaluation.speedup or 0.0
