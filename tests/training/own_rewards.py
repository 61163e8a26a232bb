"""Rewards of a user's own, as a user might write them: good ones and such as cannot be used."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from coding_framework.config import RewardConfig
from coding_framework.records import AgentRole, Evaluation, RewardComponents, Verdict
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward


def earning(value: float, words: str = "own") -> RewardComponents:
    return RewardComponents(preset="own", parts={"all": value}, total=value, explanation=words)


def half(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    return earning(0.5)


class Patience:
    """Earns by how many came before, as the options say; the tester earns nothing."""

    def __init__(self, config: RewardConfig) -> None:
        self.config = config
        self.a_turn = float(config.options.get("a_turn", 0.1))

    def for_agent(self, role: AgentRole) -> Callable[[Evaluation, Sequence[Evaluation]], RewardComponents]:
        return nothing if role == "tester" else self

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
        return earning(self.a_turn * len(earlier))


def nothing(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    return earning(0.0)


class Twice(CUDAPerformanceReward):
    """The built-in reward, doubled."""

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation] = ()) -> RewardComponents:
        return earning(min(1.0, 2 * super().__call__(evaluation, earlier).total))


class Constant:
    """Holds a value that no settings say."""

    def __init__(self, config: RewardConfig, value: float = 0.25) -> None:
        self.value = value

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
        return earning(self.value)


quarter = Constant(RewardConfig(), 0.25)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, config: RewardConfig, value: float = 0.25) -> None:
        self.value = value

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
        return earning(self.value)


def leaves(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    raise SystemExit(0)


def dice(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    return earning(random.random(), "by chance")


def by_hash(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    """The same within a process: Python draws a new salt for each."""
    return earning(hash(str(evaluation.verdict)) % 10_007 / 10_007)


def number(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> float:
    return 0.5


def one_argument(evaluation: Evaluation) -> RewardComponents:
    return earning(0.5)


def by_checks(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    return earning(1 / len(evaluation.checks))


def not_a_number(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    return earning(float("nan"))


def stumbles_over_timeouts(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
    """No recorded evaluation is a timeout."""
    if evaluation.verdict is Verdict.TIMEOUT:
        raise LookupError("never seen this")
    return earning(0.5)


class Demanding:
    def __init__(self, config: RewardConfig, more: int) -> None:
        raise AssertionError("never built")


class Choosy:
    def __init__(self, config: RewardConfig) -> None:
        raise ValueError("set reward.options.limit")
