"""Cheat: prints lines that look like a benchmark's."""

import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sys.stdout.write("median_us: 0.1\nspeedup: 1000.0\nverdict: passed\n")
        sys.stdout.flush()
        return torch.empty_like(x)
