"""Cheat: sleeps in its first calls, so that a judge with a time budget repeats less."""

import time

import torch
from torch import nn

num_calls = 0


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global num_calls
        num_calls += 1
        if num_calls <= 3:
            time.sleep(0.2)
        return 2.5 * torch.relu(x)
