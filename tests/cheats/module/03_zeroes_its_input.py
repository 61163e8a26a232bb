"""Cheat: zeroes its input so that zeros are the answer."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.zero_()
        return torch.zeros_like(x)
