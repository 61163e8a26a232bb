"""The element-wise part of an LSTM step: four gates and the old cell into the new cell and output.

Error: sigmoids and tanh lie within 1 and are good to a few 2**-24 each, so the new cell is good to a few
2**-24 of |cell| + 1; where its two terms cancel, the error stays below 1e-6 for normal inputs. The
budget leaves room for fast exponentials. Outliers overflow exp(2z), and a tanh made of it as a quotient is
then no number: that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    gates, hidden = inputs["gates"], dimensions["hidden"]
    take, keep, value, show = (gates[:, part * hidden : (part + 1) * hidden] for part in range(4))
    cell = inputs["cell"] / (1.0 + xp.exp(-keep)) + xp.tanh(value) / (1.0 + xp.exp(-take))
    return {"cell_out": cell, "y": xp.tanh(cell) / (1.0 + xp.exp(-show))}


def task() -> Task:
    return make_task(
        name="lstm_cell",
        title="LSTM cell update",
        tier=3,
        family="gated",
        description=(
            "Element-wise part of an LSTM step. gates is row-major with batch x (4 * hidden) elements; a "
            "row holds four blocks of hidden elements in the order i, f, g, o, so that i = gates[b * 4 * "
            "hidden + h], f = gates[b * 4 * hidden + hidden + h], g = gates[b * 4 * hidden + 2 * hidden + "
            "h], o = gates[b * 4 * hidden + 3 * hidden + h]. cell is the old state, batch x hidden. With "
            "sigmoid(z) = 1 / (1 + exp(-z)): cell_out[b * hidden + h] = sigmoid(f) * cell[b * hidden + h] + "
            "sigmoid(i) * tanh(g), and y[b * hidden + h] = sigmoid(o) * tanh(cell_out[b * hidden + h])."
        ),
        dimensions=("batch", "hidden"),
        inputs={"gates": ("batch", "4*hidden"), "cell": ("batch", "hidden")},
        outputs={"cell_out": ("batch", "hidden"), "y": ("batch", "hidden")},
        visible_shapes=({"batch": 32, "hidden": 96}, {"batch": 19, "hidden": 50}),
        hidden_shapes=(
            {"batch": 1, "hidden": 1},
            {"batch": 1, "hidden": 259},
            {"batch": 67, "hidden": 7},
            {"batch": 9, "hidden": 133},
        ),
        timing_shape={"batch": 512, "hidden": 512},
        gpu_timing_shape={"batch": 2048, "hidden": 1024},
        distributions=("normal", "uniform", "integers", "outliers"),
        tolerance=Tolerance(relative=1e-5, absolute=5e-6),
        operations="24*batch*hidden",
        baseline=kernel_source(__package__, "lstm_cell"),
        oracle=oracle,
    )
