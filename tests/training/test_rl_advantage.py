"""Per-turn advantages: by hand, and as an exact expectation over a toy policy that decides when to stop."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest

from coding_framework.training.rl.advantage import group_name, turn_advantages, turn_of_key


def test_each_row_is_compared_with_the_others_of_its_group() -> None:
    got = turn_advantages([1.0, 2.0, 6.0], ["a", "a", "a"], [True] * 3, normalise=False)
    assert got == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5])


def test_groups_do_not_mix() -> None:
    got = turn_advantages([1.0, 10.0, 3.0, 30.0], ["a", "b", "a", "b"], [True] * 4, normalise=False)
    assert got == pytest.approx([-2, -20, 2, 20])


def test_normalised_advantages_are_divided_by_the_sample_standard_deviation() -> None:
    got = turn_advantages([0.0, 1.0], ["a", "a"], [True, True])
    assert got == pytest.approx([-1 / 0.5**0.5, 1 / 0.5**0.5])


def test_a_row_alone_at_its_turn_gets_no_advantage() -> None:
    assert turn_advantages([5.0, 1.0], ["a/turn0", "a/turn1"], [True, True]).tolist() == [0.0, 0.0]


def test_equal_returns_give_no_advantage_and_no_division_by_zero() -> None:
    assert turn_advantages([0.3] * 4, ["a"] * 4, [True] * 4).tolist() == [0.0] * 4


def test_a_lost_episode_enters_no_baseline() -> None:
    got = turn_advantages([1.0, 3.0, 0.0], ["a"] * 3, [True, True, False], normalise=False)
    assert got == pytest.approx([-2, 2, 0])


def test_the_turn_is_the_last_part_of_verls_key() -> None:
    assert turn_of_key("3f2c-uid_with_underscores_5_2") == 2
    assert group_name("u", 0) != group_name("u", 1)


class StoppingBandit:
    """Turn 0 stops with a fair reward or goes on; turn 1 chooses between a good and a bad arm."""

    discount, stop_reward, go_reward, arms = 0.9, 0.5, 0.1, (0.2, 0.8)

    def __init__(self, stop_logit: float, arm_logit: float) -> None:
        self.stop = 1 / (1 + exp(-stop_logit))
        self.good = 1 / (1 + exp(-arm_logit))

    def trajectories(self) -> list[tuple[float, list[float], list[tuple[int, float]]]]:
        """Probability, returns of the active turns, and (parameter, d log p / d logit) of each action."""
        stopped = self.stop_reward * (1 + self.discount)
        found = [(self.stop, [stopped], [(0, 1 - self.stop)])]
        for arm, probability in enumerate((1 - self.good, self.good)):
            returns = [self.go_reward + self.discount * self.arms[arm], self.arms[arm]]
            score = (1 - self.good) if arm else -self.good
            found.append(((1 - self.stop) * probability, returns, [(0, -self.stop), (1, score)]))
        return found

    def true_gradient(self) -> tuple[float, float]:
        gradient = [0.0, 0.0]
        for probability, returns, scores in self.trajectories():
            for value, (parameter, score) in zip(returns, scores, strict=True):
                gradient[parameter] += probability * value * score
        return gradient[0], gradient[1]


def expected_estimate(bandit: StoppingBandit, group_size: int, *, by_turn: bool) -> np.ndarray:
    """The estimator's exact mean: every way in which a group can come out, with its probability."""
    total = np.zeros(2)
    for group in product(bandit.trajectories(), repeat=group_size):
        weight = np.prod([probability for probability, _, _ in group])
        rows = [
            (value, turn, parameter, score)
            for _, returns, scores in group
            for turn, (value, (parameter, score)) in enumerate(zip(returns, scores, strict=True))
        ]
        groups = [turn if by_turn else 0 for _, turn, _, _ in rows]
        advantages = turn_advantages([row[0] for row in rows], groups, [True] * len(rows), normalise=False)
        for advantage, (_, _, parameter, score) in zip(advantages, rows, strict=True):
            total[parameter] += weight * advantage * score / group_size
    return total


@pytest.mark.parametrize(("stop_logit", "arm_logit"), [(0.0, 0.0), (1.2, -0.7), (-2.0, 0.4)])
@pytest.mark.parametrize("group_size", [2, 3, 4])
def test_the_expected_update_is_the_policy_gradient(
    stop_logit: float, arm_logit: float, group_size: int
) -> None:
    bandit = StoppingBandit(stop_logit, arm_logit)
    first, second = bandit.true_gradient()
    has_company = 1 - bandit.stop ** (group_size - 1)
    assert expected_estimate(bandit, group_size, by_turn=True) == pytest.approx([first, second * has_company])


def test_comparing_rows_across_turns_would_be_biased() -> None:
    bandit = StoppingBandit(0.0, 0.0)
    mixed = expected_estimate(bandit, 3, by_turn=False)
    assert abs(mixed[0] - bandit.true_gradient()[0]) > 0.01
