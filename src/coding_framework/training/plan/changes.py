"""What may be changed when a run is taken up again.

A run that is resumed has to become what it would have become without the stop. So only settings may
change that say how long, how often and with what memory, and those of a phase that has not begun.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import JsonValue

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
    """The config of an earlier run, with `overrides` (`key=value`) applied; raises for what is fixed.

    What the first machine settled stays as it is, except where a change asks for another decision.
    """
    path = run.path / "config.json"
    try:
        before = load_config(path)
    except ConfigError as error:
        raise ConfigError(f"{path} is not a config of this version: {error}") from None
    after = load_config(path, overrides)
    keys = {text.partition("=")[0].strip() for text in overrides}
    changed = {key for key in keys if value_at(after, key) != value_at(before, key)}
    fixed = sorted(key for key in changed if not _may_change(key, run))
    if fixed:
        raise ConfigError(
            f"{', '.join(fixed)} cannot change in a run that has begun: start a new run with it. What may "
            f"change: {', '.join(MAY_CHANGE)}, monitoring.*, and before RL has begun all of rl.* and "
            "curriculum.*"
        )
    anew = [one for one in settled_keys(run) if one not in keys and _is_settled_anew(one, run, changed)]
    return load_config(path, overrides, {key: value_at(FrameworkConfig(), key) for key in anew})


def settled_keys(run: RunFolder) -> dict[str, JsonValue]:
    """What was left open when the run was started, with what the machine made of it."""
    try:
        plan = json.loads((run.path / "plan.json").read_text(encoding="utf-8"))
        return {one["key"]: one["value"] for one in plan["settled"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def value_at(config: FrameworkConfig, key: str) -> Any:
    """Of a dotted key; None where an open section or a list holds it."""
    found: Any = config
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
    return found


def _may_change(key: str, run: RunFolder) -> bool:
    before_rl = key.startswith(("rl.", "curriculum.")) and not _rl_has_begun(run)
    freely = key in MAY_CHANGE or key.startswith("monitoring.")
    return freely or before_rl or (not has_begun(run) and not key.startswith("run."))


def _is_settled_anew(key: str, run: RunFolder, changed: Collection[str]) -> bool:
    """A decision about RL that has not begun; with other cards also those that nothing rests on yet."""
    if not has_begun(run):
        return bool(changed)
    if _rl_has_begun(run):
        return False
    cards = any(one == "rl.num_gpus" or one.startswith("rl.gpus.") for one in changed)
    if key.startswith("rl."):
        return key != "rl.num_gpus" and bool(changed)
    state = run.state()
    half_way = state.phase("sft") is None and any((run.path / "sft").glob("**/step_*"))
    compared = any(one.name.startswith("evaluation") for one in state.phases)
    stays = compared if key.startswith("judge.") else half_way and key != "model.dtype"
    return cards and not stays


def _rl_has_begun(run: RunFolder) -> bool:
    return (run.path / "rl").exists()


def has_begun(run: RunFolder) -> bool:
    """Whether anything but the model is there that the settings shaped."""
    made = (run.path / name for name in ("sft", "rl", "conversations.jsonl", "metrics.jsonl"))
    return any(one.name != "model" for one in run.state().phases) or any(one.exists() for one in made)
