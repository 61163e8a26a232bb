"""From verl's checkpoint to a folder that transformers loads: adapters merged, tokenizer beside it.

Guaranteed: the folder appears as a whole (written beside, then renamed), and its weights are those
of the checkpoint, by however many workers it was written.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from coding_framework.agents.models.loading import load_causal_model, load_tokenizer, quiet_transformers
from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import storage_errors
from coding_framework.training.rl.rollout_weights import RolloutWeights
from coding_framework.training.rl.shards import Shards

_LATEST = "latest_checkpointed_iteration.txt"


def latest_checkpoint(checkpoints: Path) -> tuple[int, Path] | None:
    """Step and folder of the last finished checkpoint; verl writes its number after the folder."""
    marker = checkpoints / _LATEST
    if not marker.is_file():
        return None
    step = int(marker.read_text().strip())
    folder = checkpoints / f"global_step_{step}"
    if not folder.is_dir():
        raise TrainingError(f"{marker} names step {step}, but {folder} is missing")
    return step, folder


def prune_checkpoints(checkpoints: Path, *, keep: int) -> None:
    """Leave the `keep` newest finished checkpoints: verl counts only those of its own process.

    A folder beyond the last finished step was being written when the process ended; it goes too.
    """
    latest = latest_checkpoint(checkpoints)
    if latest is None:
        return
    steps = {int(folder.name.rpartition("_")[2]): folder for folder in checkpoints.glob("global_step_*")}
    finished = sorted(step for step in steps if step <= latest[0])
    for step in set(steps) - set(finished[-keep:]):
        shutil.rmtree(steps[step], ignore_errors=True)


def export_model(checkpoint: Path, start_model: Path, target: Path, dtype: str = "float32") -> None:
    """The start model with the checkpoint's weights, as `target`.

    The sum is formed in float32: small changes would vanish in the rounding of a bfloat16 base.
    """
    import torch

    model = load_causal_model(start_model, dtype="float32")
    with torch.no_grad():
        _apply(RolloutWeights(model), checkpoint / "actor")
    beside = target.with_name(f".{target.name}.partial")
    with storage_errors(target), quiet_transformers():
        shutil.rmtree(beside, ignore_errors=True)
        model.to(getattr(torch, dtype)).save_pretrained(beside)
        load_tokenizer(start_model).save_pretrained(beside)
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)


def _apply(weights: RolloutWeights, actor: Path) -> None:
    shards = Shards(actor)
    adapter = [name for name in shards.names if ".lora_" in name]
    if not adapter:
        weights.load_full(shards.tensors(shards.names))
        return
    meta = json.loads((actor / "lora_train_meta.json").read_text())
    weights.merge_adapter(shards.tensors(adapter), float(meta["lora_alpha"]) / float(meta["r"]))
