"""One rung at work: a tier, its tasks, and the window of its latest episodes."""

from __future__ import annotations

from collections import deque
from itertools import islice

from coding_framework.config import CurriculumConfig, CurriculumTier
from coding_framework.data.curriculum.gates import is_proven, regression
from coding_framework.data.curriculum.outcome import Episode
from coding_framework.data.curriculum.state import TierState
from coding_framework.data.curriculum.statistics import TierRates, tier_rates
from coding_framework.data.sources.protocol import AnyTask


class Rung:
    """Mutable; `state` and `restore` carry it through a checkpoint."""

    def __init__(self, tier: CurriculumTier, tasks: tuple[AnyTask, ...], config: CurriculumConfig) -> None:
        self.tier = tier
        self.tasks = tasks
        self._config = config
        self.episodes = 0
        self.window: deque[Episode] = deque(maxlen=max(config.window, config.demotion_window))
        self.proven = False
        self.graduated_success_rate: float | None = None
        self._known_rates: dict[int, TierRates | None] = {}
        """By length of the window, until the next episode."""

    def start_afresh(self) -> None:
        """A new stay: the evidence of an earlier one does not count for it."""
        self.episodes, self.proven = 0, False
        self._empty()

    def graduate(self, success_rate: float) -> None:
        """It was left upwards; from now on its window holds reviews."""
        self.graduated_success_rate, self.proven = success_rate, True
        self._empty()

    def _empty(self) -> None:
        self.window.clear()
        self._known_rates.clear()

    def add(self, episode: Episode) -> None:
        self.episodes += 1
        self.window.append(episode)
        self._known_rates.clear()
        recent = self._recent()
        if recent and not self.proven:
            self.proven = is_proven(self.tier, recent, self._config.demotion_share)

    def rates(self) -> TierRates | None:
        """Of the window for moving up."""
        return self._rates(self._config.window)

    def regressed(self) -> str | None:
        """Why this tier must be practised again, or None."""
        recent = self._recent()
        if recent is None or not self.proven:
            return None
        return regression(self.tier, recent, self._config.demotion_share)

    def _recent(self) -> TierRates | None:
        """Of the window for moving down; None while it is not half full."""
        if 2 * len(self.window) < self._config.demotion_window:
            return None
        return self._rates(self._config.demotion_window)

    def _rates(self, latest: int) -> TierRates | None:
        if latest not in self._known_rates:
            episodes = list(islice(self.window, max(0, len(self.window) - latest), None))
            equally = self._config.count_tasks_equally
            self._known_rates[latest] = tier_rates(episodes, count_tasks_equally=equally)
        return self._known_rates[latest]

    def state(self) -> TierState:
        return TierState(
            name=self.tier.name,
            episodes=self.episodes,
            window=tuple(self.window),
            proven=self.proven,
            graduated_success_rate=self.graduated_success_rate,
        )

    def restore(self, state: TierState) -> None:
        self.episodes, self.proven = state.episodes, state.proven
        self.graduated_success_rate = state.graduated_success_rate
        self._empty()
        self.window.extend(state.window)
