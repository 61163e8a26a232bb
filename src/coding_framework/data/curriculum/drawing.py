"""The chance of each task to be drawn next: tiers by their share, tasks of a tier by learnability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coding_framework.config import CurriculumConfig
from coding_framework.data.curriculum.ladder import Ladder
from coding_framework.data.curriculum.learnability import slip, task_weight
from coding_framework.data.curriculum.outcome import EpisodeOutcome
from coding_framework.data.curriculum.rung import Rung

Outcomes = Mapping[str, Sequence[EpisodeOutcome]]


def rung_weights(rung: Rung, outcomes: Outcomes, config: CurriculumConfig) -> dict[str, float]:
    """Of the tasks of one rung, from `least_weight` to 1."""
    speed = rung.tier.min_speedup
    return {task.name: task_weight(outcomes.get(task.name, ()), config, speed) for task in rung.tasks}


def draw_chances(ladder: Ladder, outcomes: Outcomes, config: CurriculumConfig) -> dict[str, float]:
    """Adding up to 1 over the tasks of the current rung and those below it."""
    chances: dict[str, float] = {}
    for rung, share in _shares(ladder, config):
        weights = rung_weights(rung, outcomes, config)
        total = sum(weights.values())
        chances |= {name: share * weight / total for name, weight in weights.items()}
    return chances


def _shares(ladder: Ladder, config: CurriculumConfig) -> list[tuple[Rung, float]]:
    """The current rung, and those left behind by how far they have slipped, none of them forgotten."""
    earlier = ladder.left_behind
    if not earlier or not config.review_share:
        return [(ladder.current, 1.0)]
    weights = [config.least_weight + _slipped(rung, config) for rung in earlier]
    shares = [config.review_share * weight / sum(weights) for weight in weights]
    return [*zip(earlier, shares, strict=True), (ladder.current, 1 - config.review_share)]


def _slipped(rung: Rung, config: CurriculumConfig) -> float:
    assert rung.graduated_success_rate is not None, "a rung below the current one was left upwards"
    reviews = [episode.outcome for episode in rung.window]
    return slip(rung.graduated_success_rate, reviews, config.prior_episodes)
