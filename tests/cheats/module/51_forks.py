"""Cheat: leaves a child behind that goes on when the judge is done."""

import os
import time

import torch
from torch import nn

if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
    os._exit(0)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2.5 * torch.relu(x)
