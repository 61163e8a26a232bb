"""Policy and judge never compute at the same time on one card, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import random

import pytest

from coding_framework.training.rl.turn_taking import Activity, TurnTaking


class Room:
    """Counts who is inside and remembers who met whom."""

    def __init__(self) -> None:
        self.inside: dict[Activity, int] = {"sampling": 0, "judging": 0}
        self.met = False
        self.order: list[Activity] = []

    async def be(self, turns: TurnTaking, activity: Activity, seconds: float) -> None:
        async with turns.taking(activity, step=3):
            self.inside[activity] += 1
            self.order.append(activity)
            self.met |= all(self.inside.values())
            await asyncio.sleep(seconds)
            self.inside[activity] -= 1


async def episode(room: Room, turns: TurnTaking, seed: int, num_turns: int) -> None:
    draw = random.Random(seed)
    for _ in range(num_turns):
        await room.be(turns, "sampling", draw.uniform(0, 0.004))
        await room.be(turns, "judging", draw.choice((0.0, 0.003)))


async def test_all_answers_of_a_turn_come_before_all_of_its_judgements() -> None:
    room, turns = Room(), TurnTaking(exclusive=True)
    await asyncio.gather(*(episode(room, turns, seed, 3) for seed in range(20)))
    assert not room.met
    assert room.order == (["sampling"] * 20 + ["judging"] * 20) * 3
    spans = turns.finished_spans()
    assert [(span.activity, span.entries) for span in spans] == [("sampling", 20), ("judging", 20)] * 3
    assert all(span.seconds > 0 and span.step == 3 for span in spans)
    assert turns.finished_spans() == []


async def test_with_a_judge_of_its_own_nobody_waits() -> None:
    room, turns = Room(), TurnTaking(exclusive=False)
    await asyncio.gather(*(episode(room, turns, seed, 3) for seed in range(20)))
    assert room.met
    spans = turns.finished_spans()
    assert sum(span.entries for span in spans if span.activity == "judging") == 60


@pytest.mark.parametrize("moment_s", [0.0005, 0.003, 0.008])
async def test_episodes_that_are_cancelled_or_fail_leave_the_room(moment_s: float) -> None:
    room, turns = Room(), TurnTaking(exclusive=True)
    tasks = [asyncio.create_task(episode(room, turns, seed, 4)) for seed in range(12)]
    await asyncio.sleep(moment_s)
    for task in tasks[::2]:
        task.cancel()

    async def fails() -> None:
        async with turns.taking("judging", step=3):
            raise ValueError("of the judge")

    with pytest.raises(ValueError, match="of the judge"):
        await fails()
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), timeout=20)
    assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 6
    await asyncio.wait_for(episode(Room(), turns, 1, 1), timeout=20)
