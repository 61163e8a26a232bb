"""What may be changed when a run is taken up again.

A run that is resumed has to become what it would have become without the stop. So only settings may
change that say how long, how often and with what memory, and those of a phase that has not begun.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from coding_framework.config import FrameworkConfig, load_config
from coding_framework.errors import ConfigError
from coding_framework.monitoring.run_folder import RunFolder

MAY_CHANGE = (
    "rl.enabled",
    "rl.steps",
    "rl.save_every",
    "rl.update_tokens",
    "rl.checkpoint_activations",
    "rl.keep_rows",
    "rl.rollout_memory_share",
    "rl.rollout_cache_bytes",
    "rl.rollout_sleeps",
    "rl.rollout_graphs",
    "rl.ray_address",
    "sft.steps",
    "sft.epochs",
    "sft.checkpoint_every",
    "sft.batch_tokens",
    "sft.checkpoint_activations",
    "sft.workers",
    "judge.workers",
    "evaluation.batch_size",
    "evaluation.samples_per_task",
)
"""At any time."""


def resume_config(run: RunFolder, overrides: Sequence[str] = ()) -> FrameworkConfig:
    """The config of an earlier run, with `overrides` (`key=value`) applied; raises for what is fixed."""
    try:
        FrameworkConfig.model_validate_json(run.config_json)
    except ValidationError as error:
        raise ConfigError(f"{run.path}/config.json is not a config of this version: {error}") from None
    keys = [text.partition("=")[0].strip() for text in overrides]
    fixed = [key for key in keys if not _may_change(key, run)]
    if fixed:
        raise ConfigError(
            f"{', '.join(fixed)} cannot change in a run that has begun: start a new run with it. What may "
            f"change: {', '.join(MAY_CHANGE)}, monitoring.*, and all of rl.* before RL has begun"
        )
    return load_config(run.path / "config.json", overrides)


def _may_change(key: str, run: RunFolder) -> bool:
    return (
        key in MAY_CHANGE
        or key.startswith("monitoring.")
        or (key.startswith("rl.") and not (run.path / "rl").exists())
    )
