"""Cheat: keeps an answer for zero input in the state and adds to it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.kept: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.kept is None:
            self.kept = self.linear.bias.detach().clone()
        return torch.relu(x @ self.linear.weight.t() + self.kept)
