"""Collects requests that wait at the same time into one batch.

A decoding step costs nearly the same for one row as for eight, so it pays to wait for the other
episodes of a group. Each request says how many episodes are under way (`cohort`): a batch starts as
soon as that many wait, or when nobody joined for `quiet_s`.

Guaranteed: every request gets its own result or the exception of its batch; batches never overlap.
Not guaranteed: order between requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

RequestT = TypeVar("RequestT")
ResultT = TypeVar("ResultT")


@dataclass
class _Waiting(Generic[RequestT, ResultT]):
    request: RequestT
    cohort: int
    result: asyncio.Future[ResultT] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class RequestBatcher(Generic[RequestT, ResultT]):
    """One loop that turns single requests into calls of `run_batch`."""

    def __init__(
        self,
        run_batch: Callable[[Sequence[RequestT]], Awaitable[Sequence[ResultT]]],
        *,
        quiet_s: float = 1.0,
        max_batch: int = 64,
    ) -> None:
        self._run_batch = run_batch
        self._quiet_s = quiet_s
        self._max_batch = max_batch
        self._queue: asyncio.Queue[_Waiting[RequestT, ResultT]] = asyncio.Queue()
        self._loop_task: asyncio.Task[None] | None = None

    async def submit(self, request: RequestT, cohort: int = 1) -> ResultT:
        if self._loop_task is None:
            self._loop_task = asyncio.create_task(self._serve())
        waiting: _Waiting[RequestT, ResultT] = _Waiting(request, cohort)
        await self._queue.put(waiting)
        return await waiting.result

    async def _serve(self) -> None:
        while True:
            batch = await self._collect()
            try:
                results = await self._run_batch([waiting.request for waiting in batch])
                for waiting, result in zip(batch, results, strict=True):
                    if not waiting.result.cancelled():
                        waiting.result.set_result(result)
            except Exception as error:
                _fail(batch, error)

    async def _collect(self) -> list[_Waiting[RequestT, ResultT]]:
        batch = [await self._queue.get()]
        while len(batch) < min(batch[-1].cohort, self._max_batch):
            try:
                batch.append(await asyncio.wait_for(self._queue.get(), self._quiet_s))
            except TimeoutError:
                break
        while len(batch) < self._max_batch and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch


def _fail(batch: Sequence[_Waiting[RequestT, ResultT]], error: Exception) -> None:
    for waiting in batch:
        if not waiting.result.done():
            waiting.result.set_exception(error)
