"""Negative log-likelihood of answer tokens, and nothing more than that costs.

`answer_loss` takes a padded batch: what all its examples begin with is computed once, and padding stands
at the right, where causal attention never looks. `row_loss` takes a packed row. The output layer, a fifth
of a small model's work, is applied only where an answer token is predicted, a part at a time, so that the
logits of all tokens never stand in memory together. All of this changes the work, not the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coding_framework.training.sft.attention import SharedPrefix
from coding_framework.training.sft.examples import Example
from coding_framework.training.sft.rows import Row
from coding_framework.training.shared_beginning import shared_length

if TYPE_CHECKING:
    import torch

LOGITS_AT_ONCE = 2048
"""Answer tokens whose logits stand in memory together: 1.2 GB with 152,000 words."""


def answer_loss(model: Any, examples: Sequence[Example], padding_id: int) -> torch.Tensor:
    """Sum over the answer tokens of a batch. `model` comes from `load_trainable`."""
    import torch

    device = next(model.parameters()).device
    base = bare_model(model)
    prefix = shared_length([example.prompt_ids for example in examples])
    hidden = _hidden_states(base.get_decoder(), examples, prefix, padding_id, device)
    predicting = [
        (row, len(example.prompt_ids) - 1 - prefix + offset)
        for row, example in enumerate(examples)
        for offset in range(len(example.answer_ids))
    ]
    index = torch.tensor(predicting, device=device)
    targets = torch.tensor([token for example in examples for token in example.answer_ids], device=device)
    return _cross_entropy(base.get_output_embeddings(), hidden[index[:, 0], index[:, 1]], targets)


def row_loss(model: Any, row: Row) -> torch.Tensor:
    """Sum over the answer tokens of a packed row."""
    base = bare_model(model)
    hidden = base.get_decoder()(
        input_ids=row.tokens, position_ids=row.positions, use_cache=False, **row.boundaries
    ).last_hidden_state[0]
    return _cross_entropy(base.get_output_embeddings(), hidden[row.predicting], row.targets)


def bare_model(model: Any) -> Any:
    """The transformers model, without the wrapper that an adapter puts around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _cross_entropy(output_layer: Any, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The sum; of more than one part all but the one at hand are computed again on the way back."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if len(targets) <= LOGITS_AT_ONCE:
        return _sum_of_part(output_layer, hidden, targets)
    parts = [
        checkpoint(
            _sum_of_part,
            output_layer,
            hidden[start : start + LOGITS_AT_ONCE],
            targets[start : start + LOGITS_AT_ONCE],
            use_reentrant=False,
            preserve_rng_state=False,
        )
        for start in range(0, len(targets), LOGITS_AT_ONCE)
    ]
    return torch.stack(parts).sum()


def _sum_of_part(output_layer: Any, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.nn.functional.cross_entropy(output_layer(hidden).float(), targets, reduction="sum")


def _hidden_states(
    decoder: Any, examples: Sequence[Example], prefix: int, padding_id: int, device: torch.device
) -> torch.Tensor:
    """Last hidden states of every row's own tokens, those after the shared prefix."""
    import torch

    memory = SharedPrefix()
    if prefix:
        shared = torch.tensor([examples[0].prompt_ids[:prefix]], device=device)
        decoder(input_ids=shared, position_ids=_positions(0, prefix, device), past_key_values=memory)
    width = max(example.length for example in examples)
    rows = [[*ex.prompt_ids[prefix:], *ex.answer_ids, *[padding_id] * (width - ex.length)] for ex in examples]
    output = decoder(
        input_ids=torch.tensor(rows, device=device),
        position_ids=_positions(prefix, width, device),
        past_key_values=memory,
    )
    hidden: torch.Tensor = output.last_hidden_state
    return hidden


def _positions(start: int, end: int, device: torch.device) -> torch.Tensor:
    import torch

    return torch.arange(start, end, device=device)[None]


def learning_rate_at(step: int, *, steps: int, peak: float, warmup_steps: int, warm_from: int = 0) -> float:
    """Linear warm-up, then a cosine to a tenth of the peak. Steps count from 0.

    A run that was extended follows the cosine of its new length, and warms up again from `warm_from`, the
    step at which it was extended: there the rate jumps up, and Adam knows only the small steps before.
    """
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    cosine = peak * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, progress)))))
    return cosine * min(1.0, (step - warm_from + 1) / (warmup_steps + 1))
