"""Collects requests that are awaited at the same time into one batch.

Episodes run as coroutines and ask for one answer each; the model is fastest when it writes many
at once. The first request opens a short window; what has arrived when it closes is one batch, run
in a thread while further requests gather for the next. One batch at a time.

Guaranteed: a failing batch fails its own requests only; a request whose caller has gone is not
run; when the event loop ends, a running batch is told to stop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

WINDOW_S = 0.02


class BatchQueue(Generic[Request, Result]):
    """Awaitable front of a function that works on batches."""

    def __init__(
        self,
        run_batch: Callable[[Sequence[Request], threading.Event], Sequence[Result]],
        *,
        max_batch_size: int,
        window_s: float = WINDOW_S,
    ) -> None:
        self._run_batch = run_batch
        self._max_batch_size = max_batch_size
        self._window_s = window_s
        self._waiting: list[tuple[Request, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def submit(self, request: Request) -> Result:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # an earlier event loop ended, perhaps in the middle of a batch
            self._loop, self._worker, self._waiting = loop, None, []
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._window_s)
            self._waiting = [entry for entry in self._waiting if not entry[1].done()]
            batch = self._waiting[: self._max_batch_size]
            del self._waiting[: self._max_batch_size]
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: list[tuple[Request, asyncio.Future[Result]]]) -> None:
        stop = threading.Event()
        try:
            results = await asyncio.to_thread(self._run_batch, [request for request, _ in batch], stop)
        except asyncio.CancelledError:
            stop.set()
            raise
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
