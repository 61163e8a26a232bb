"""Episodes that were started together ask together, in whatever order they come."""

from __future__ import annotations

import asyncio

from coding_framework.training.rl.rounds import Round, Rounds


async def episode(rounds: Rounds, turns: int, seen: list[Round]) -> None:
    for _ in range(turns):
        seen.append(await rounds.wait())
        await asyncio.sleep(0)
    rounds.leave()


async def test_every_round_holds_all_episodes_that_have_not_ended() -> None:
    rounds, seen = Rounds(3), []  # type: ignore[var-annotated]
    await asyncio.gather(*(episode(rounds, turns, seen) for turns in (1, 3, 2)))
    assert sorted((one.number, one.size) for one in seen) == [(1, 3)] * 3 + [(2, 2)] * 2 + [(3, 1)]
    assert rounds.is_over


async def test_a_round_waits_for_whoever_was_announced_and_has_not_come() -> None:
    rounds, seen = Rounds(2), []  # type: ignore[var-annotated]
    first = asyncio.create_task(episode(rounds, 1, seen))
    for _ in range(10):
        await asyncio.sleep(0)
    assert seen == []
    await asyncio.gather(first, episode(rounds, 1, seen))
    assert seen == [Round(1, 2)] * 2


async def test_nobody_waits_for_an_episode_that_was_cancelled_while_waiting() -> None:
    rounds, seen = Rounds(2), []  # type: ignore[var-annotated]
    lost = asyncio.create_task(rounds.wait())
    await asyncio.sleep(0)
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    rounds.leave()
    await episode(rounds, 1, seen)
    assert seen == [Round(1, 1)]
