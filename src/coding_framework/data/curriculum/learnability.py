"""How much there is to learn from a task: most when it succeeds half of the time.

With success rate p the outcomes of a group differ with p·(1-p), and where they do not differ there is no
gradient. The rate starts from the belief of one half, so a new task is tried; a task always or never solved
keeps a small weight, so it is never lost from sight. Where the tier asks for speed, a task that always
passes may still have its speed to learn: the larger of the two counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.config import CurriculumConfig
from coding_framework.data.curriculum.outcome import EpisodeOutcome


def task_weight(
    outcomes: Sequence[EpisodeOutcome], config: CurriculumConfig, min_speedup: float | None
) -> float:
    """From `least_weight` to 1; 1 for a task without any episode."""
    learnable = _learnable([outcome.passed for outcome in outcomes], config.prior_episodes)
    if min_speedup is not None:
        fast = [_is_fast(outcome, min_speedup) for outcome in _one_kind(outcomes)]
        learnable = max(learnable, _learnable(fast, config.prior_episodes))
    return max(config.least_weight, learnable)


def _learnable(successes: Sequence[bool], prior: float) -> float:
    rate = (sum(successes) + prior / 2) / (len(successes) + prior)
    return 4 * rate * (1 - rate)


def _is_fast(outcome: EpisodeOutcome, min_speedup: float) -> bool:
    return outcome.speedup is not None and outcome.speedup > min_speedup


def _one_kind(outcomes: Sequence[EpisodeOutcome]) -> list[EpisodeOutcome]:
    """The latest run in which modelled and measured times do not meet."""
    kind, run = None, []
    for outcome in reversed(outcomes):
        if kind is not None and outcome.time_kind not in (None, kind):
            break
        kind = outcome.time_kind or kind
        run.append(outcome)
    return run


def slip(graduated: float, outcomes: Sequence[EpisodeOutcome], prior: float) -> float:
    """How far the success rate of a tier has fallen since it was left; 0 while nothing tells otherwise."""
    now = (sum(outcome.passed for outcome in outcomes) + prior * graduated) / (len(outcomes) + prior)
    return max(0.0, graduated - now)
