"""Requests that wait together are served together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from coding_framework.training.rl.request_batcher import Cohort, RequestBatcher


class Doubler:
    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    async def __call__(self, requests: Sequence[int]) -> list[int]:
        self.batches.append(list(requests))
        if -1 in requests:
            raise ValueError("no negatives")
        await asyncio.sleep(0.01)
        return [2 * request for request in requests]


async def test_a_cohort_is_served_when_all_are_there_and_with_nobody_else() -> None:
    double = Doubler()
    batcher = RequestBatcher(double, quiet_s=60)
    ours, theirs = Cohort("ours", 3), Cohort("theirs", 2)
    requests = [(1, ours), (10, theirs), (2, ours), (20, theirs), (3, ours)]
    results = await asyncio.gather(*(batcher.submit(number, cohort) for number, cohort in requests))
    assert results == [2, 20, 4, 40, 6]
    assert double.batches == [[10, 20], [1, 2, 3]]


async def test_a_lonely_request_waits_for_the_quiet_time_only() -> None:
    batcher = RequestBatcher(Doubler(), quiet_s=0.05)
    assert await asyncio.wait_for(batcher.submit(1), 60) == 2


async def test_late_requests_form_the_next_batch() -> None:
    double = Doubler()
    batcher = RequestBatcher(double, quiet_s=0.01)
    assert await batcher.submit(1) == 2
    assert await asyncio.gather(batcher.submit(2), batcher.submit(3)) == [4, 6]
    assert double.batches == [[1], [2, 3]]


async def test_an_error_reaches_its_own_batch_and_no_other() -> None:
    batcher = RequestBatcher(Doubler(), quiet_s=0.01)
    with pytest.raises(ValueError, match="no negatives"):
        await batcher.submit(-1)
    assert await batcher.submit(4) == 8
