"""`CurriculumManager`: which task comes next, and when it gets harder.

    manager = CurriculumManager(config.curriculum, training_tasks(config.tasks), seed=config.run.seed)
    task = manager.next_task()
    change = manager.record(task.name, evaluation)

Training asks it through `CUDADataPipeline`.

Guarantees: a tier is left upwards only when the lower ends of all its intervals are above its gates;
what is held out is never drawn; every trainable task of a drawn tier has a positive chance; modelled and
measured speedups never meet in one window; a fault of the judge is counted and changes nothing else; the
same state gives the same continuation bit for bit, also in another process. Not guaranteed: a bound on the
false moves over a whole training, since the windows are looked at after every episode.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from random import Random

import structlog

from coding_framework.config import CurriculumConfig, CurriculumTier
from coding_framework.data.curriculum.drawing import draw_chances, rung_weights
from coding_framework.data.curriculum.history import (
    PerformanceHistory,
    PerformancePoint,
    TierChange,
)
from coding_framework.data.curriculum.ladder import Ladder, trainable
from coding_framework.data.curriculum.outcome import Episode, EpisodeOutcome, Recordable, outcome_of
from coding_framework.data.curriculum.rung import Rung
from coding_framework.data.curriculum.state import CurriculumState
from coding_framework.data.curriculum.statistics import TierRates
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.errors import ConfigError, UnknownTaskError

__all__ = [
    "CurriculumManager",
    "CurriculumState",
    "CurriculumTier",
    "EpisodeOutcome",
    "PerformanceHistory",
    "PerformancePoint",
    "TierChange",
]

log = structlog.stdlib.get_logger(__name__)
_MOST_POINTS = 2000
"""Of the history: it is a part of every checkpoint."""


class CurriculumManager:
    """Draws tasks, takes in outcomes, moves between tiers."""

    def __init__(
        self,
        config: CurriculumConfig | None = None,
        tasks: Sequence[AnyTask] | None = None,
        *,
        held_out: Collection[str] = (),
        seed: int = 17,
    ) -> None:
        """`tasks` is the whole catalogue by default; held-out families and names are taken out of it."""
        self.config = config or CurriculumConfig()
        given = trainable(all_tasks() if tasks is None else tasks, held_out)
        self._ladder = Ladder(self.config, given)
        self._rung_of = {task.name: rung for rung in self._ladder.rungs for task in rung.tasks}
        self._task_of = {task.name: task for task in self.tasks}
        self._outcomes: dict[str, deque[EpisodeOutcome]] = {}
        self._points: list[PerformancePoint] = []
        self._seed, self._draws, self._episodes, self._faults = seed, 0, 0, 0

    @property
    def tier(self) -> CurriculumTier:
        """The tier that is practised now."""
        return self._ladder.current.tier

    @property
    def tiers(self) -> tuple[CurriculumTier, ...]:
        """All tiers that have tasks, the easiest first."""
        return tuple(rung.tier for rung in self._ladder.rungs)

    @property
    def tasks(self) -> tuple[AnyTask, ...]:
        """Everything that may ever be drawn."""
        return tuple(task for rung in self._ladder.rungs for task in rung.tasks)

    @property
    def history(self) -> PerformanceHistory:
        """How it went, for plots."""
        return PerformanceHistory(points=tuple(self._points))

    @property
    def faults(self) -> int:
        """Episodes lost through faults of the judge."""
        return self._faults

    @property
    def mastered(self) -> bool:
        """Whether the last tier's gates are passed as well."""
        return self._ladder.at_the_top and not self.missing()

    def rates(self) -> TierRates | None:
        """The current tier's window; None before its first episode."""
        return self._ladder.current.rates()

    def missing(self) -> tuple[str, ...]:
        """What stands in the way of the next tier, in words."""
        return self._ladder.missing()

    def next_task(self) -> AnyTask:
        """Draw one: mostly of the current tier, sometimes of one already left."""
        chances = self.chances()
        random = Random(f"{self._seed}/{self._draws}")
        self._draws += 1
        name = random.choices(list(chances), list(chances.values()))[0]
        return self._task_of[name]

    def learnability(self, task_name: str) -> float:
        """How much there is to learn from a task: 1 at best, `least_weight` if it always or never passes."""
        return rung_weights(self._known(task_name), self._outcomes, self.config)[task_name]

    def chances(self) -> dict[str, float]:
        """Of every task that may come next: those of the current tier, and of the ones below it."""
        return draw_chances(self._ladder, self._outcomes, self.config)

    def tier_of(self, task_name: str) -> CurriculumTier:
        """The tier that holds a task."""
        return self._known(task_name).tier

    def record(self, task_name: str, result: Recordable, *, step: int | None = None) -> TierChange | None:
        """Take in how an episode went; returns the move that it led to, if any."""
        rung = self._known(task_name)
        outcome = outcome_of(result)
        self._outcomes.setdefault(task_name, deque(maxlen=self.config.task_window)).append(outcome)
        rung.add(Episode(task=task_name, outcome=outcome))
        self._episodes += 1
        practised, rates = self._ladder.position, self.rates()
        change = self._ladder.move()
        if rates and (change or self._episodes % self.config.history_every == 0):
            self._remember(practised, rates, change, step)
        return change

    def record_fault(self, task_name: str) -> None:
        """An episode that the judge lost: counted, and nothing else; it says nothing about the policy."""
        self._known(task_name)
        self._faults += 1

    def state(self) -> CurriculumState:
        """For the checkpoint."""
        return CurriculumState(
            config=self.config,
            tasks=tuple(task.name for task in self.tasks),
            seed=self._seed,
            draws=self._draws,
            episodes=self._episodes,
            faults=self._faults,
            current=self._ladder.position,
            tiers=tuple(rung.state() for rung in self._ladder.rungs),
            task_outcomes={name: tuple(outcomes) for name, outcomes in self._outcomes.items()},
            history=self.history,
        )

    @classmethod
    def from_state(cls, state: CurriculumState, tasks: Sequence[AnyTask] | None = None) -> CurriculumManager:
        """Go on where `state` was taken; `tasks` only where they are not of the catalogue."""
        by_name = {task.name: task for task in tasks} if tasks is not None else None
        if by_name is not None and not set(state.tasks) <= set(by_name):
            absent = sorted(set(state.tasks) - set(by_name))
            raise ConfigError(f"the curriculum's state knows tasks that were not given: {', '.join(absent)}")
        chosen = [by_name[name] if by_name else get_task(name) for name in state.tasks]
        manager = cls(state.config, chosen, seed=state.seed)
        if [rung.tier.name for rung in manager._ladder.rungs] != [tier.name for tier in state.tiers]:
            raise ConfigError("the curriculum's state was taken with other tiers or other held-out families")
        manager._restore(state)
        return manager

    def _restore(self, state: CurriculumState) -> None:
        self._draws, self._episodes, self._faults = state.draws, state.episodes, state.faults
        self._ladder.position = state.current
        for rung, tier in zip(self._ladder.rungs, state.tiers, strict=True):
            rung.restore(tier)
        for name, outcomes in state.task_outcomes.items():
            self._outcomes[name] = deque(outcomes, maxlen=self.config.task_window)
        self._points = list(state.history.points)

    def _known(self, task_name: str) -> Rung:
        if task_name not in self._rung_of:
            raise UnknownTaskError(
                f"'{task_name}' is not in this curriculum: it is held out, unknown, or in no tier of it"
            )
        return self._rung_of[task_name]

    def _remember(
        self, practised: int, rates: TierRates, change: TierChange | None, step: int | None
    ) -> None:
        self._points.append(
            PerformancePoint(
                episode=self._episodes,
                step=step,
                tier=practised,
                tier_name=self._ladder.rungs[practised].tier.name,
                rates=rates,
                change=change,
            )
        )
        if len(self._points) > _MOST_POINTS:
            self._points = [one for place, one in enumerate(self._points) if one.change or place % 2]
