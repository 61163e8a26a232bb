"""Is an output right? Every element against the float64 oracle, within the task's error budget.

    |got - want| <= floor + relative * |want|
    floor = max(absolute * min(1, rms(want)), 16 * error of the reference in its own precision)

The floor shrinks with outputs that are small as a whole, so that zeros never pass for a softmax over
thousands of columns; and it never asks for more than a sixteenth of the accuracy of PyTorch's own
float32, measured on elements of ordinary size, because another order of summation is no mistake.
TF32 or half precision miss this by a factor of 50 and more: their rounding is 8,000 times coarser.
Non-finite values must be the oracle's own; integers must be equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

REFERENCE_ERRORS = 16.0
MAX_WRONG_SHOWN = 3


@dataclass(frozen=True)
class WrongAt:
    """One element that is off; plain numbers that cross to the judge."""

    output: str
    index: tuple[int, ...]
    expected: float
    actual: float


@dataclass(frozen=True)
class Comparison:
    """One output compared."""

    max_error_ratio: float
    num_wrong: int
    num_elements: int
    wrong: tuple[WrongAt, ...]


def compare(
    name: str,
    actual: torch.Tensor,
    wide: torch.Tensor,
    narrow: torch.Tensor,
    *,
    relative: float,
    absolute: float,
) -> Comparison:
    """Every element; the ratio is the error over its budget, infinite for a wrong non-finite value."""
    import torch

    got, want = actual.double(), wide.double()
    if wide.is_floating_point():
        budget = error_floor(want, narrow.double(), absolute) + relative * want.abs()
        ratio = (got - want).abs() / budget.clamp_min(1e-300)
        same = (got == want) | (got.isnan() & want.isnan())
        finite = got.isfinite() & want.isfinite()
        infinity = torch.full_like(ratio, float("inf"))
        ratio = torch.where(finite, ratio, torch.where(same, torch.zeros_like(ratio), infinity))
    else:
        ratio = torch.where(actual == wide, 0.0, float("inf")).double()
    bad = torch.nonzero(~(ratio <= 1.0))
    return Comparison(
        max_error_ratio=float(ratio.max()) if ratio.numel() else 0.0,
        num_wrong=int(bad.shape[0]),
        num_elements=ratio.numel(),
        wrong=tuple(
            WrongAt(name, tuple(at), float(want[tuple(at)]), float(got[tuple(at)]))
            for at in bad[:MAX_WRONG_SHOWN].tolist()
        ),
    )


def error_floor(want: torch.Tensor, narrow: torch.Tensor, absolute: float) -> float:
    """The absolute part of the budget."""
    finite = want.isfinite() & narrow.isfinite()
    if not bool(finite.any()):
        return absolute
    want, narrow = want[finite], narrow[finite]
    rms = float(want.square().mean().sqrt())
    ordinary = want.abs() <= rms
    error = (narrow - want).abs()[ordinary]
    worst = float(error.max()) if error.numel() else 0.0
    return max(absolute * min(1.0, rms), REFERENCE_ERRORS * worst)
