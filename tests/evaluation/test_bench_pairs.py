"""The benchmark of pairs makes real pairs and states what it shared."""

from __future__ import annotations

import pytest

from coding_framework.cli.bench import _pairs_rows
from coding_framework.config import JudgeConfig
from coding_framework.data.tasks import get_task
from coding_framework.evaluation.bench.pairs_bench import bench_pairs
from coding_framework.evaluation.bench.records import BenchPairsResult


@pytest.fixture(scope="module")
def result() -> BenchPairsResult:
    tasks = [get_task("transpose"), get_task("matvec")]
    return bench_pairs(JudgeConfig(workers=2, executor="emulator"), tasks, ("scale",), seconds=6, seed=3)


def test_pairs_are_kept_and_counted_in_several_ways(result: BenchPairsResult) -> None:
    assert result.num_kept > 0
    assert result.num_kept == sum(result.by_tier.values()) == sum(result.by_kind.values())
    assert result.num_kept == sum(result.by_family.values())
    assert result.num_drafts == result.num_kept + sum(result.rejected.values())
    assert result.time_kind == "modelled"


def test_time_is_counted_by_the_clock_and_by_the_processors(result: BenchPairsResult) -> None:
    assert result.seconds >= 6
    assert result.kept_per_minute == pytest.approx(60 * result.num_kept / result.seconds)
    assert 0.01 < result.cpu_s_per_pair < 60
    assert result.cpu_s < 1.2 * result.seconds * result.cores + 2


def test_the_table_says_what_was_kept_dropped_and_shared(result: BenchPairsResult) -> None:
    rows = dict(_pairs_rows(result))
    assert rows["kept pairs a minute"].startswith(f"{result.kept_per_minute:,.0f} (2 lanes")
    assert f"{result.judged_in_full} were judged in full" in rows["verdicts shared by PTX"]
    assert rows["compile cache hits"].startswith(f"{result.from_cache} of {result.compiled}")
    assert rows["times are"] == "modelled"


def test_what_was_shared_is_stated(result: BenchPairsResult) -> None:
    assert result.judged_in_full > 0
    assert result.shared > 0
    assert 0 < result.shared_rate < 1
    assert result.compiled >= result.num_drafts - result.rejected.get("structure rejected", 0) - 1
    assert result.from_cache < result.compiled
