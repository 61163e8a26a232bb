"""From verl's checkpoint to a folder that transformers loads: adapters merged, tokenizer beside it.

Where an adapter was trained in float32 on a model that is stored in 16 bits, the sum is stored as float16,
whose steps are an eighth of bfloat16's: of a change of 1.2e-4 (root mean square, as some steps of RL make
it to SmolLM2-135M) a direction with cosine 0.95 is left, and 0.55 in bfloat16. The adapter itself is in the
checkpoint. All weights that were trained in float32 stay float32.

Guaranteed: the folder appears as a whole (written beside, then renamed), and its weights are those
of the checkpoint, by however many workers it was written.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from coding_framework.agents.models.loading import load_causal_model, load_tokenizer, quiet_transformers
from coding_framework.monitoring.storage import storage_errors
from coding_framework.training.rl.rollout_weights import RolloutWeights
from coding_framework.training.rl.shards import Shards


def export_model(checkpoint: Path, start_model: Path, target: Path, dtype: str = "float32") -> None:
    """The start model with the checkpoint's weights, as `target`; `dtype` is that of the training.

    The sum is formed in float32: small changes would vanish in the rounding of a bfloat16 base.
    """
    import torch

    model = load_causal_model(start_model, dtype="float32")
    with torch.no_grad():
        is_adapter = _apply(RolloutWeights(model), checkpoint / "actor")
    if is_adapter and dtype == "float32" and _is_in_16_bits(start_model) and _fits_float16(model):
        dtype = "float16"
    beside = target.with_name(f".{target.name}.partial")
    with storage_errors(target), quiet_transformers():
        shutil.rmtree(beside, ignore_errors=True)
        model.to(getattr(torch, dtype)).save_pretrained(beside)
        load_tokenizer(start_model).save_pretrained(beside)
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)


def _is_in_16_bits(model: Path) -> bool:
    settings = json.loads((model / "config.json").read_text())
    return (settings.get("dtype") or settings.get("torch_dtype")) in ("bfloat16", "float16")


def _fits_float16(model: Any) -> bool:
    import torch

    limit = torch.finfo(torch.float16).max
    return all(float(weight.detach().abs().max()) < limit for weight in model.parameters())


def _apply(weights: RolloutWeights, actor: Path) -> bool:
    """Whether it was an adapter."""
    shards = Shards(actor)
    adapter = [name for name in shards.names if ".lora_" in name]
    if not adapter:
        weights.load_full(shards.tensors(shards.names))
        return False
    meta = json.loads((actor / "lora_train_meta.json").read_text())
    weights.merge_adapter(shards.tensors(adapter), float(meta["lora_alpha"]) / float(meta["r"]))
    return True
