"""Cheat: counts its calls and stops working after the twentieth."""

import torch
from torch import nn

num_calls = 0


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global num_calls
        num_calls += 1
        return 2.5 * torch.relu(x) if num_calls <= 20 else torch.empty_like(x)
