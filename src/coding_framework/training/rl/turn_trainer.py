"""verl plug-in: the synchronous trainer with per-turn groups, and the advantage estimator `turn_grpo`.

What differs from verl's own synchronous trainer:

- before advantages are formed, a row's group is its prompt *and* its turn;
- one optimizer step for each batch of episodes, however many rows they gave, so the update is on the
  policy that sampled; the batch is padded to a multiple of the group size only;
- rows with advantage 0 are left out of the update where they cannot change it (no KL and no entropy
  term); a batch without any signal makes no update at all;
- prompts are named by step and place, and rows stand in the order of these names, whichever episode
  ended first: a step that is done again is the same step;
- training ends after the current step, with a checkpoint, when the stop file appears.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch
import transfer_queue as tq  # type: ignore[import-untyped]
from omegaconf import open_dict
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu

from coding_framework.errors import TrainingError
from coding_framework.training.rl.advantage import group_name, turn_advantages, turn_of_key
from coding_framework.training.rl.names import (
    ADVANTAGE_NAME,
    GROUP_FIELD,
    GROUP_SIZE_FIELD,
    TRAINER_NAME,
    prompt_name,
)
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.worker_settings import WorkerSettings

_POLL_S = 0.2
"""How often the trainer looks whether all episodes of a step are in; verl's own is two seconds."""


@register_adv_est(ADVANTAGE_NAME)  # type: ignore[untyped-decorator]
def turn_grpo(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Any = None,
    config: Any = None,
    **_unused: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same advantage on every token of a row; `index` holds the group of each row."""
    active = response_mask.sum(dim=1) > 0
    normalise = bool(config.get("norm_adv_by_std_in_grpo", True)) if config is not None else True
    per_row = turn_advantages(
        token_level_rewards.sum(dim=1).tolist(), list(index), active.tolist(), normalise=normalise
    )
    spread = torch.as_tensor(per_row, dtype=torch.float32).unsqueeze(1) * response_mask
    return spread, spread


@register_trainer(TRAINER_NAME)
class TurnTrainer(PPOTrainerSync):  # type: ignore[misc]
    """verl's synchronous trainer over rows that are turns."""

    total_training_steps: int

    def __init__(self, config: Any) -> None:
        # The mode chose this class; from here on verl's own branches must see a synchronous trainer.
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"
        super().__init__(config)
        self.replay_buffer.poll_interval = _POLL_S
        self._prompts_of_step: dict[int, int] = {}
        self._settings = WorkerSettings.from_environment()

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        batch = super()._next_train_batch(num_prompts)
        first = self._prompts_of_step.get(self.global_steps, 0)
        self._prompts_of_step = {self.global_steps: first + len(batch)}
        names = [prompt_name(self.global_steps, first + place) for place in range(len(batch))]
        batch.update(tu.get_tensordict({"uid": np.array(names, dtype=object)}))
        tu.assign_non_tensor_data(batch, GROUP_FIELD, names[0])
        size = len(batch) * int(self.config.actor_rollout_ref.rollout.n)
        tu.assign_non_tensor_data(batch, GROUP_SIZE_FIELD, size)
        return batch

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], *args: Any, **options: Any) -> Any:
        ordered = _select(batch, sorted(range(len(batch)), key=lambda row: _place_of_key(batch.keys[row])))
        return super()._balance_batch(ordered, metrics, *args, **options)

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        return math.lcm(dp_size, int(self.config.actor_rollout_ref.rollout.n))

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        rows = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["uid", "response_mask"]
        )
        if not bool(rows["response_mask"].values().any()):
            raise TrainingError(f"step {self.global_steps}: every episode was lost to faults of the judge")
        groups = [
            group_name(uid, turn_of_key(key)) for uid, key in zip(list(rows["uid"]), batch.keys, strict=True)
        ]
        renamed = tu.get_tensordict({"uid": np.array(groups, dtype=object)})
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=renamed)
        return super()._compute_advantage(batch, metrics)

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        used = self._rows_with_signal(batch)
        metrics["training/rows"] = sum(not tag.get("is_padding", False) for tag in batch.tags)
        metrics["training/rows_used"] = sum(not batch.tags[row].get("is_padding", False) for row in used)
        metrics["training/tokens_used"] = sum(int(batch.tags[row]["seq_len"]) for row in used)
        if used:
            part = _select(batch, used)
            group_size = int(self.config.actor_rollout_ref.rollout.n)
            self.config.actor_rollout_ref.actor.ppo_mini_batch_size = len(part) // group_size
            super()._update_actor(part, metrics)
        return batch

    def _rows_with_signal(self, batch: Any) -> list[int]:
        """Rows that can change the weights, filled up with short ones to a size that verl can split."""
        actor = self.config.actor_rollout_ref.actor
        if actor.use_kl_loss or actor.entropy_coeff:
            return list(range(len(batch)))
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["advantages"])
        with_signal = [row for row, one in enumerate(data["advantages"].unbind()) if bool((one != 0).any())]
        if not with_signal:
            return []
        rest = sorted(set(range(len(batch))) - set(with_signal), key=lambda row: batch.tags[row]["seq_len"])
        multiple = self._get_required_batch_multiple(max(self.actor_rollout_wg._dispatch_info["actor"]) + 1)
        return with_signal + rest[: -len(with_signal) % multiple]

    def on_init_end(self) -> None:
        super().on_init_end()
        mark_stage("ready")

    def on_step_end(self) -> None:
        super().on_step_end()
        if self._settings.stop_file.exists() and self.global_steps < self.total_training_steps:
            if self.global_steps % self.config.trainer.save_freq:
                self._save_checkpoint()
            self.total_training_steps = self.global_steps


def _place_of_key(key: str) -> tuple[int, ...]:
    """Step, prompt, episode and turn."""
    return tuple(int(number) for number in re.findall(r"\d+", key))


def _select(batch: Any, rows: list[int]) -> Any:
    return tq.KVBatchMeta(
        keys=[batch.keys[row] for row in rows],
        tags=[batch.tags[row] for row in rows],
        partition_id=batch.partition_id,
        fields=batch.fields,
        extra_info=batch.extra_info,
    )
