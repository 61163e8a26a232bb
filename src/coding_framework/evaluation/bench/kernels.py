"""As many different kernels as a benchmark wants, honest ones and hostile ones.

An honest one is a kernel of the catalogue with a test that never holds and a number of its own in it:
neither its text nor its PTX repeats, and it passes as its original does. A hostile one does what wears
a judge out: it never ends, it traps, it writes where nothing is its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count, cycle

from coding_framework.data.tasks import get_task, kernels
from coding_framework.records import Candidate, Task

_OPENING = re.compile(r"(__global__[^{;]*\)\s*\{)")
_NEVER = 2_000_000_000
"""No launch of the catalogue has a grid this wide."""

BENCH_TASKS = (
    *("vector_add", "scale", "gelu", "row_sum", "transpose", "matvec", "matmul", "softmax", "layer_norm"),
    *("bias_relu", "residual_layer_norm", "rms_norm"),
)
"""Figures of different versions are comparable only over the same kernels."""

HOSTILE = {
    "hangs": "float v = x[0]; while (v < 1e30f || n > 0) { v = v * 0.5f + {number}.0f; y[0] = v; }",
    "hangs in one thread": "if (i == {number} % 64) for (int k = n; k > 0;) y[0] = k = k % 7 + 1;",
    "writes far outside": "y[i + 1000000000 + {number}] = 1.0f;",
    "writes misaligned": "((float2*)(y + 1))[i / 4] = make_float2({number}.0f, 1.0f);",
    "traps": "if (i == {number} % 64) __trap(); y[i] = 1.0f;",
}
"""Body of a kernel over `x`, `y` and `n`, by what it does."""


def honest_kernels(
    tasks: Sequence[Task] | None = None, *, start: int = 0
) -> Iterator[tuple[Task, Candidate]]:
    """Without end: every kernel of the tasks in turn, each time with another number."""
    chosen = tasks or [get_task(name) for name in BENCH_TASKS]
    originals = [(task, kernel.source) for task in chosen for kernel in kernels(task.name)]
    for number, (task, source) in zip(count(start), cycle(originals)):
        yield task, Candidate(source=numbered(source, number))


def numbered(source: str, number: int) -> str:
    """The kernel with a number in its code that changes nothing it does."""
    return _OPENING.sub(lambda match: f"{match[1]} if (gridDim.x > {_NEVER + number}u) return;", source)


def hostile_kernels(task: Task, *, start: int = 0) -> Iterator[tuple[str, Candidate]]:
    """Without end: (what it does, candidate), each kind in turn; for a task with one input `x`, `y`, `n`."""
    for number, (kind, body) in zip(count(start), cycle(HOSTILE.items())):
        yield kind, Candidate(source=_hostile_source(task, body.replace("{number}", str(number))))


def _hostile_source(task: Task, body: str) -> str:
    source, output, size = task.inputs[0].name, task.outputs[0].name, task.dimensions[0]
    return (
        f"// launch: wear grid=(ceil_div({size}, 64)) block=(64) args=({source}, {output}, {size})\n"
        'extern "C" __global__ void wear(const float* x, float* y, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  {body}\n"
        "}\n"
    )
