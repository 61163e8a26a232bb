"""Cheat: computes in place and returns its input."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu_().mul_(2.5)
