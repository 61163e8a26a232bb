"""A small task on the CPU, its honest answer, and a way to write wrong ones."""

from __future__ import annotations

import textwrap

from coding_framework.records import Candidate, ModuleTask

TASK_SOURCE = """
import torch
import torch.nn as nn

batch, width = 64, 96


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(batch, width)]


def get_init_inputs():
    return [width]
"""
TASK = ModuleTask(
    name="linear_relu",
    source=TASK_SOURCE,
    hidden_constants=({"batch": 1, "width": 33}, {"batch": 7}),
)
HONEST = "return (x @ self.linear.weight.t() + self.linear.bias).clamp_min(0)"
_MODULE = """
import torch
import torch.nn as nn
{top}


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
{init}

    def right(self, x):
        {honest}

    def forward(self, x):
{body}
"""


def module(body: str, *, top: str = "", init: str = "") -> Candidate:
    """A candidate whose `forward` has this body; `self.right(x)` is the honest answer."""
    return Candidate(
        source=_MODULE.format(
            top=textwrap.dedent(top),
            init=textwrap.indent(textwrap.dedent(init), " " * 8),
            honest=HONEST,
            body=textwrap.indent(textwrap.dedent(body).strip(), " " * 8),
        ),
        contract="module",
    )
