"""Requests that wait together are served together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from coding_framework.training.rl.request_batcher import RequestBatcher


class Doubler:
    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    async def __call__(self, requests: Sequence[int]) -> list[int]:
        self.batches.append(list(requests))
        if -1 in requests:
            raise ValueError("no negatives")
        await asyncio.sleep(0.01)
        return [2 * request for request in requests]


async def test_a_full_cohort_starts_without_waiting() -> None:
    double = Doubler()
    batcher = RequestBatcher(double, quiet_s=60)
    assert await asyncio.gather(*(batcher.submit(n, cohort=3) for n in (1, 2, 3))) == [2, 4, 6]
    assert double.batches == [[1, 2, 3]]


async def test_a_lonely_request_waits_for_the_quiet_time_only() -> None:
    batcher = RequestBatcher(Doubler(), quiet_s=0.05)
    assert await asyncio.wait_for(batcher.submit(1, cohort=8), 2) == 2


async def test_late_requests_form_the_next_batch() -> None:
    double = Doubler()
    batcher = RequestBatcher(double, quiet_s=0.05)
    first = asyncio.create_task(batcher.submit(1))
    await asyncio.sleep(0.005)
    assert await asyncio.gather(first, batcher.submit(2), batcher.submit(3)) == [2, 4, 6]
    assert double.batches[0] == [1]


async def test_an_error_reaches_its_own_batch_and_no_other() -> None:
    batcher = RequestBatcher(Doubler(), quiet_s=0.01)
    with pytest.raises(ValueError, match="no negatives"):
        await batcher.submit(-1)
    assert await batcher.submit(4) == 8


async def test_a_batch_is_never_larger_than_its_limit() -> None:
    double = Doubler()
    batcher = RequestBatcher(double, quiet_s=0.01, max_batch=2)
    await asyncio.gather(*(batcher.submit(n, cohort=5) for n in range(5)))
    assert max(len(batch) for batch in double.batches) == 2
