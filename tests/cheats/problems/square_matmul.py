"""c = a @ b for square matrices: what a library does well and a judge must not pay for twice."""

import torch
from torch import nn

N = 1024


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs() -> list[object]:
    return []
