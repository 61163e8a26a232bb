"""From logits to tokens: temperature, top-k, top-p, and one uniform number for each row.

Sampling by inverting the cumulative distribution needs a single random number a token, drawn
beforehand from the row's own generator. So what a row samples does not depend on which other rows
are in the batch or when they leave it.

The log-probability that is returned belongs to the *full* distribution at the sampling
temperature, `log_softmax(logits / temperature)`, before top-k and top-p: that is what a
policy-gradient trainer recomputes from the same weights. Greedy answers are given at temperature 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

BLOCK = 64
"""Tokens summed together when the cumulative distribution is inverted."""
_BELOW_ONE = 1.0 - 2.0**-52


def choose_tokens(
    logits: torch.Tensor, uniforms: torch.Tensor, *, temperature: float, top_p: float, top_k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and their log-probabilities, one for each row of `logits`."""
    import torch

    scaled = logits.float() / (temperature or 1.0)
    log_probs = torch.log_softmax(scaled, dim=-1)
    if temperature == 0:
        chosen = log_probs.argmax(dim=-1)
    else:
        chosen = _invert(_restricted(log_probs.exp(), top_p, top_k), uniforms)
    return chosen, log_probs.gather(-1, chosen[:, None])[:, 0]


def _invert(probabilities: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Find the token under each uniform number: first its block, then its place in the block.

    Summing blocks first avoids a running sum over the whole vocabulary, which took a tenth of a
    decoding step. The sums are float64: the rounding of float32 would favour early tokens.
    """
    import torch

    rows, vocabulary = probabilities.shape
    padded = (
        torch.nn.functional.pad(probabilities, (0, -vocabulary % BLOCK))
        if vocabulary % BLOCK
        else probabilities
    )
    blocks = padded.view(rows, -1, BLOCK)
    masses = blocks.sum(dim=-1, dtype=torch.float64).cumsum(dim=-1)
    block, rest = _locate(masses, uniforms.double() * masses[:, -1])
    inside = blocks[torch.arange(rows, device=block.device), block].double().cumsum(dim=-1)
    place, _ = _locate(inside, torch.minimum(rest, inside[:, -1] * _BELOW_ONE))
    return (block * BLOCK + place).clamp_(max=vocabulary - 1)


def _locate(cumulative: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """First index whose running sum exceeds the target, and how far the target lies into it."""
    import torch

    index = torch.searchsorted(cumulative, targets[:, None], right=True).clamp_(max=cumulative.shape[1] - 1)
    before = torch.where(index > 0, cumulative.gather(1, (index - 1).clamp(min=0)), 0.0)
    return index[:, 0], targets - before[:, 0]


def _restricted(probabilities: torch.Tensor, top_p: float, top_k: int) -> torch.Tensor:
    """Zero what lies outside the `top_k` likeliest tokens or the smallest set of mass `top_p`."""
    if top_k <= 0 and top_p >= 1:
        return probabilities
    ordered, order = probabilities.sort(dim=-1, descending=True)
    if top_k > 0:
        ordered[:, top_k:] = 0
    if top_p < 1:
        mass_before = ordered.cumsum(dim=-1) - ordered
        ordered[mass_before >= top_p * ordered.sum(dim=-1, keepdim=True)] = 0
    return probabilities.new_zeros(probabilities.shape).scatter_(-1, order, ordered)
