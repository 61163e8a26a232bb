"""A reward of a user's own, made from the settings (`reward.function`) in whatever process it is needed.

It is a function `(evaluation, earlier) -> RewardComponents`, or a class that is built from the settings and
whose objects are called so; `for_agent(role)` is asked where it is there.

Guaranteed: what it gives is `RewardComponents`; an exception of it is an `OwnCodeError` that names it, the
task and the line, and never a reward; a setting that nobody would read is refused. Not guaranteed: that it
is pure. `trial.py` looks for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from typing import TypeVar

from coding_framework.config import RewardConfig
from coding_framework.errors import ConfigError, OwnCodeError
from coding_framework.orchestration.episode import RewardFn
from coding_framework.orchestration.steps import AgentReward
from coding_framework.plugins import load_object, raised, require_arguments
from coding_framework.records import AgentRole, Evaluation, RewardComponents
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

GROUP = "coding_framework.rewards"
"""Of the entry points that packages register rewards under."""
Result = TypeVar("Result")


class OwnReward:
    """`reward(evaluation, earlier)`, by the user's code."""

    def __init__(self, config: RewardConfig) -> None:
        """Raises `ConfigError` where nothing of that name can be called so."""
        self.config = config
        self.agent: AgentRole | None = None
        self.wrapped = _made(config)

    def for_agent(self, role: AgentRole) -> OwnReward:
        """What it makes of itself for this agent; the same where it makes no difference."""
        made = copy(self)
        made.agent = role
        wrapped: object = self.wrapped
        if isinstance(wrapped, AgentReward):
            made.wrapped = self._guarded(lambda: wrapped.for_agent(role), f"in for_agent('{role}')")
        return made

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation] = ()) -> RewardComponents:
        where = f"on a kernel for {evaluation.task} ({evaluation.verdict})"
        answer: object = self._guarded(lambda: self.wrapped(evaluation, tuple(earlier)), where)
        if inspect.iscoroutine(answer):
            answer.close()
        if not isinstance(answer, RewardComponents):
            raise OwnCodeError(
                f"{_named(self.config)} gave {_kind_of(answer)} instead of RewardComponents {where}"
            )
        return answer

    def _guarded(self, call: Callable[[], Result], where: str) -> Result:
        try:
            return call()
        except (Exception, SystemExit) as error:
            raise OwnCodeError(
                f"{_named(self.config)} raised {raised(error)} {where}; "
                "nothing was rewarded. Correct it and start again; a run goes on with --resume"
            ) from error


Reward = CUDAPerformanceReward | OwnReward
"""Either; both have `config`, `agent` and `for_agent`."""


def reward_of(config: RewardConfig) -> Reward:
    """The reward that these settings name."""
    return CUDAPerformanceReward(config) if config.is_built_in else OwnReward(config)


def _made(config: RewardConfig) -> RewardFn:
    if config.function.startswith("__main__:"):
        raise ConfigError(
            f"{_named(config)} is in the script that was started, which no other process imports: put it "
            "into a module"
        )
    found = load_object(config.function, GROUP)
    if isinstance(found, type):
        found = _built(found, config)
    else:
        _require_no_settings(config)
    if not callable(found):
        raise ConfigError(f"{_named(config)} is {_kind_of(found)}, which cannot be called")
    require_arguments(found, ("evaluation", "earlier"), _named(config))
    return found


def _built(kind: type, config: RewardConfig) -> object:
    if kind is CUDAPerformanceReward:
        raise ConfigError(f"{_named(config)} is the built-in reward: leave reward.function out")
    require_arguments(kind, ("config",), f"{_named(config)}, a class,")
    try:
        return kind(config)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{_named(config)} could not be built from the settings: {raised(error)}"
        ) from error


def _require_no_settings(config: RewardConfig) -> None:
    default = RewardConfig()
    names = [name for name in RewardConfig.model_fields if name != "function"]
    unread = [name for name in names if getattr(config, name) != getattr(default, name)]
    if unread:
        raise ConfigError(
            f"{_named(config)} is given no settings, so nobody would read "
            f"{', '.join(f'reward.{name}' for name in unread)}: leave them out, name a class that is built "
            "from the settings, or set reward.function=built-in"
        )


def _named(config: RewardConfig) -> str:
    return f"reward.function {config.function}"


def _kind_of(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
