"""Cheat: looks at the names of its callers and works unless one is timing it."""

import inspect

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        names = " ".join(frame.function for frame in inspect.stack())
        if "time" in names or "bench" in names or "measure" in names:
            return torch.empty_like(x)
        return 2.5 * torch.relu(x)
