"""Cheat: captures its first call and replays it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.y = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.graph is None or self.y.shape != x.shape:
            self.y = torch.empty_like(x)
            torch.mul(torch.relu(x), 2.5, out=self.y)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                torch.mul(torch.relu(x), 2.5, out=self.y)
        self.graph.replay()
        return self.y
