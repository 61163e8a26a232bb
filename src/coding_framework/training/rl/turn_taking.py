"""Policy and judge take turns: all answers of a turn, then all judgements.

On one card a time is worth nothing while the policy computes beside it. So samplers and judges share
a room that only one kind may be in: whoever comes waits until the other kind has left, and then all
that wait go in together. With a judge elsewhere (`exclusive` is false) nobody waits, and the object
only keeps the time that each kind was at work.

Guaranteed, if exclusive: no sampling is under way while a judgement is, among the episodes of this
object; an episode that is cancelled or fails leaves the room. Not guaranteed: order; that other
processes leave the card alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from pydantic import Field

from coding_framework.records import Record

Activity = Literal["sampling", "judging"]
_OTHER: dict[Activity, Activity] = {"sampling": "judging", "judging": "sampling"}


class ActivitySpan(Record):
    """A time in which at least one episode was at one activity."""

    step: int = Field(ge=0)
    """Training step that the activity began in."""
    activity: Activity
    """Which."""
    seconds: float = Field(ge=0)
    """How long."""
    entries: int = Field(ge=1)
    """How many answers or judgements it held."""
    began_s: float = 0.0
    """On the clock of its process, to compare with the other spans of that process."""

    @property
    def ended_s(self) -> float:
        return self.began_s + self.seconds


class TurnTaking:
    """The room of one process's episodes."""

    def __init__(self, *, exclusive: bool) -> None:
        self.exclusive = exclusive
        self._inside: dict[Activity, int] = {"sampling": 0, "judging": 0}
        self._entries: dict[Activity, int] = {"sampling": 0, "judging": 0}
        self._began: dict[Activity, tuple[float, int]] = {}
        self._waiting: dict[Activity, list[asyncio.Future[None]]] = {"sampling": [], "judging": []}
        self._spans: list[ActivitySpan] = []

    @asynccontextmanager
    async def taking(self, activity: Activity, step: int) -> AsyncIterator[None]:
        """Be in the room for one answer or one judgement."""
        await self._enter(activity, step)
        try:
            yield
        finally:
            self._leave(activity)

    def finished_spans(self) -> list[ActivitySpan]:
        """Those that ended since the last call."""
        spans, self._spans = self._spans, []
        return spans

    async def _enter(self, activity: Activity, step: int) -> None:
        if self.exclusive and self._inside[_OTHER[activity]]:
            await self._turn(activity)
        else:
            self._inside[activity] += 1
        self._began.setdefault(activity, (time.monotonic(), step))
        self._entries[activity] += 1

    async def _turn(self, activity: Activity) -> None:
        """Wait until the other kind has left; whoever lets this one in counts it as inside already."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[activity].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():  # nobody let this one in
                self._waiting[activity] = [one for one in self._waiting[activity] if one is not turn]
            else:
                self._leave(activity)
            raise

    def _leave(self, activity: Activity) -> None:
        self._inside[activity] -= 1
        if self._inside[activity]:
            return
        if activity in self._began:
            self._close_span(activity)
        other = _OTHER[activity]
        waiting = [turn for turn in self._waiting[other] if not turn.done()]
        self._waiting[other] = []
        self._inside[other] += len(waiting)
        for turn in waiting:
            turn.set_result(None)

    def _close_span(self, activity: Activity) -> None:
        began, step = self._began.pop(activity)
        self._spans.append(
            ActivitySpan(
                step=step,
                activity=activity,
                seconds=time.monotonic() - began,
                entries=self._entries[activity],
                began_s=began,
            )
        )
        self._entries[activity] = 0
