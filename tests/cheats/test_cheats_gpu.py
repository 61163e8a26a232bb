"""Every cheat of every contract is caught for a stated reason, or gains nothing, on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.pool import JudgePool
from judge_suite import Cheat, cheat_row, manifest

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def pool() -> Iterator[JudgePool]:
    with JudgePool(JudgeConfig(executor="gpu", workers=1)) as made:
        yield made


@pytest.mark.parametrize("cheat", [pytest.param(cheat, id=cheat.name) for cheat in manifest().cheat])
def test_a_candidate_that_cheats_is_caught_or_gains_nothing(pool: JudgePool, cheat: Cheat) -> None:
    row = cheat_row(pool, cheat, "gpu")
    wanted = ", ".join(verdict.value for verdict in cheat.gpu)
    assert row.as_wanted, f"{cheat.tries}: {row.outcome} instead of {wanted}; {row.message}"
