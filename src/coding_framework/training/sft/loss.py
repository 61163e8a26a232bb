"""Negative log-likelihood of answer tokens, and nothing more than that costs.

Padding stands at the right, where causal attention never looks, so no mask is needed. The output
layer, a fifth of a small model's work, is applied only where an answer token is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coding_framework.training.sft.examples import Example

if TYPE_CHECKING:
    import torch


def answer_loss(model: Any, examples: Sequence[Example], padding_id: int) -> torch.Tensor:
    """Sum over the answer tokens of a batch. `model` is a peft model around a causal one."""
    import torch

    device = next(model.parameters()).device
    width = max(example.length for example in examples)
    rows = [[*ex.prompt_ids, *ex.answer_ids, *[padding_id] * (width - ex.length)] for ex in examples]
    base = model.get_base_model()
    hidden = base.get_decoder()(
        input_ids=torch.tensor(rows, device=device), use_cache=False
    ).last_hidden_state
    predicting = [
        (row, len(example.prompt_ids) - 1 + offset)
        for row, example in enumerate(examples)
        for offset in range(len(example.answer_ids))
    ]
    index = torch.tensor(predicting, device=device)
    logits = base.get_output_embeddings()(hidden[index[:, 0], index[:, 1]])
    targets = torch.tensor([token for example in examples for token in example.answer_ids], device=device)
    return torch.nn.functional.cross_entropy(logits.float(), targets, reduction="sum")


def learning_rate_at(step: int, *, steps: int, peak: float, warmup_steps: int) -> float:
    """Linear warm-up, then a cosine to a tenth of the peak. Steps count from 0."""
    import math

    if step < warmup_steps:
        return peak * (step + 1) / (warmup_steps + 1)
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    return peak * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
