"""From a reward object to the settings that make the same one in another process.

No object is sent to worker processes: a pickle of today may not be what the file says tomorrow, when the run
is resumed. They are told a name and settings. So an object is accepted if it has a name that leads to it, or
is of a class that can be named and that builds an equal object from the settings; everything else is refused
with the reason.
"""

from __future__ import annotations

import sys
from types import FunctionType

from coding_framework.config import BUILT_IN, RewardConfig
from coding_framework.errors import ConfigError
from coding_framework.plugins import load_object
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.reward_functions.own_reward import GROUP, OwnReward, Reward

_REMEDY = "put it at the top level of a module and name it with reward.function, or pass it from there"


def settings_of(reward: object, config: RewardConfig) -> RewardConfig:
    """By which worker processes have `reward`; raises `ConfigError` where they could not."""
    settings = _settings_of(reward, config)
    if not config.is_built_in and settings.function != config.function:
        raise ConfigError(
            f"reward.function names {config.function}, but reward_function is {settings.title}: leave one of "
            "them out"
        )
    return settings


def _settings_of(reward: object, config: RewardConfig) -> RewardConfig:
    if isinstance(reward, Reward) and type(reward) in (CUDAPerformanceReward, OwnReward):
        return _settings_of_ours(reward)
    if not callable(reward):
        raise ConfigError(f"reward_function must be a reward, not a {type(reward).__name__}")
    if not config.is_built_in and load_object(config.function, GROUP) is reward:
        return config
    if isinstance(reward, type | FunctionType):
        return config.model_copy(update={"function": _reference(reward)})
    name = _name_of_object(reward)
    return config.model_copy(update={"function": name}) if name else _of_its_class(reward, config)


def _settings_of_ours(reward: Reward) -> RewardConfig:
    if reward.agent is not None:
        raise ConfigError(f"reward_function is that of the {reward.agent} alone: pass the one of all agents")
    return reward.config


def _reference(named: type | FunctionType) -> str:
    """`module:attribute` of a function or class; raises where it leads somewhere else or nowhere."""
    module, path = named.__module__, named.__qualname__
    who = f"worker processes could not import {module}:{path}"
    if path.endswith("<lambda>"):
        raise ConfigError(f"{who}: a lambda has no name; {_REMEDY}")
    if "<locals>" in path:
        raise ConfigError(f"{who}: it was made inside a function; {_REMEDY}")
    if module == "__main__":
        raise ConfigError(f"{who}: it is in the script that was started; {_REMEDY}")
    reference = f"{module}:{path}"
    if load_object(reference, GROUP) is not named:
        raise ConfigError(f"{who}: another object has that name; {_REMEDY}")
    return reference


def _name_of_object(reward: object) -> str | None:
    """`module:attribute` of an object that stands at the top level of a module."""
    for module in [name for name in list(sys.modules) if name != "__main__"]:
        for attribute, value in list(getattr(sys.modules[module], "__dict__", {}).items()):
            if value is reward:
                return f"{module}:{attribute}"
    return None


def _of_its_class(reward: object, config: RewardConfig) -> RewardConfig:
    kind = type(reward)
    if kind.__module__ in ("builtins", "functools"):
        raise ConfigError(
            f"worker processes could not import a {kind.__name__}, which has no name; {_REMEDY}"
        )
    reference = _reference(kind)
    state = _state(reward)
    given = next((value for value in state.values() if isinstance(value, RewardConfig)), config)
    settings = given.model_copy(update={"function": reference})
    twin = _state(OwnReward(settings).wrapped)
    other = sorted(name for name in state.keys() | twin.keys() if not _equal(state, twin, name))
    if other:
        raise ConfigError(
            f"worker processes build {reference} from the settings, and {', '.join(other)} would not be what "
            "it is in this object: have the class keep the settings that it was built from (self.config) and "
            "read the rest from reward.options, or name the object at the top level of a module"
        )
    return settings


def _state(reward: object) -> dict[str, object]:
    """Every attribute of the object itself."""
    declared = [getattr(kind, "__slots__", ()) for kind in type(reward).__mro__]
    slots = [name for names in declared for name in ((names,) if isinstance(names, str) else names)]
    kept = {name: getattr(reward, name) for name in slots if hasattr(reward, name) and name != "__dict__"}
    return {**kept, **getattr(reward, "__dict__", {})}


def _equal(state: dict[str, object], twin: dict[str, object], name: str) -> bool:
    if name not in state or name not in twin:
        return False
    one, other = _without_function(state[name]), _without_function(twin[name])
    try:
        return one is other or bool(one == other)
    except Exception:  # of values that cannot be compared nobody can say that they are the same
        return False


def _without_function(value: object) -> object:
    return value.model_copy(update={"function": BUILT_IN}) if isinstance(value, RewardConfig) else value
