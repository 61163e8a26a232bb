"""Episodes that were started together ask for their answers together, turn after turn.

Whoever is done with a turn waits until every other episode of the group waits too or has ended. So the
batches that are sampled follow from the episodes alone. It costs little: on one machine sampling and
judging share the cores, and an answer costs less the more are sampled with it.

Guaranteed: nobody waits for an episode that has left. Not guaranteed: anything if fewer episodes come
than were announced.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """One batch of answers."""

    number: int
    size: int
    """How many ask in it."""


class Rounds:
    """Of one group of episodes."""

    def __init__(self, size: int) -> None:
        self._present = size
        self._number = 0
        self._waiting: list[asyncio.Future[Round]] = []

    @property
    def is_over(self) -> bool:
        """Whether every episode has left."""
        return self._present == 0

    async def wait(self) -> Round:
        """Until the others are here."""
        turn: asyncio.Future[Round] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._begin_if_all_are_here()
        return await turn

    def leave(self) -> None:
        """The episode has ended, well or not."""
        self._present -= 1
        self._begin_if_all_are_here()

    def _begin_if_all_are_here(self) -> None:
        waiting = [turn for turn in self._waiting if not turn.done()]
        if not waiting or len(waiting) < self._present:
            return
        self._number += 1
        self._waiting = []
        for turn in waiting:
            turn.set_result(Round(self._number, len(waiting)))
