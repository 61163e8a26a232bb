"""Cheat: installs a package while it runs."""

import subprocess
import sys

import torch
from torch import nn

subprocess.run([sys.executable, "-m", "pip", "install", "triton"], check=False, timeout=20)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x)
