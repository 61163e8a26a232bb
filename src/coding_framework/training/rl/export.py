"""From verl's checkpoint to a folder that transformers loads: adapters merged, tokenizer beside it.

Where an adapter was trained in 16 bits, or on a model that is stored so, the sum is stored as float16, whose
steps are an eighth of bfloat16's: of a change of 1.2e-4 (root mean square, as some steps of RL make it to
SmolLM2-135M) a direction with cosine 0.95 is left, and 0.55 in bfloat16. On a GPU what is stored in float16
also computes in it, which some models cannot: there it is tried first. The adapter itself is in the
checkpoint. All weights that were trained stay float32 where the training was.

Guaranteed: the folder appears as a whole (written beside, then renamed), and its weights are those
of the checkpoint, by however many workers it was written.
"""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

from coding_framework.agents.models.loading import (
    load_causal_model,
    load_tokenizer,
    quiet_transformers,
    stored_dtype,
)
from coding_framework.cuda.worker import Worker
from coding_framework.errors import TrainingError, WorkerDied, WorkerRaised
from coding_framework.monitoring.storage import storage_errors
from coding_framework.training.rl.rollout_weights import RolloutWeights
from coding_framework.training.rl.shards import Shards

_TEXT = """extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""
_FLOAT16_DISTANCE = 0.02
"""In log-probability; bfloat16 is about 0.006 from float32 (docs/training.md)."""


_TIMEOUT_S = 3600.0
_MEMORY_BYTES = 2**40


def export_apart(checkpoint: Path, start_model: Path, target: Path, dtype: str) -> None:
    """`export_model` in a process of its own: it gives back the memory of two models, and nothing that is
    loaded here matters. Distributed tensors cannot be read back beside certain other libraries.
    """
    with Worker(memory_limit_bytes=_MEMORY_BYTES, name="export") as worker:
        try:
            worker.call(
                f"{__name__}:export_model", checkpoint, start_model, target, dtype, timeout_s=_TIMEOUT_S
            )
        except (WorkerRaised, WorkerDied) as error:
            raise TrainingError(f"the weights in {checkpoint} could not be exported: {error}") from error


def export_model(checkpoint: Path, start_model: Path, target: Path, dtype: str = "float32") -> None:
    """The start model with the checkpoint's weights, as `target`; `dtype` is that of the training.

    The sum is formed in float32: small changes would vanish in the rounding of a bfloat16 base.
    """
    import torch

    model = load_causal_model(start_model, dtype="float32")
    with torch.no_grad():
        is_adapter = _apply(RolloutWeights(model), checkpoint / "actor")
    in_16_bits = dtype != "float32" or stored_dtype(start_model) in ("bfloat16", "float16")
    if is_adapter and in_16_bits and _fits_float16(model, load_tokenizer(start_model)):
        dtype = "float16"
    beside = target.with_name(f".{target.name}.partial")
    with storage_errors(target), quiet_transformers():
        shutil.rmtree(beside, ignore_errors=True)
        model.to(getattr(torch, dtype)).save_pretrained(beside)
        load_tokenizer(start_model).save_pretrained(beside)
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)


def _fits_float16(model: Any, tokenizer: Any) -> bool:
    """Whether every weight does and, where there is a GPU, whether it answers as in float32."""
    import torch

    limit = torch.finfo(torch.float16).max
    if any(float(weight.detach().abs().max()) >= limit for weight in model.parameters()):
        return False
    return not torch.cuda.is_available() or _answers_in_float16(model, tokenizer)


def _answers_in_float16(model: Any, tokenizer: Any) -> bool:
    """Whether each token of a text has about the log-probability of float32; the model stays as it was."""
    import torch

    ids = torch.tensor([tokenizer(_TEXT)["input_ids"]], device="cuda")
    shadow = copy.deepcopy(model).to("cuda")
    with torch.no_grad():
        exact = shadow(ids).logits.float().log_softmax(-1)
        rough = shadow.half()(ids).logits.float().log_softmax(-1)
    distance = (exact - rough)[:, :-1].gather(2, ids[:, 1:, None])[..., 0].abs()
    return bool(torch.isfinite(rough).all()) and float(distance.mean()) < _FLOAT16_DISTANCE


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
