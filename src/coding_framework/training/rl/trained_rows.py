"""The rows of a finished update, from verl's queue to records; imported inside verl's processes only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import transfer_queue as tq  # type: ignore[import-untyped]

from coding_framework.training.rl.advantage import turn_of_key
from coding_framework.training.rl.kept_rows import TrainedRow

_INTEGERS = {"prompt_ids": "prompts", "answer_ids": "responses", "mask": "response_mask"}
_NUMBERS = {
    "sampled_log_probs": "rollout_log_probs",
    "old_log_probs": "old_log_probs",
    "reference_log_probs": "ref_log_prob",
    "importance": "rollout_is_weights",
    "values": "values",
    "advantages": "advantages",
    "returns": "returns",
}
"""Our names and verl's."""
_OTHERS = ["rm_scores", "extra_info"]


def trained_rows(batch: Any, used: Collection[str]) -> Iterator[TrainedRow]:
    """Of a batch whose update is over; `used` are verl's keys of the rows that took part in it."""
    keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
    fields = [*_INTEGERS.values(), *_NUMBERS.values(), *_OTHERS]
    data = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=fields)
    names = {ours: theirs for ours, theirs in (_INTEGERS | _NUMBERS).items() if theirs in data}
    columns = {ours: data[theirs].unbind() for ours, theirs in names.items()}
    scores, extras = data["rm_scores"].unbind(), list(data["extra_info"])
    for row, key in enumerate(keys):
        uid, episode, _ = key.rsplit("_", 2)
        yield TrainedRow(
            task=str(extras[row]["task"]),
            group=uid,
            episode=int(episode),
            turn=turn_of_key(key),
            turn_return=float(scores[row].sum()),
            used=key in used,
            **{ours: tuple(column[row].tolist()) for ours, column in columns.items()},
        )
