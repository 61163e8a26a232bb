"""Attention for training on sequences that share their beginning.

The pairs of a batch begin with the same system prompt. Its keys and values are computed once, with
gradients, and every row continues from them: the same numbers as separate sequences, for the work
of one. `SharedPrefix` holds them; `causal_attention` derives who may see whom from the shapes
alone (rows are padded on the right only, where causal attention never looks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coding_framework.agents.models.plain_attention import require_plain

if TYPE_CHECKING:
    import torch

ATTENTION_NAME = "coding_framework_training"


class SharedPrefix:
    """What a transformers model sees as `past_key_values`: first filled, then continued by all rows."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        if layer_idx not in self._layers:
            self._layers[layer_idx] = (key, value)
            return key, value
        keys, values = (past.expand(key.shape[0], -1, -1, -1) for past in self._layers[layer_idx])
        return torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)


def causal_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Every query sees the keys up to its own; queries are the last positions of the keys.

    In bfloat16 on the CPU plain matrix products take half the time of the fused kernel (75 against
    124 ms forward and backward, four rows of 550 tokens, one core); elsewhere the fused one wins.
    """
    import torch

    require_plain(options, key.shape[2])
    past = key.shape[2] - query.shape[2]
    if query.dtype == torch.bfloat16 and query.device.type == "cpu":
        return _by_products(query, key, value, scaling or query.shape[-1] ** -0.5), None
    output = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=_mask(query, key) if past else None,
        is_causal=not past,
        scale=scaling,
        enable_gqa=True,
    )
    return output.transpose(1, 2), None


def _by_products(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float) -> torch.Tensor:
    """Query heads that share a key head are stacked as further queries, so keys are not repeated."""
    import torch

    rows, heads, length, head_dim = query.shape
    groups = heads // key.shape[1]
    keys, values = key.flatten(0, 1), value.flatten(0, 1)
    stacked = query.reshape(rows * key.shape[1], groups * length, head_dim)
    mask = _mask(query, key).repeat(groups, 1).expand(stacked.shape[0], -1, -1)
    scores = torch.baddbmm(mask, stacked, keys.transpose(1, 2), alpha=scaling)
    output = torch.bmm(torch.softmax(scores, dim=-1), values)
    return output.view(rows, heads, length, head_dim).transpose(1, 2)


def _mask(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    import torch

    shape = (query.shape[2], key.shape[2])
    blocked = torch.full(shape, float("-inf"), dtype=query.dtype, device=query.device)
    return blocked.triu_(diagonal=key.shape[2] - query.shape[2] + 1)


def register_attention() -> str:
    """Make `causal_attention` known to transformers and return its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, causal_attention)
    return ATTENTION_NAME
