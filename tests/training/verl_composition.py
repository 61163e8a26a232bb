"""verl's own configuration with our overrides, as its entry point would compose it."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

import pytest

from coding_framework.config import FrameworkConfig
from coding_framework.training.rl.overrides import build_overrides
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.verl_run import check, compose

_RECORDS = ("actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model", "algorithm")


def composed(config: FrameworkConfig, paths: RLPaths) -> Any:
    """Raises where an override names a key that verl does not have."""
    pytest.importorskip("hydra")
    if find_spec("verl") is None:
        pytest.skip("verl is not installed")
    return compose(build_overrides(config, paths))


def built(verl: Any) -> dict[str, Any]:
    """The records that verl's workers read; raises for a key that was added and that none of them knows."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic
    from verl.utils.config import omega_conf_to_dataclass

    check(verl)
    names = [*_RECORDS, *(["critic"] if need_critic(verl) else [])]
    records = {name: omega_conf_to_dataclass(OmegaConf.select(verl, name)) for name in names}
    _ray_accepts(OmegaConf.to_container(verl.ray_kwargs.ray_init, resolve=True))
    _vllm_accepts(records["actor_rollout_ref.rollout"])
    return records


def _ray_accepts(arguments: Any) -> None:
    import ray

    source = inspect.getsource(ray.init)
    known = inspect.signature(ray.init).parameters
    unknown = [name for name in arguments if name not in known and f'kwargs.pop("{name}"' not in source]
    assert not unknown, f"ray.init does not know {unknown}"


def _vllm_accepts(rollout: Any) -> None:
    """The arguments that reach vLLM past verl; only where vLLM is installed."""
    if rollout.name != "vllm" or find_spec("vllm") is None:
        return
    from vllm.engine.arg_utils import AsyncEngineArgs

    known = {field.replace("-", "_") for field in AsyncEngineArgs.__dataclass_fields__}
    unknown = [name for name in rollout.engine_kwargs.get("vllm", {}) if name.replace("-", "_") not in known]
    assert not unknown, f"vLLM does not know {unknown}"
