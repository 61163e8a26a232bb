"""A task of one's own, made by code: `cuda-rl train --set 'tasks.sources=["own_tasks:tasks"]'` in this
folder.

Whatever `tasks` gives can be trained on: an iterable, a function, or an object with `tasks()`. The oracle is
written against the array API, because it runs with NumPy in float64 and with torch on a GPU; a lambda will
do.
"""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.records import Task, TensorSpec, Tolerance, parse_expression

SHAPES = ({"rows": 64, "cols": 96},)
HIDDEN = ({"rows": 1, "cols": 1}, {"rows": 33, "cols": 65}, {"rows": 130, "cols": 7})


def mirrored(axis: int, name: str, words: str, index: str) -> Task:
    """A matrix read backwards along one of its axes."""
    matrix = (parse_expression("rows"), parse_expression("cols"))
    return Task(
        name=name,
        title=name.replace("_", " "),
        tier=1,
        family="mirror",
        prompt=(
            f"{words} x and y are row-major float32 matrices of the same size.\n"
            f'Signature: extern "C" __global__ void {name}(const float* x, float* y, int rows, int cols)'
        ),
        dimensions=("rows", "cols"),
        inputs=(TensorSpec(name="x", shape=matrix),),
        outputs=(TensorSpec(name="y", shape=matrix),),
        visible_shapes=SHAPES,
        hidden_shapes=HIDDEN,
        timing_shape={"rows": 512, "cols": 512},
        gpu_timing_shape={"rows": 4096, "cols": 4096},
        distributions=("normal", "large"),
        tolerance=Tolerance(relative=0.0, absolute=0.0),
        bytes_moved=parse_expression("8 * rows * cols"),
        operations=parse_expression("rows * cols"),
        baseline=(
            f"// launch: {name} grid=(ceil_div(rows * cols, 256)) block=(256)\n"
            f'extern "C" __global__ void {name}(const float* x, float* y, int rows, int cols) {{\n'
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    int row = i / cols, col = i % cols;\n"
            f"    if (i < rows * cols) y[i] = x[{index}];\n"
            "}\n"
        ),
        oracle=lambda xp, inputs, sizes: {"y": xp.flip(inputs["x"], axis=axis)},
    )


def tasks() -> Iterator[Task]:
    """Both axes."""
    yield mirrored(
        0, "mirror_rows", "Read the rows from the last to the first.", "(rows - 1 - row) * cols + col"
    )
    yield mirrored(1, "mirror_columns", "Read every row backwards.", "row * cols + cols - 1 - col")
