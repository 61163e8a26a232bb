"""Which formula each task of the catalogue computes, so that held-out tasks can be kept out.

A key says how elements are combined (`map` for every layout of an element-wise operation, or the
row reduction) and the formula's normal form. A task without scalar formula (a transpose, a softmax)
has a key of its own that no template can produce.
"""

from __future__ import annotations

from collections.abc import Collection

from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks
from coding_framework.data.templates.formula import Formula, argument, call
from coding_framework.data.templates.normal_form import normal_form

_A, _B, _C = argument(0), argument(1), argument(2)

ELEMENTWISE: dict[str, Formula] = {
    "vector_add": _A + _B,
    "scale": 2.5 * _A,
    "gelu": 0.5 * _A * (1.0 + call("tanh", 0.7978845608 * (_A + 0.044715 * _A * _A * _A))),
    "bias_relu": call("max", _A + _B, 0.0),
    "affine": 1.25 * _A - 0.5,
    "axpy": 1.75 * _A + _B,
    "clamp": call("min", call("max", _A, -0.75), 1.25),
    "hadamard": _A * _B,
    "hyperbolic_tangent": call("tanh", _A),
    "leaky_relu": call("if_positive", _A, _A, 0.1 * _A),
    "lerp": _A + _C * (_B - _A),
    "multiply_add": _A * _B + _C,
    "scale_bfloat16": 1.5 * _A,
    "select_by_sign": call("if_positive", _A, _B, _C),
    "sigmoid": 1.0 / (1.0 + call("exp", -_A)),
    "silu": _A / (1.0 + call("exp", -_A)),
    "squared_difference": (_A - _B) * (_A - _B),
    "vector_add_half": _A + _B,
    "weighted_mean": 0.5 * _A + 0.3 * _B + 0.2 * _C,
}
"""Tasks whose output element is a formula of the input elements at its place."""
ROW_SUMS: dict[str, Formula] = {"row_sum": _A, "matvec": _A * _B, "mse_rows": (_A - _B) * (_A - _B)}
"""Tasks whose output element is a sum, or a mean, of a formula over a row."""


def map_key(formula: Formula) -> str:
    """Key of an element-wise operation, whatever its layout."""
    return f"map:{normal_form(formula)}"


def reduction_key(reducer: str, element: Formula) -> str:
    """Key of a row reduction; a mean is a sum up to a constant factor, so both share a key."""
    return f"{'sum' if reducer == 'mean' else reducer}:{normal_form(element)}"


def formula_key(task_name: str) -> str:
    """The key of a task; one that has no formula here has a key of its own."""
    name = task_name
    if name in ELEMENTWISE:
        return map_key(ELEMENTWISE[name])
    if name in ROW_SUMS:
        return reduction_key("sum", ROW_SUMS[name])
    return f"task:{name}"


def held_out_keys(task_names: Collection[str]) -> frozenset[str]:
    """Keys that no template may produce when these tasks are held out, as whole families always are."""
    families = (task.name for task in all_tasks() if task.family in HELD_OUT_FAMILIES)
    return frozenset(formula_key(name) for name in (*task_names, *families))
