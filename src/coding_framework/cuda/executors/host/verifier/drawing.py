"""Drawing fresh inputs and weights for one set, on the device, from a seed: the same seed, the same bytes.

Each input of the task is drawn in its own kind, seen from what `get_inputs()` gives:

    free         floats of both signs, few zeros: redrawn from the wanted distribution at the same scale
    unit         floats in [0, 1]: uniform over [0, 1), smaller for `small`
    structured   everything else (triangular, masks, indices): `get_inputs()` again, under the seed

In `mixed`, a third of a free input's rows each is of ordinary size, large and small.

Parameters are their first values moved around and shifted by a tenth of their scale, so that they keep
the distribution that the module was built for, and no bias is all zeros. Buffers keep their values:
running variances must stay positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

InputKind = Literal["free", "unit", "structured", "constant"]
SetDistribution = Literal["normal", "uniform", "large", "small", "integers", "mixed"]
DISTRIBUTIONS: tuple[SetDistribution, ...] = ("normal", "uniform", "large", "small", "integers", "mixed")
LARGE, SMALL = 10.0, 0.01
_FEW_ZEROS = 0.01
_PARAMETER_SHIFT = 0.1
_LEAST_SCALE = 0.1


@dataclass(frozen=True)
class InputTemplate:
    """One input as the task gives it."""

    kind: InputKind
    value: Any
    """A tensor, or the constant."""
    scale: float = 1.0
    """Root mean square of a free input."""


@dataclass(frozen=True)
class DrawnSet:
    """Everything that goes into one call, in the verifier's own memory."""

    inputs: list[Any]
    parameters: list[torch.Tensor]
    buffers: list[torch.Tensor]


def classify(value: Any) -> InputTemplate:
    """How this input may be redrawn."""
    import torch

    if not isinstance(value, torch.Tensor):
        return InputTemplate("constant", value)
    if not value.is_floating_point() or value.numel() == 0:
        return InputTemplate("structured", value)
    wide = value.double()
    zeros = float((wide == 0).double().mean())
    low, high = float(wide.min()), float(wide.max())
    if zeros < _FEW_ZEROS and low >= 0 and high <= 1:
        return InputTemplate("unit", value)
    both_signs = low < 0 < high or value.numel() == 1
    if zeros < _FEW_ZEROS and both_signs:
        return InputTemplate("free", value, float(wide.square().mean().sqrt()) or 1.0)
    return InputTemplate("structured", value)


def draw_inputs(
    templates: list[InputTemplate],
    get_inputs: Callable[[], Any],
    distribution: SetDistribution,
    generator: torch.Generator,
    device: str,
) -> list[Any]:
    """One value for each input."""
    import torch

    again: list[Any] = []
    if any(template.kind == "structured" for template in templates):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed())
            again = list(get_inputs())
    drawn = []
    for position, template in enumerate(templates):
        if template.kind == "constant":
            drawn.append(template.value)
        elif template.kind == "structured":
            drawn.append(again[position].to(device).contiguous())
        else:
            drawn.append(_draw(template, distribution, generator, device))
    return drawn


def _draw(
    template: InputTemplate, distribution: SetDistribution, generator: torch.Generator, device: str
) -> torch.Tensor:
    import torch

    shape, dtype = template.value.shape, template.value.dtype
    uniform = torch.rand(shape, generator=generator, device=device, dtype=torch.float32)
    if template.kind == "unit":
        return (uniform * (SMALL if distribution == "small" else 1.0)).to(dtype)
    if distribution == "integers":
        return torch.floor(uniform * 17 - 8).to(dtype)
    if distribution == "uniform":
        return ((2 * uniform - 1) * (3**0.5 * template.scale)).to(dtype)
    normal = torch.randn(shape, generator=generator, device=device, dtype=torch.float32)
    if distribution == "mixed":
        return (normal * _row_factors(shape, generator, device) * template.scale).to(dtype)
    factor = {"large": LARGE, "small": SMALL}.get(distribution, 1.0) * template.scale
    return (normal * factor).to(dtype)


def _row_factors(shape: torch.Size, generator: torch.Generator, device: str) -> torch.Tensor:
    """One for each row: large, small or neither, so that no look at a few rows tells what the others are."""
    import torch

    rows = (*shape[:-1], 1) if len(shape) > 1 else tuple(shape)
    kind = torch.randint(3, rows, generator=generator, device=device)
    return torch.tensor([1.0, LARGE, SMALL], device=device)[kind]


def draw_parameter(base: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Another value of the same kind."""
    import torch

    if not base.is_floating_point() or base.numel() == 0:
        return base.clone()
    steps = int(torch.randint(base.numel(), (1,), generator=generator, device=base.device))
    moved = base.flatten().roll(steps).view(base.shape)
    scale = max(float(base.double().square().mean().sqrt()), _LEAST_SCALE) * _PARAMETER_SHIFT
    noise = torch.randn(base.shape, generator=generator, device=base.device, dtype=torch.float32)
    return moved + (noise * scale).to(base.dtype)
