"""verl plug-in: DAPO's dynamic sampling over groups of turns.

A group is all episodes of one drawing of a task. It has no signal if no turn of it would be credited:
at every turn all answers earned the same, or one answer stands alone. verl's own filter compares all
rows of a group, and rows of different turns always differ.

In rounds: once every episode is over, as many new tasks are drawn as groups lack a signal, until there
are enough or the draws of the step are used up. Then groups without signal fill the batch, the earliest
first: they change no weight. What is left over is thrown away, and counted.
"""

from __future__ import annotations

import time
from typing import Any

import transfer_queue as tq  # type: ignore[import-untyped]
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from coding_framework.errors import TrainingError
from coding_framework.training.rl.advantage import has_signal, place_of_key, turn_of_key
from coding_framework.training.rl.names import REPORT_FIELD
from coding_framework.training.rl.task_choice import EpisodeReport

_FIELDS = ["rm_scores", "response_mask", "index", REPORT_FIELD]


class TurnSampler(ReplayBuffer):  # type: ignore[misc]
    """verl's buffer, whose groups without signal are replaced."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.reports: dict[str, str] = {}
        """Of every row of the latest step, those that were thrown away as well."""

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, float]]:
        if partition_id != "train":
            found: tuple[Any, dict[str, float]] = super().sample(global_steps, partition_id, batch_size)
            return found
        left = int(self.sampler_kwargs["extra_draws"]) * batch_size
        groups = self._settled_groups(partition_id)
        while more := min(left, batch_size - sum(groups.values())):
            self.refill_fn(more)
            left -= more
            groups = self._settled_groups(partition_id)
        kept = sorted(groups, key=lambda uid: not groups[uid])[:batch_size]
        self._clear_groups(partition_id, set(groups) - set(kept))
        metrics = {
            "training/groups_drawn": float(len(groups)),
            "training/groups_without_signal": float(len(groups) - sum(groups.values())),
            "training/groups_thrown_away": float(len(groups) - len(kept)),
        }
        return self._materialize_batch(partition_id, kept, dict(self.partitions[partition_id])), metrics

    def _settled_groups(self, partition_id: str) -> dict[str, bool]:
        """Whether each group has a signal, in the order of drawing, once all episodes are over."""
        self._sync_metadata_from_transfer_queue()
        while self.pending_keys[partition_id] or self.running_keys[partition_id]:
            time.sleep(self.poll_interval)
            self._sync_metadata_from_transfer_queue()
        keys = list(self.partitions[partition_id])
        if not keys:
            raise TrainingError("no episode of this step came back")
        rows = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=_FIELDS)
        self.reports = dict(zip(keys, list(rows[REPORT_FIELD]), strict=True))
        order: dict[str, int] = {}
        members: dict[str, list[tuple[float, int, bool]]] = {}
        for key, scores, mask, index in zip(
            keys, rows["rm_scores"].unbind(), rows["response_mask"].unbind(), list(rows["index"]), strict=True
        ):
            uid = key.split("_")[0]
            order[uid] = int(index)
            members.setdefault(uid, []).append((float(scores.sum()), turn_of_key(key), bool(mask.any())))
        return {
            uid: has_signal(*zip(*members[uid], strict=True))
            for uid in sorted(members, key=order.__getitem__)
        }


def episode_reports(batch: Any, buffer: ReplayBuffer) -> list[EpisodeReport]:
    """How every episode of the step went, in the order of their names; `batch` came from `buffer`."""
    if isinstance(buffer, TurnSampler):
        by_row = buffer.reports
    else:
        where = {"keys": batch.keys, "partition_id": batch.partition_id}
        rows = tq.kv_batch_get(**where, select_fields=[REPORT_FIELD])
        by_row = dict(zip(batch.keys, list(rows[REPORT_FIELD]), strict=True))
    first = sorted((key for key in by_row if turn_of_key(key) == 0), key=place_of_key)
    return [EpisodeReport.model_validate_json(by_row[key]) for key in first]
