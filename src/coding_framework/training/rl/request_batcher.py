"""Collects requests that belong together into one batch.

A decoding step costs nearly the same for one row as for eight, so it pays to wait for the other
episodes. Requests of a cohort wait until the whole cohort is there: who is sampled with whom then
follows from the episodes and not from the clock, so a step that is done again rounds as it did before.
Requests without a cohort are sampled with whoever else came before `quiet_s` passed without another.

Guaranteed: every request gets its own result or the exception of its batch; batches never overlap.
Not guaranteed: order between requests; that an incomplete cohort is ever served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

RequestT = TypeVar("RequestT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Cohort:
    """Requests that are sampled together."""

    name: str
    size: int
    """How many there will be."""


@dataclass
class _Waiting(Generic[RequestT, ResultT]):
    request: RequestT
    result: asyncio.Future[ResultT] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class RequestBatcher(Generic[RequestT, ResultT]):
    """One loop that turns single requests into calls of `run_batch`."""

    def __init__(
        self, run_batch: Callable[[Sequence[RequestT]], Awaitable[Sequence[ResultT]]], *, quiet_s: float = 1.0
    ) -> None:
        self._run_batch = run_batch
        self._quiet_s = quiet_s
        self._cohorts: dict[str, list[_Waiting[RequestT, ResultT]]] = {}
        self._loose: list[_Waiting[RequestT, ResultT]] = []
        self._closing: asyncio.TimerHandle | None = None
        self._batches: asyncio.Queue[list[_Waiting[RequestT, ResultT]]] = asyncio.Queue()
        self._loop_task: asyncio.Task[None] | None = None

    async def submit(self, request: RequestT, cohort: Cohort | None = None) -> ResultT:
        if self._loop_task is None:
            self._loop_task = asyncio.create_task(self._serve())
        waiting: _Waiting[RequestT, ResultT] = _Waiting(request)
        if cohort is None:
            self._add_loose(waiting)
        else:
            self._add_to(cohort, waiting)
        return await waiting.result

    def _add_to(self, cohort: Cohort, waiting: _Waiting[RequestT, ResultT]) -> None:
        gathered = self._cohorts.setdefault(cohort.name, [])
        gathered.append(waiting)
        if len(gathered) == cohort.size:
            self._batches.put_nowait(self._cohorts.pop(cohort.name))

    def _add_loose(self, waiting: _Waiting[RequestT, ResultT]) -> None:
        self._loose.append(waiting)
        if self._closing is not None:
            self._closing.cancel()
        self._closing = asyncio.get_running_loop().call_later(self._quiet_s, self._close_loose)

    def _close_loose(self) -> None:
        self._batches.put_nowait(self._loose)
        self._loose, self._closing = [], None

    async def _serve(self) -> None:
        while True:
            batch = await self._batches.get()
            try:
                results = await self._run_batch([waiting.request for waiting in batch])
                for waiting, result in zip(batch, results, strict=True):
                    if not waiting.result.cancelled():
                        waiting.result.set_result(result)
            except Exception as error:
                _fail(batch, error)


def _fail(batch: Sequence[_Waiting[RequestT, ResultT]], error: Exception) -> None:
    for waiting in batch:
        if not waiting.result.done():
            waiting.result.set_exception(error)
