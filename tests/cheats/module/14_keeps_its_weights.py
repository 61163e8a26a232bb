"""Cheat: transposes its weights in the first call and never looks at them again."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.kept: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.kept is None:
            self.kept = self.linear.weight.detach().t().contiguous()
        return torch.relu(x @ self.kept + self.linear.bias)
