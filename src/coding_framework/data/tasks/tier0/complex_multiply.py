"""y = a * b for complex numbers whose real and imaginary parts lie in arrays of their own.

Error: each part is a sum of two products that may cancel; with or without fused multiply-adds it is off
by at most 2**-24 of the two products and of the result. Products of standard normal values stay below 25
in every draw: 4e-6 at worst, and 1e-6 for all but a few in a million. Larger inputs would need a wider
absolute budget, so whole numbers are drawn instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from coding_framework.data.tasks.build import VECTOR_HIDDEN, VECTOR_VISIBLE, kernel_source, make_task
from coding_framework.records import Dimensions, Task, Tolerance


def oracle(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    a_real, a_imag = inputs["a_real"], inputs["a_imag"]
    b_real, b_imag = inputs["b_real"], inputs["b_imag"]
    return {
        "y_real": a_real * b_real - a_imag * b_imag,
        "y_imag": a_real * b_imag + a_imag * b_real,
    }


def task() -> Task:
    return make_task(
        name="complex_multiply",
        title="Complex product",
        tier=0,
        family="product",
        description=(
            "Multiply n pairs of complex numbers, real and imaginary parts in separate arrays: y_real[i] "
            "= a_real[i] * b_real[i] - a_imag[i] * b_imag[i] and y_imag[i] = a_real[i] * b_imag[i] + "
            "a_imag[i] * b_real[i]."
        ),
        dimensions=("n",),
        inputs={"a_real": ("n",), "a_imag": ("n",), "b_real": ("n",), "b_imag": ("n",)},
        outputs={"y_real": ("n",), "y_imag": ("n",)},
        visible_shapes=VECTOR_VISIBLE,
        hidden_shapes=VECTOR_HIDDEN,
        timing_shape={"n": 2**19},
        gpu_timing_shape={"n": 2**21},
        distributions=("normal", "uniform", "integers"),
        tolerance=Tolerance(relative=1e-6, absolute=5e-6),
        operations="6*n",
        baseline=kernel_source(__package__, "complex_multiply"),
        oracle=oracle,
    )
