"""Whether a card holds the activations of a row, or has to compute them twice.

An estimate from the model's shape: what autograd keeps of a decoder layer with adapters, in 16 bits with
norms in 32, counted operation by operation. It leaves a fifth of the free memory for everything else.
"""

from __future__ import annotations

from typing import Any

from coding_framework.agents.models.loading import default_device

USABLE_SHARE = 0.8


def activation_bytes_per_token(model_config: Any) -> int:
    """Kept between the way there and the way back, of all layers."""
    layer = 28 * model_config.hidden_size + 8 * model_config.intermediate_size
    return int(layer * model_config.num_hidden_layers)


def checkpoints_activations(model: Any, row_tokens: int, asked: bool | None) -> bool:
    """What was asked for; else whether the card has too little memory left for a row."""
    import torch

    if asked is not None or default_device() != "cuda":
        return bool(asked)
    free, _ = torch.cuda.mem_get_info()
    return row_tokens * activation_bytes_per_token(model.config) > USABLE_SHARE * free


def peak_memory_bytes() -> int | None:
    """The most that torch has held of the card since the start; None without a GPU."""
    import torch

    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
