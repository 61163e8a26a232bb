"""Attention over rows that are joined without padding, for transformers models; no further package needed.

Several sequences stand one after the other in one row, and their positions start at 0 again. From these
positions the function finds the boundaries, unless they are passed in as flash-attn takes them, and no
token sees one of another sequence. A sequence whose positions start at another number continues the first
tokens of the row, so many of them: what sequences begin with stands there once. On a GPU, in 16
bits, torch's own variable-length kernel does all sequences at once (measured: docs/training.md);
elsewhere they are taken one by one.

Guaranteed: the numbers of the same sequences in rows of their own, up to rounding. Not supported: a
cache of keys (this is for training, not for sampling), dropout in the attention, shared beginnings with
the kernel of the GPU.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from coding_framework.agents.models.plain_attention import require_plain
from coding_framework.errors import TrainingError

if TYPE_CHECKING:
    import torch

ATTENTION_NAME = "coding_framework_packed"


@dataclass(frozen=True)
class _Boundaries:
    """Where the sequences of one row begin and end."""

    positions: torch.Tensor
    """What they were found in."""
    offsets: torch.Tensor
    """Start of every sequence and the end of the last, int32, on the device."""
    longest: int
    """Tokens of the longest sequence."""
    shared: bool = False
    """Whether any continues the first tokens of the row."""


_latest: list[_Boundaries] = []
"""Of the newest row: every layer asks about the same one, and finding them waits for the device."""


def register_packed_attention() -> str:
    """Make `packed_attention` known to transformers and return its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    return ATTENTION_NAME


def packed_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    position_ids: torch.Tensor | None = None,
    cu_seq_lens_q: torch.Tensor | None = None,
    max_length_q: int | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Causal within each sequence. Shapes are transformers' own: 1 x heads x tokens x width of a head."""
    if query.shape[0] != 1 or position_ids is None or key.shape[2] != query.shape[2]:
        raise TrainingError(
            "packed attention takes one joined row with its positions and no cache; for padded batches set "
            "model.attention=sdpa"
        )
    if dropout and module.training:
        raise TrainingError("packed attention has no dropout: set the model's attention_dropout to 0")
    if cu_seq_lens_q is not None and max_length_q is not None:
        found = _Boundaries(position_ids, cu_seq_lens_q, max_length_q)
    else:
        found = _boundaries(position_ids)
    require_plain(options, found.longest)
    query, key, value = _in_one_format(query, key, value)
    if query.is_cuda and query.element_size() == 2:
        return _by_kernel(query, key, value, found, scaling), None
    return _one_by_one(query, key, value, found, scaling), None


def _in_one_format(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Under autocast the rotation of queries and keys gives them back in the format of the weights."""
    import torch

    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        return list(tensors)
    return [tensor.to(torch.get_autocast_dtype(device)) for tensor in tensors]


def _boundaries(position_ids: torch.Tensor) -> _Boundaries:
    import torch

    if _latest and _latest[0].positions is position_ids:
        return _latest[0]
    row = position_ids.reshape(-1)
    goes_on = row[1:] == row[:-1] + 1
    starts = torch.cat([goes_on.new_ones(1), ~goes_on]).nonzero().flatten()
    end = torch.tensor([row.numel()], dtype=torch.int32, device=row.device)
    offsets = torch.cat([starts.to(torch.int32), end])
    longest, first, latest = torch.stack([offsets.diff().max(), row[0], row[starts].max()]).tolist()
    if first:
        raise TrainingError(f"a joined row begins at position {first}: there is nothing that it continues")
    found = _Boundaries(position_ids, offsets, longest, shared=latest > 0)
    _latest[:] = [found]
    return found


def _by_kernel(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, found: _Boundaries, scaling: float | None
) -> torch.Tensor:
    if found.shared:
        raise TrainingError("sequences with a shared beginning are for rows in float32 or without a GPU")
    varlen_attn, options = _kernel()
    grouped = {"enable_gqa": key.shape[1] != query.shape[1]} if "enable_gqa" in options else {}
    rows = [tensor[0].transpose(0, 1) for tensor in (query, key, value)]
    ends = (found.offsets, found.offsets, found.longest, found.longest)
    output: torch.Tensor = varlen_attn(*rows, *ends, scale=scaling, window_size=(-1, 0), **grouped)
    return output[None]


@cache
def _kernel() -> tuple[Any, frozenset[str]]:
    """torch's kernel and the names of its parameters: 2.11 takes grouped heads without being told."""
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn, frozenset(inspect.signature(varlen_attn).parameters)


def _one_by_one(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, found: _Boundaries, scaling: float | None
) -> torch.Tensor:
    import torch

    lengths = found.offsets.diff().tolist()
    begins = found.positions.reshape(-1)[found.offsets[:-1]].tolist() if found.shared else [0] * len(lengths)
    grouped = key.shape[1] != query.shape[1]
    rows = [torch.split(tensor, lengths, dim=2) for tensor in (query, key, value)]
    parts = []
    for begin, one_query, one_key, one_value in zip(begins, *rows, strict=True):
        if begin:
            one_key, one_value = (
                torch.cat([whole[:, :, :begin], own], dim=2)
                for whole, own in ((key, one_key), (value, one_value))
            )
        size = one_query.shape[2]
        mask = _seen_after(begin, size, query.dtype, query.device) if begin else None
        parts.append(
            torch.nn.functional.scaled_dot_product_attention(
                one_query,
                one_key,
                one_value,
                attn_mask=mask,
                is_causal=not begin,
                scale=scaling,
                enable_gqa=grouped,
            )
        )
    return torch.cat(parts, dim=2).transpose(1, 2)


@lru_cache(maxsize=64)
def _seen_after(begin: int, size: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Every query sees the beginning and its own sequence up to itself; the same for all layers."""
    import torch

    with torch.inference_mode(mode=False):  # it is kept, and may be needed for gradients later
        blocked = torch.full((size, begin + size), float("-inf"), dtype=dtype, device=device)
        return blocked.triu_(diagonal=begin + 1)
