"""verl plug-in: the synchronous trainer with per-turn groups, and the advantage estimator `turn_grpo`.

What differs from verl's own synchronous trainer:

- before advantages are formed, a row's group is its prompt *and* its turn;
- optimizer steps are cut by rows, however many the episodes gave: one for the whole batch, or several of
  about `rl.update_turns`;
- rows that cannot change the weights are left out of the update: those without a token that counts, and
  without a critic and a KL term those with advantage 0; a batch without any signal makes no update; the
  loss is a mean over the tokens of the rows that are left, and rows that only fill up count for nothing;
- the weight of the KL term may follow the distance to the start model, and is part of a checkpoint;
- how far rollout and policy are apart is measured also where the policy's own log-probabilities are used;
- prompts are named by step and place, and rows stand in the order of these names, whichever episode
  ended first: a step that is done again is the same step;
- which task a prompt is played on is asked of the data pipeline, which is told how its episodes went; its
  state is part of a checkpoint;
- training ends after the current step, with a checkpoint, when the stop file appears.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transfer_queue as tq  # type: ignore[import-untyped]
from omegaconf import OmegaConf, open_dict
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils import tensordict_utils as tu
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.utils.losses import ppo_loss

from coding_framework.config import RLConfig
from coding_framework.errors import TrainingError
from coding_framework.training.rl.advantage import (
    group_name,
    place_of_key,
    turn_advantages,
    turn_of_key,
)
from coding_framework.training.rl.kept_rows import write_rows
from coding_framework.training.rl.kl_band import KLWeight
from coding_framework.training.rl.logprob_gap import METRIC as LOGPROB_GAP
from coding_framework.training.rl.names import (
    ADVANTAGE_NAME,
    GROUP_FIELD,
    GROUP_SIZE_FIELD,
    TRAINER_NAME,
    prompt_name,
)
from coding_framework.training.rl.placed_trainer import PlacedTrainer
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.task_choice import EpisodeReport, TaskChoice
from coding_framework.training.rl.trained_rows import trained_rows
from coding_framework.training.rl.turn_sampler import episode_reports
from coding_framework.training.rl.update_cut import UpdateCut
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
class TurnTrainer(PlacedTrainer):
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
        self._kl = KLWeight(coef=self._rl.kl_coef) if self._rl.kl_band.enabled else None
        self._choice = TaskChoice.from_settings(self._settings)
        self._reports: list[EpisodeReport] = []
        self._rows_of_step = 0
        self._used_keys: frozenset[str] = frozenset()
        self._measured: dict[str, float] = {}

    @property
    def _rl(self) -> RLConfig:
        return self._settings.rl

    def _step_once(self, metrics: dict[str, Any], timing_raw: dict[str, Any], sample_batch_size: int) -> Any:
        self._used_keys, self._measured = frozenset(), {}
        batch = super()._step_once(metrics, timing_raw, sample_batch_size)
        metrics.update(self._measured)
        self._choice.record(self._settings.steps_before + self.global_steps, self._reports)
        if self._rl.keep_rows:
            write_rows(self._settings.rl_dir, self.global_steps, trained_rows(batch, self._used_keys))
        return batch

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        batch = super()._next_train_batch(num_prompts)
        first = self._prompts_of_step.get(self.global_steps, 0)
        self._prompts_of_step = {self.global_steps: first + len(batch)}
        names = [prompt_name(self.global_steps, first + place) for place in range(len(batch))]
        told = self._choice.next_rows(len(batch))
        rows = [{**old, **new} for old, new in zip(list(batch["extra_info"]), told, strict=True)]
        fields = {"uid": np.array(names, dtype=object), "extra_info": np.array(rows, dtype=object)}
        batch.update(tu.get_tensordict(fields))
        tu.assign_non_tensor_data(batch, GROUP_FIELD, names[0])
        size = len(batch) * int(self.config.actor_rollout_ref.rollout.n)
        tu.assign_non_tensor_data(batch, GROUP_SIZE_FIELD, size)
        return batch

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], *args: Any, **options: Any) -> Any:
        """In the order of the names: optimizer steps are cut out of it."""
        self._require_every_episode(batch.keys)
        self._rows_of_step = len(batch)
        self._reports = episode_reports(batch, self.replay_buffer)
        ordered = _select(batch, sorted(range(len(batch)), key=lambda row: place_of_key(batch.keys[row])))
        return super()._balance_batch(ordered, metrics, *args, **options)

    def _require_every_episode(self, keys: Sequence[str]) -> None:
        """verl goes on without the rows of an episode that failed in its own hands."""
        came = len({key.rsplit("_", 1)[0] for key in keys})
        asked = self._rl.prompts_per_step * self._rl.group_size
        if came != asked:
            raise TrainingError(f"step {self.global_steps}: rows of {came} episodes came back, of {asked}")

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        cut = self._cut(dp_size)
        return cut.updates(self._rows_of_step) * cut.multiple

    def _cut(self, workers: int) -> UpdateCut:
        return UpdateCut(super()._get_required_batch_multiple(workers), self._rl.update_turns)

    def _compute_values(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """verl leaves the word on the batch that the reference is the actor without its adapter; the critic
        would take it for itself."""
        batch.extra_info.pop("no_lora_adapter", None)
        return super()._compute_values(batch, metrics)

    def _compute_old_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_old_log_prob(batch, metrics)
        if self._rl.recomputes_log_probs:
            fields = ["old_log_probs", "rollout_log_probs", "response_mask"]
            rows = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
            policy, rollout, mask = (torch.cat(rows[name].unbind()) for name in fields)
            self._measured[LOGPROB_GAP] = float((policy - rollout).abs()[mask.bool()].mean())
        return batch

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        rows = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["uid", "response_mask"]
        )
        counted = _rows_with_tokens(rows["response_mask"])
        if not counted:
            raise TrainingError(f"step {self.global_steps}: every episode was lost to faults of the judge")
        groups = [
            group_name(uid, turn_of_key(key)) for uid, key in zip(list(rows["uid"]), batch.keys, strict=True)
        ]
        renamed = tu.get_tensordict({"uid": np.array(groups, dtype=object)})
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=renamed)
        batch = super()._compute_advantage(batch, metrics)
        if self._rl.correction.rejects:
            left = tq.kv_batch_get(
                keys=batch.keys, partition_id=batch.partition_id, select_fields=["response_mask"]
            )
            rejected = len(counted) - len(_rows_with_tokens(left["response_mask"]))
            metrics["training/turns_rejected"] = float(rejected)
        return batch

    def _update_critic(self, batch: Any, metrics: dict[str, Any]) -> Any:
        part, size = self._part(batch, self._rows_to_learn_from(batch, for_critic=True))
        if len(part):
            self.config.critic.ppo_mini_batch_size = size
            super()._update_critic(part, metrics)
        return batch

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        wanted = self._rows_to_learn_from(batch, for_critic=False)
        part, size = self._part(batch, wanted)
        self._used_keys = frozenset(batch.keys[row] for row in wanted)
        metrics["training/rows"] = sum(not tag.get("is_padding", False) for tag in batch.tags)
        metrics["training/rows_used"] = len(wanted)
        tokens = sum(int(batch.tags[row]["seq_len"]) for row in wanted)
        metrics["training/tokens_used"] = tokens * self._rl.epochs
        if len(part):
            self.config.actor_rollout_ref.actor.ppo_mini_batch_size = size
            group_size = int(self.config.actor_rollout_ref.rollout.n)
            metrics["training/updates"] = self._rl.epochs * len(part) // (size * group_size)
            self._send_kl_weight()
            super()._update_actor(part, metrics)
            self._follow_kl(metrics)
        return batch

    def _rows_to_learn_from(self, batch: Any, *, for_critic: bool) -> list[int]:
        """Rows that can change the weights."""
        data = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["advantages", "response_mask"]
        )
        counted = _rows_with_tokens(data["response_mask"])
        actor = self.config.actor_rollout_ref.actor
        if for_critic or actor.use_kl_loss or actor.entropy_coeff:
            return counted
        advantages = data["advantages"].unbind()
        return [row for row in counted if bool((advantages[row] != 0).any())]

    def _part(self, batch: Any, wanted: list[int]) -> tuple[Any, int]:
        """These rows, filled up with short others to what can be cut evenly; rows of an optimizer step, as
        verl counts them: in groups."""
        workers = max(self.actor_rollout_wg._dispatch_info["actor"]) + 1
        cut = self._cut(workers)
        rest = sorted(set(range(len(batch))) - set(wanted), key=lambda row: batch.tags[row]["seq_len"])
        fillers = rest[: cut.padded(len(wanted)) - len(wanted)]
        _silence(_select(batch, fillers))
        rows = wanted + fillers
        group_size = int(self.config.actor_rollout_ref.rollout.n)
        return _select(batch, rows), len(rows) // cut.updates(len(wanted)) // group_size

    def _send_kl_weight(self) -> None:
        """The loss lives in the workers: it is sent to them anew with the weight of this update."""
        if self._kl is not None:
            actor = OmegaConf.merge(self.config.actor_rollout_ref.actor, {"kl_loss_coef": self._kl.coef})
            self.actor_rollout_wg.set_loss_fn(partial(ppo_loss, config=omega_conf_to_dataclass(actor)))

    def _follow_kl(self, metrics: dict[str, Any]) -> None:
        if self._kl is not None:
            self._kl = self._kl.after(float(metrics["actor/kl_loss"]), self._rl.kl_band, self._rl.kl_coef)

    def _save_checkpoint(self) -> None:
        """Ours first: verl's marker, written last, says that the folder is whole."""
        self._choice.write(self._checkpoint_folder())
        if self._kl is not None:
            self._kl.write(self._checkpoint_folder())
        super()._save_checkpoint()

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps:
            self._choice = TaskChoice.read(self._settings, self._checkpoint_folder())
        if self._kl is not None and self.global_steps:
            self._kl = KLWeight.read(self._checkpoint_folder())

    def _checkpoint_folder(self) -> Path:
        return Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"

    def on_init_end(self) -> None:
        super().on_init_end()
        mark_stage("ready")

    def on_step_end(self) -> None:
        super().on_step_end()
        if self._settings.stop_file.exists() and self.global_steps < self.total_training_steps:
            if self.global_steps % self.config.trainer.save_freq:
                self._save_checkpoint()
            self.total_training_steps = self.global_steps


def _rows_with_tokens(masks: torch.Tensor) -> list[int]:
    """Rows of which any token counts."""
    return [row for row, mask in enumerate(masks.unbind()) if bool(mask.any())]


def _silence(fillers: Any) -> None:
    """Their tokens are no part of the mean that the loss is."""
    if len(fillers):
        where = {"keys": fillers.keys, "partition_id": fillers.partition_id}
        rows = tq.kv_batch_get(**where, select_fields=["loss_mask"])
        rows["loss_mask"] = rows["loss_mask"] * 0
        tq.kv_batch_put(**where, fields=rows.select("loss_mask"))


def _select(batch: Any, rows: Sequence[int]) -> Any:
    return tq.KVBatchMeta(
        keys=[batch.keys[row] for row in rows],
        tags=[batch.tags[row] for row in rows],
        partition_id=batch.partition_id,
        fields=batch.fields,
        extra_info=batch.extra_info,
    )
