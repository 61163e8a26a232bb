"""Which contexts are kept; no GPU is needed to decide that."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from coding_framework.cuda.executors.gpu.launch_costs import LaunchCosts


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LaunchCosts:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return LaunchCosts(0)


def learn(costs: LaunchCosts, *costs_us: float) -> None:
    for cost_us in costs_us:
        costs.is_of_the_faster_kind(cost_us)


def test_nothing_is_trusted_before_some_are_known(costs: LaunchCosts) -> None:
    assert [costs.is_of_the_faster_kind(6.5) for _ in range(7)] == [False] * 5 + [True] * 2


def test_the_slower_kind_is_told_from_the_faster(costs: LaunchCosts) -> None:
    learn(costs, 6.9, 6.5, 7.0, 6.9, 6.6)
    assert not costs.is_of_the_faster_kind(6.85)
    assert costs.is_of_the_faster_kind(6.7)


def test_other_processes_know_it_too(costs: LaunchCosts) -> None:
    learn(costs, 6.9, 6.5, 7.0, 6.9, 6.6)
    assert not LaunchCosts(0).is_of_the_faster_kind(6.9)
    assert not LaunchCosts(1).is_of_the_faster_kind(6.5)


def test_what_was_fast_long_ago_is_forgotten(costs: LaunchCosts) -> None:
    learn(costs, 5.0, *[6.5] * 14)
    assert not costs.is_of_the_faster_kind(6.5)
    assert costs.is_of_the_faster_kind(6.5)


@pytest.mark.parametrize("text", ["", "no json", "[1, null]", '{"a": 1}', "[[]]", "3"])
def test_a_file_that_is_none_of_ours_is_learned_again(costs: LaunchCosts, text: str) -> None:
    costs._path.write_text(text)
    assert not costs.is_of_the_faster_kind(6.5)
    learn(costs, 6.5, 6.5, 6.5, 6.5)
    assert costs.is_of_the_faster_kind(6.5)
