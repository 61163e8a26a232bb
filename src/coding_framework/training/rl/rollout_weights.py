"""Brings the trainer's newest weights into the model that samples.

With adapters only they travel (a few megabytes instead of the whole model), and are added to a kept
copy of the base weights: W = W0 + (alpha / rank) * B A. Without adapters the full weights travel.

Guaranteed: a name that the model does not have is an error, never skipped; repeated merges do not
drift, because each starts from the kept copy. Not guaranteed: that a bfloat16 model shows changes
smaller than its rounding; the sum is formed in float32 and then rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from coding_framework.errors import TrainingError

if TYPE_CHECKING:
    import torch

NamedTensors = Iterable[tuple[str, "torch.Tensor"]]
_ADAPTER_NAME = re.compile(
    r"^(?:base_model\.model\.)?(?P<layer>.+)\.lora_(?P<part>[AB])(?:\.default)?\.weight$"
)


class RolloutWeights:
    """The weights of one sampling model."""

    def __init__(self, model: Any) -> None:
        self._parameters: dict[str, torch.Tensor] = dict(model.state_dict())
        self._base: dict[str, torch.Tensor] = {}

    def load_full(self, weights: NamedTensors) -> None:
        """Overwrite parameters by name."""
        for name, tensor in weights:
            self._parameter(name).copy_(tensor)

    def merge_adapter(self, weights: NamedTensors, scale: float) -> None:
        """Set every adapted layer to its base weight plus the scaled product of its adapter."""
        for layer, parts in _pair_up(weights).items():
            name = f"{layer}.weight"
            target = self._parameter(name)
            if name not in self._base:
                self._base[name] = target.clone()
            base = self._base[name]
            low_rank = parts["B"].to(target.device).float() @ parts["A"].to(target.device).float()
            target.copy_(base.float().add(low_rank, alpha=scale))

    def _parameter(self, name: str) -> torch.Tensor:
        try:
            return self._parameters[name]
        except KeyError:
            raise TrainingError(f"the trainer sent a weight that the sampling model lacks: {name}") from None


def _pair_up(weights: NamedTensors) -> Mapping[str, dict[str, torch.Tensor]]:
    layers: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in weights:
        match = _ADAPTER_NAME.match(name)
        if match is None:
            raise TrainingError(f"not the name of an adapter weight: {name}")
        layers.setdefault(match["layer"], {})[match["part"]] = tensor
    unpaired = [layer for layer, parts in layers.items() if set(parts) != {"A", "B"}]
    if unpaired:
        raise TrainingError(f"adapters without both halves: {unpaired[:3]}")
    return layers
