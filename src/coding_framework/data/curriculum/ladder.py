"""The rungs in order, the one that is practised, and the moves between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog

from coding_framework.config import CurriculumConfig
from coding_framework.data.curriculum.gates import missing_for_advance, proof
from coding_framework.data.curriculum.history import TierChange
from coding_framework.data.curriculum.rung import Rung
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.tasks import HELD_OUT_FAMILIES
from coding_framework.errors import ConfigError

log = structlog.stdlib.get_logger(__name__)


def trainable(tasks: Sequence[AnyTask], held_out: Collection[str]) -> tuple[AnyTask, ...]:
    """What may be drawn: no task of a held-out family, none that is held out by name."""
    return tuple(t for t in tasks if t.family not in HELD_OUT_FAMILIES and t.name not in held_out)


class Ladder:
    """Where the training stands."""

    def __init__(self, config: CurriculumConfig, tasks: Sequence[AnyTask]) -> None:
        self.rungs = _build_rungs(config, tasks)
        self.position = 0

    @property
    def current(self) -> Rung:
        return self.rungs[self.position]

    @property
    def left_behind(self) -> list[Rung]:
        """The rungs below the current one."""
        return self.rungs[: self.position]

    @property
    def at_the_top(self) -> bool:
        return self.position == len(self.rungs) - 1

    def missing(self) -> tuple[str, ...]:
        """What stands in the way of the next rung, in words."""
        return missing_for_advance(self.current.tier, self.current.rates(), self.current.episodes)

    def move(self) -> TierChange | None:
        """Down if something was forgotten, else up if all is proven, else nowhere."""
        return self._down() or self._up()

    def _up(self) -> TierChange | None:
        rates = self.current.rates()
        if self.at_the_top or rates is None or self.missing():
            return None
        self.current.graduate(rates.success_rate.value)
        return self._enter(self.position + 1, proof(rates))

    def _down(self) -> TierChange | None:
        """To the lowest rung that was forgotten, or one down where the current one has regressed."""
        if self.position == 0:
            return None
        for index, rung in enumerate(self.rungs[: self.position + 1]):
            reason = rung.regressed()
            if reason is not None:
                return self._enter(min(index, self.position - 1), reason)
        return None

    def _enter(self, index: int, reason: str) -> TierChange:
        left, self.position = self.position, index
        for rung in self.rungs[index:]:
            rung.start_afresh()
        change = TierChange(
            direction="advanced" if index > left else "demoted",
            from_tier=self.rungs[left].tier.name,
            to_tier=self.current.tier.name,
            reason=reason,
        )
        log.info("curriculum_tier_changed", **change.model_dump())
        return change


def _build_rungs(config: CurriculumConfig, tasks: Sequence[AnyTask]) -> list[Rung]:
    """One rung for each tier that has tasks; a tier without any is left out, and said."""
    rungs = []
    for tier in config.resolved_tiers:
        held = tuple(task for task in tasks if task.tier in tier.catalogue_tiers)
        if held:
            rungs.append(Rung(tier, held, config))
        else:
            log.info("curriculum_tier_without_tasks", tier=tier.name, catalogue_tiers=tier.catalogue_tiers)
    if not rungs:
        raise ConfigError(
            "the curriculum has no task to draw: all of them are held out, or in tiers of the catalogue "
            "that no tier of the curriculum holds"
        )
    return rungs
