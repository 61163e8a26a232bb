"""A reward of one's own is tried on recorded evaluations before anything is spent on it.

It scores five evaluations that the judge gave (no code, a compile error, a wrong result, a pass, a faster
one), each on its own and after the others, for every agent: twice in this process and once in another one
that starts as the workers of a training do. Guaranteed: it can be found and called there, and gave the same
each time. Not guaranteed: that it does on evaluations which are unlike these, and that it ends; the other
process alone has a time limit.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from functools import cache
from importlib.resources import files
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from coding_framework.config import RewardConfig
from coding_framework.errors import ConfigError, FrameworkError, OwnCodeError
from coding_framework.plugins import extend_search_path, search_path
from coding_framework.records import AgentRole, Evaluation, Record, RewardComponents
from coding_framework.training.reward_functions.own_reward import OwnReward, Reward, reward_of

_LIMIT_S = 120.0
_SCORES = TypeAdapter(list[RewardComponents])


class _Question(Record):
    """What the other process is asked."""

    reward: RewardConfig
    """Which reward."""
    search_path: tuple[str, ...]
    """Where it lies."""


def checked_reward(config: RewardConfig) -> Reward:
    """The reward that these settings name; one of a user's own was tried."""
    reward = reward_of(config)
    if isinstance(reward, OwnReward):
        _try(reward)
    return reward


def behaviour(config: RewardConfig) -> str | None:
    """Sixteen hex digits that change when the user's code scores a recorded evaluation otherwise; None for
    the built-in reward, which its settings describe."""
    reward = reward_of(config)
    if not isinstance(reward, OwnReward):
        return None
    return hashlib.sha256(_SCORES.dump_json(_scores(reward))).hexdigest()[:16]


def _try(reward: OwnReward) -> None:
    try:
        first, again = _scores(reward), _scores(reward)
    except OwnCodeError as error:
        raise ConfigError(f"tried on recorded evaluations, {error}") from error
    _require_same(reward, first, again, "the second time")
    _require_same(reward, first, _scores_elsewhere(reward.config), "in another process")


def _scores(reward: OwnReward) -> list[RewardComponents]:
    recorded = recorded_evaluations()
    return [
        by_agent(evaluation, earlier)
        for by_agent in (reward.for_agent(role) for role in get_args(AgentRole))
        for place, evaluation in enumerate(recorded)
        for earlier in ((), recorded[:place])
    ]


def _require_same(
    reward: OwnReward, first: list[RewardComponents], again: list[RewardComponents], when: str
) -> None:
    for one, other in zip(first, again, strict=True):
        if one != other:
            raise ConfigError(
                f"reward.function {reward.config.function} is not a pure function: the same evaluation "
                f"earned {one.total:g} ({one.explanation}), and {when} {other.total:g} ({other.explanation})"
                ". Stored conversations are scored again: the same evaluations have to give the same reward"
            )


@cache
def recorded_evaluations() -> tuple[Evaluation, ...]:
    """As the judge gave them, in the order of a conversation."""
    text = files("coding_framework.training.reward_functions").joinpath("examples.jsonl").read_text("utf-8")
    return tuple(Evaluation.model_validate_json(line) for line in text.splitlines())


def _scores_elsewhere(config: RewardConfig) -> list[RewardComponents]:
    """In a process that begins where no module of the user's lies beside it."""
    question = _Question(reward=config, search_path=search_path())
    command = [sys.executable, "-P", "-m", "coding_framework.training.reward_functions.trial"]
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            answer = subprocess.run(
                command,
                input=question.model_dump_json(),
                capture_output=True,
                text=True,
                cwd=elsewhere,
                timeout=_LIMIT_S,
                check=False,
            )
            return _SCORES.validate_json(answer.stdout)
        except subprocess.TimeoutExpired:
            raise ConfigError(
                f"reward.function {config.function} did not score five evaluations in {_LIMIT_S:g} s"
            ) from None
        except ValidationError:
            raise ConfigError(
                f"reward.function {config.function} works in this process, but not in another one, as the "
                f"workers of a training are: {answer.stderr.strip()[-500:]}"
            ) from None


def _answer() -> None:
    """The other process."""
    question = _Question.model_validate_json(sys.stdin.read())
    extend_search_path(question.search_path)
    try:
        with redirect_stdout(sys.stderr):
            scores = _scores(OwnReward(question.reward))
    except FrameworkError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(_SCORES.dump_json(scores).decode())


if __name__ == "__main__":
    _answer()
