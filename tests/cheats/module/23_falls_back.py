"""Cheat: tries a kernel that cannot be there and falls back on the library."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        try:
            return torch.ops.my_kernels.matmul(a, b)
        except (AttributeError, RuntimeError):
            return torch.matmul(a, b)
