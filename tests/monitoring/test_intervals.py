"""Intervals hold what they promise, and say what they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.monitoring.intervals import (
    Estimate,
    bootstrap_mean,
    bootstrap_ratio,
    difference_of_shares,
    mean_difference,
    pass_at_k,
    sign_test,
    wilson_estimate,
)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_is_the_share_of_all_choices_of_k_samples_that_hold_a_pass(
    passed: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(passed)))
    choices = list(combinations(passed, k))
    assert pass_at_k(len(passed), sum(passed), k) == pytest.approx(
        sum(any(choice) for choice in choices) / len(choices)
    )


def test_pass_at_more_samples_than_there_are_does_not_exist() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        pass_at_k(4, 2, 5)


def coverage(draw: Callable[[np.random.Generator], tuple[Estimate | None, float]], rounds: int) -> float:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(rounds):
        estimate, truth = draw(generator)
        assert estimate is not None
        held += estimate.low <= truth <= estimate.high
    return held / rounds


@pytest.mark.parametrize("tasks", [6, 20])
def test_an_interval_over_tasks_holds_the_rate_of_all_tasks_that_could_have_been_asked(tasks: int) -> None:
    """Tasks differ: intervals that took their eight samples each for independent are far too short."""

    def draw(generator: np.random.Generator) -> tuple[Estimate | None, float]:
        chances = generator.beta(0.8, 1.2, size=tasks)
        rates = generator.binomial(8, chances) / 8
        return bootstrap_mean(rates.tolist(), share=True), 0.4

    def as_if_independent(generator: np.random.Generator) -> tuple[Estimate | None, float]:
        chances = generator.beta(0.8, 1.2, size=tasks)
        return wilson_estimate(int(generator.binomial(8, chances).sum()), 8 * tasks), 0.4

    assert coverage(draw, 200) >= 0.91
    assert coverage(as_if_independent, 200) < 0.85


def test_an_interval_of_a_geometric_mean_holds_the_true_one() -> None:
    def draw(generator: np.random.Generator) -> tuple[Estimate | None, float]:
        counts = generator.integers(0, 9, size=15)
        of_task = generator.normal(log(1.3), 0.3, size=15)
        drawn = [generator.normal(mean, 0.1, size=n) for mean, n in zip(of_task, counts, strict=True)]
        sums = [float(own.sum()) for own in drawn]
        estimate = bootstrap_ratio(sums, counts.tolist(), share=False)
        return estimate, log(1.3)

    assert coverage(draw, 200) >= 0.9


def test_a_difference_of_two_shares_holds_the_true_one() -> None:
    def draw(generator: np.random.Generator) -> tuple[Estimate | None, float]:
        before, after = (wilson_estimate(int(generator.binomial(10, p)), 10) for p in (0.3, 0.6))
        return difference_of_shares(before, after), 0.3

    assert coverage(draw, 400) >= 0.93


def test_where_all_tasks_say_the_same_a_share_still_has_an_interval_and_a_difference_has_none() -> None:
    none_passed = bootstrap_mean([0.0] * 4, share=True)
    assert none_passed is not None
    assert (none_passed.low, none_passed.method) == (0.0, "wilson over tasks")
    assert 0.4 < none_passed.high < 0.6
    no_change = mean_difference([0.0] * 4)
    assert no_change is not None
    assert no_change.method == "none"


def test_few_tasks_have_an_interval_from_the_lowest_to_the_highest() -> None:
    estimate = bootstrap_mean([0.0, 0.25, 1.0], share=True)
    assert estimate is not None
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_the_same_numbers_give_the_same_interval() -> None:
    numbers = [0.1, 0.5, 0.2, 0.9, 0.4]
    assert bootstrap_mean(numbers, share=True) == bootstrap_mean(numbers, share=True)


def test_the_sign_test_is_the_binomial_one() -> None:
    assert sign_test(9, 1) == pytest.approx(22 / 1024)
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 0) == 1.0


def test_nothing_has_no_mean() -> None:
    assert bootstrap_ratio([0.0], [0], share=False) is None
    assert mean_difference([]) is None
