"""From verl's checkpoint to a folder that transformers loads: adapters merged, tokenizer beside it.

Guaranteed: the folder appears as a whole (written beside, then renamed), and its weights are those
of the checkpoint. Not supported here: checkpoints in several shards (training on several GPUs).
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

from coding_framework.agents.models.loading import load_causal_model, load_tokenizer, quiet_transformers
from coding_framework.errors import NotAvailableError, TrainingError
from coding_framework.monitoring.storage import storage_errors
from coding_framework.training.rl.rollout_weights import RolloutWeights

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
    state = _load_state(actor)
    adapter = {name: tensor for name, tensor in state.items() if ".lora_" in name}
    if not adapter:
        weights.load_full(state.items())
        return
    meta = json.loads((actor / "lora_train_meta.json").read_text())
    weights.merge_adapter(adapter.items(), float(meta["lora_alpha"]) / float(meta["r"]))


def _load_state(actor: Path) -> dict[str, Any]:
    import torch

    shards = sorted(actor.glob("model_world_size_*_rank_*.pt"))
    if not shards:
        raise TrainingError(f"{actor} holds no model weights")
    if len(shards) > 1:
        raise NotAvailableError(
            f"{actor} is split over {len(shards)} GPUs: join it with  python -m verl.model_merger merge "
            f"--backend fsdp --local_dir {actor} --target_dir DIR"
        )
    # A warning about process groups that only matters to torch.compile.
    logging.getLogger("torch.distributed.device_mesh").setLevel(logging.ERROR)
    # Our own file, from our own process: it holds DTensors, which the restricted loader refuses.
    state = torch.load(shards[0], map_location="cpu", weights_only=False)
    return {name: getattr(tensor, "_local_tensor", tensor) for name, tensor in state.items()}
