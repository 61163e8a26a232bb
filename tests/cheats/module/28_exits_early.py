"""Cheat: ends its process with success before the check."""

import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sys.exit(0)
