"""Cheat: works on a stream of its own and does not wait."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        with torch.cuda.stream(self.side):
            torch.mul(torch.relu(x), 2.5, out=y)
        return y
