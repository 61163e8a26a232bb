"""Every cheat of the kernel contract is caught for a stated reason, or gains nothing, on the emulator.

All that are selected are judged at once, on the two lanes of one pool; a test waits for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.pool import JudgePool
from judge_suite import Cheat, Row, cheat_row, manifest

CHEATS = [cheat for cheat in manifest().cheat if cheat.emulator]
LIMITS = JudgeConfig(executor="emulator", workers=2, compile_timeout_s=6, run_timeout_s=6, total_timeout_s=10)
"""Bombs run into these; nothing honest comes near them."""


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Row]]]:
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    cheats = [found["caught"] for found in wanted if "caught" in found]
    with JudgePool(LIMITS) as pool, ThreadPoolExecutor(LIMITS.workers) as threads:
        yield {cheat.name: threads.submit(cheat_row, pool, cheat, "emulator") for cheat in cheats}


@pytest.mark.parametrize("caught", [pytest.param(cheat, id=cheat.file) for cheat in CHEATS])
def test_a_kernel_that_cheats_is_caught_or_gains_nothing(rows: dict[str, Future[Row]], caught: Cheat) -> None:
    row = rows[caught.name].result()
    wanted = ", ".join(verdict.value for verdict in caught.emulator)
    assert row.as_wanted, f"{caught.tries}: {row.outcome} instead of {wanted}; {row.message}"


def test_every_exploit_of_the_catalogue_is_listed() -> None:
    assert set(manifest().exploit) >= {str(number) for number in range(1, 35)}
