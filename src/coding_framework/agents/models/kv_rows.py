"""Key-value memory for a batch whose rows leave at different times.

Every row owns one slot of a buffer that is allocated once, so a decoding step writes one column
instead of copying the whole past (which is what a concatenating cache does). Prompts are aligned
at their ends: column `width` is the next token of every row. A row that is done is dropped by
moving the last row into its slot, which costs one row's copy whatever the batch size.

Guaranteed: the slots in use are always `0 .. rows-1`. Not guaranteed: the order of rows; callers
keep their own list of which row sits where and apply the same move to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coding_framework.agents.models.plain_attention import require_plain

if TYPE_CHECKING:
    import torch

ATTENTION_NAME = "coding_framework_rows"


class KeyValueRows:
    """What a transformers model sees as `past_key_values`."""

    def __init__(self, config: Any, rows: int, columns: int, dtype: torch.dtype, device: str) -> None:
        import torch

        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (rows, config.num_key_value_heads, columns, head_dim)
        layers = range(config.num_hidden_layers)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.rows = rows
        self.width = 0
        """Columns in use."""

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.width

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new columns; `advance` makes them part of the past once every layer has run."""
        end = self.width + key.shape[2]
        keys = self.keys[layer_idx][: self.rows, :, :end]
        values = self.values[layer_idx][: self.rows, :, :end]
        keys[:, :, self.width :] = key
        values[:, :, self.width :] = value
        return keys, values

    def advance(self, columns: int) -> None:
        self.width += columns

    def copy_prefix(self, source: KeyValueRows, columns: int) -> None:
        """Take over the first `columns` of a one-row memory as the whole past."""
        for mine, theirs in zip(self.keys + self.values, source.keys + source.values, strict=True):
            mine[:, :, :columns] = theirs[:1, :, :columns]
        self.width = columns

    def place(self, row: int, source: KeyValueRows, end: int) -> None:
        """Put a one-row memory into slot `row` so that it ends at column `end`."""
        start = end - source.width
        for mine, theirs in zip(self.keys + self.values, source.keys + source.values, strict=True):
            mine[row, :, start:end] = theirs[0, :, : source.width]

    def drop(self, row: int) -> None:
        """Give up slot `row`; the last row moves into it."""
        last = self.rows - 1
        if row != last:
            for buffer in self.keys + self.values:
                buffer[row, :, : self.width] = buffer[last, :, : self.width]
        self.rows = last


def grouped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Attention that never copies keys and values for grouped heads while decoding.

    With one query token, the query heads that share a key head become the query *positions* of
    one head: the same sums, without repeating the past once for each head of the group.
    """
    from torch.nn.functional import scaled_dot_product_attention

    require_plain(options, key.shape[2])
    rows, heads, length, head_dim = query.shape
    groups = heads // key.shape[1]
    if length == 1:
        folded = query.reshape(rows, key.shape[1], groups, head_dim)
        output = scaled_dot_product_attention(folded, key, value, attn_mask=attention_mask, scale=scaling)
        return output.reshape(rows, 1, heads, head_dim), None
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    output = scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=scaling, is_causal=attention_mask is None
    )
    return output.transpose(1, 2), None


def register_attention() -> str:
    """Make `grouped_attention` known to transformers and return its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, grouped_attention)
    return ATTENTION_NAME
