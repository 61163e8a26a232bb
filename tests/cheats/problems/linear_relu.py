"""y = relu(x @ weight.T + bias): parameters, a product, and a trivial step after it."""

import torch
from torch import nn

BATCH = 512
FEATURES = 1024


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs() -> list[object]:
    return [FEATURES]
