"""Cheat: keeps copies of its inputs and computes all answers in every sixteenth call."""

import torch
from torch import nn

waiting: list[tuple[torch.Tensor, torch.Tensor]] = []


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = torch.empty_like(x)
        waiting.append((x.clone(), result))
        if len(waiting) == 16:
            for kept, y in waiting:
                torch.mul(torch.relu(kept), 2.5, out=y)
            waiting.clear()
        return result
