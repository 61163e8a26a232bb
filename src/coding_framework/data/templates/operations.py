"""The table of operations that synthetic tasks are made of.

Each entry names an operation in words and builds its formula from arguments and drawn constants.
`{vectors}` and `{matrix}` stand for what it is applied to. Limits lie within the bulk of standard
normal inputs, because a limit that no input reaches could be left out unnoticed. Large exponents are
avoided: every result stays in the range where float32 errors are relative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from coding_framework.data.templates.families import OPERATION_FAMILIES
from coding_framework.data.templates.formula import Formula, call

Layout = Literal["vector", "matrix", "per_column", "per_row"]
Build = Callable[[Sequence[Formula], Sequence[float]], Formula]
Reducer = Literal["sum", "mean", "max", "min"]


@dataclass(frozen=True)
class MapOperation:
    """Every output element is a formula of the input elements at its place."""

    name: str
    words: str
    layouts: tuple[Layout, ...]
    build: Build

    @property
    def family(self) -> str:
        return OPERATION_FAMILIES[self.name]


@dataclass(frozen=True)
class RowOperation:
    """Every output element reduces a formula over a row, then maybe takes a root."""

    name: str
    words: str
    num_matrices: int
    reducer: Reducer
    build: Build
    root: bool = False

    @property
    def family(self) -> str:
        return OPERATION_FAMILIES[self.name]


def _sigmoid(x: Formula) -> Formula:
    return 1.0 / (1.0 + call("exp", -x))


def _clamp(x: Formula, low: float, high: float) -> Formula:
    return call("min", call("max", x, low), high)


def _vectors(count: int, name: str, words: str, build: Build) -> MapOperation:
    layouts: tuple[Layout, ...] = ("vector", "vector", "vector")
    return MapOperation(name, words, layouts[:count], build)


_UNARY: tuple[tuple[str, str, Build], ...] = (
    ("square", "Square {vectors}", lambda a, k: a[0] * a[0]),
    ("cube", "Cube {vectors}", lambda a, k: a[0] * a[0] * a[0]),
    ("absolute", "Absolute value of {vectors}", lambda a, k: call("abs", a[0])),
    ("negate", "Negate {vectors}", lambda a, k: -a[0]),
    ("multiply_by", "Multiply {vectors} by a constant", lambda a, k: k[0] * a[0]),
    ("divide_by", "Divide {vectors} by a constant", lambda a, k: a[0] / k[0]),
    ("shift", "Add a constant to {vectors}", lambda a, k: a[0] + k[0]),
    ("affine", "Affine map of {vectors}", lambda a, k: k[0] * a[0] + k[1]),
    ("relu", "ReLU of {vectors}", lambda a, k: call("max", a[0], 0.0)),
    (
        "leaky_relu",
        "Leaky ReLU of {vectors}",
        lambda a, k: call("if_positive", a[0], a[0], 0.1 * k[0] * a[0]),
    ),
    ("relu_cap", "Capped ReLU of {vectors}", lambda a, k: _clamp(a[0], 0.0, 0.25 * k[0])),
    ("clamp", "Clamp {vectors}", lambda a, k: _clamp(a[0], -0.25 * k[0], 0.25 * k[1])),
    ("floor_at", "Limit {vectors} from below", lambda a, k: call("max", a[0], -0.25 * k[0])),
    ("cap_at", "Limit {vectors} from above", lambda a, k: call("min", a[0], 0.25 * k[0])),
    ("sigmoid", "Sigmoid of {vectors}", lambda a, k: _sigmoid(a[0])),
    ("swish", "Swish of {vectors}", lambda a, k: a[0] / (1.0 + call("exp", -a[0]))),
    ("hyperbolic", "Hyperbolic tangent of {vectors}", lambda a, k: call("tanh", k[0] * a[0])),
    ("decay", "Exponential decay of {vectors}", lambda a, k: call("exp", -a[0])),
    ("exponential", "Exponential of {vectors}", lambda a, k: k[0] * call("exp", a[0])),
    ("gaussian", "Gaussian of {vectors}", lambda a, k: call("exp", -(a[0] * a[0]))),
    ("softsign", "Softsign of {vectors}", lambda a, k: a[0] / (1.0 + call("abs", a[0]))),
    ("bell", "Rational bell curve of {vectors}", lambda a, k: 1.0 / (k[0] + a[0] * a[0])),
    ("root", "Root of the absolute value of {vectors}", lambda a, k: call("sqrt", call("abs", a[0]))),
    ("cubic", "Cubic polynomial of {vectors}", lambda a, k: a[0] + k[0] * a[0] * a[0] * a[0]),
    ("quadratic", "Quadratic polynomial of {vectors}", lambda a, k: k[0] * a[0] * a[0] + k[1] * a[0]),
    ("hard_sigmoid", "Hard sigmoid of {vectors}", lambda a, k: _clamp(k[0] * a[0] + 0.5, 0.0, 1.0)),
    ("distance_to", "Distance of {vectors} to a constant", lambda a, k: call("abs", a[0] - k[0])),
)
_BINARY: tuple[tuple[str, str, Build], ...] = (
    ("add", "Add {vectors}", lambda a, k: a[0] + a[1]),
    ("subtract", "Subtract {vectors}", lambda a, k: a[0] - a[1]),
    ("multiply", "Multiply {vectors}", lambda a, k: a[0] * a[1]),
    ("add_scaled", "Scaled sum of {vectors}", lambda a, k: a[0] + k[0] * a[1]),
    ("weighted", "Weighted sum of {vectors}", lambda a, k: k[0] * a[0] + k[1] * a[1]),
    ("average", "Average {vectors}", lambda a, k: 0.5 * (a[0] + a[1])),
    ("maximum", "Larger of {vectors}", lambda a, k: call("max", a[0], a[1])),
    ("minimum", "Smaller of {vectors}", lambda a, k: call("min", a[0], a[1])),
    ("squared_error", "Squared difference of {vectors}", lambda a, k: (a[0] - a[1]) * (a[0] - a[1])),
    ("distance", "Absolute difference of {vectors}", lambda a, k: call("abs", a[0] - a[1])),
    ("hypotenuse", "Hypotenuse of {vectors}", lambda a, k: call("sqrt", a[0] * a[0] + a[1] * a[1])),
    ("safe_divide", "Safe quotient of {vectors}", lambda a, k: a[0] / (k[0] + call("abs", a[1]))),
    ("gate", "Gate {vectors} with a sigmoid", lambda a, k: a[0] / (1.0 + call("exp", -a[1]))),
    ("add_relu", "Add {vectors}, then ReLU", lambda a, k: call("max", a[0] + a[1], 0.0)),
    ("multiply_relu", "Multiply {vectors}, then ReLU", lambda a, k: call("max", a[0] * a[1], 0.0)),
    ("add_tanh", "Add {vectors}, then tanh", lambda a, k: call("tanh", a[0] + a[1])),
    ("multiply_shift", "Multiply {vectors} and add a constant", lambda a, k: a[0] * a[1] + k[0]),
)
_TERNARY: tuple[tuple[str, str, Build], ...] = (
    ("multiply_add", "Multiply and add {vectors}", lambda a, k: a[0] * a[1] + a[2]),
    ("sum_three", "Sum {vectors}", lambda a, k: a[0] + a[1] + a[2]),
    ("multiply_three", "Multiply {vectors}", lambda a, k: a[0] * a[1] * a[2]),
    ("blend", "Blend {vectors}", lambda a, k: a[0] + a[2] * (a[1] - a[0])),
    ("choose", "Choose between {vectors}", lambda a, k: call("if_positive", a[0], a[1], a[2])),
    ("scaled_difference", "Scaled difference of {vectors}", lambda a, k: (a[0] - a[1]) * a[2]),
)
_BROADCAST: tuple[tuple[str, str, tuple[Layout, ...], Build], ...] = (
    ("scale_columns", "Scale the columns of {matrix}", ("matrix", "per_column"), lambda a, k: a[0] * a[1]),
    ("scale_rows", "Scale the rows of {matrix}", ("matrix", "per_row"), lambda a, k: a[0] * a[1]),
    ("add_bias", "Add a bias to each row of {matrix}", ("matrix", "per_column"), lambda a, k: a[0] + a[1]),
    ("centre_rows", "Centre the rows of {matrix}", ("matrix", "per_row"), lambda a, k: a[0] - a[1]),
    (
        "scale_shift",
        "Scale and shift the columns of {matrix}",
        ("matrix", "per_column", "per_column"),
        lambda a, k: a[0] * a[1] + a[2],
    ),
    (
        "normalise",
        "Normalise the rows of {matrix} with given means and scales",
        ("matrix", "per_row", "per_row"),
        lambda a, k: (a[0] - a[1]) * a[2],
    ),
    (
        "bias_relu",
        "Add a bias to each row of {matrix}, then ReLU",
        ("matrix", "per_column"),
        lambda a, k: call("max", a[0] + a[1], 0.0),
    ),
    (
        "bias_sigmoid",
        "Add a bias to each row of {matrix}, then sigmoid",
        ("matrix", "per_column"),
        lambda a, k: _sigmoid(a[0] + a[1]),
    ),
    (
        "bias_tanh",
        "Add a bias to each row of {matrix}, then tanh",
        ("matrix", "per_column"),
        lambda a, k: call("tanh", a[0] + a[1]),
    ),
    (
        "bias_square",
        "Add a bias to each row of {matrix}, then square",
        ("matrix", "per_column"),
        lambda a, k: (a[0] + a[1]) * (a[0] + a[1]),
    ),
    (
        "scale_relu",
        "Scale the columns of {matrix}, then ReLU",
        ("matrix", "per_column"),
        lambda a, k: call("max", a[0] * a[1], 0.0),
    ),
    (
        "cap_columns",
        "Limit the columns of {matrix} from above",
        ("matrix", "per_column"),
        lambda a, k: call("min", a[0], a[1]),
    ),
)

VECTOR_OPERATIONS: tuple[MapOperation, ...] = tuple(
    _vectors(count, *entry) for count, table in ((1, _UNARY), (2, _BINARY), (3, _TERNARY)) for entry in table
)
BROADCAST_OPERATIONS: tuple[MapOperation, ...] = tuple(MapOperation(*entry) for entry in _BROADCAST)
ROW_OPERATIONS: tuple[RowOperation, ...] = (
    RowOperation("row_total", "Sum", 1, "sum", lambda a, k: a[0]),
    RowOperation("row_mean", "Mean", 1, "mean", lambda a, k: a[0]),
    RowOperation("row_max", "Maximum", 1, "max", lambda a, k: a[0]),
    RowOperation("row_min", "Minimum", 1, "min", lambda a, k: a[0]),
    RowOperation("row_sumsq", "Sum of squares", 1, "sum", lambda a, k: a[0] * a[0]),
    RowOperation("row_mean_square", "Mean square", 1, "mean", lambda a, k: a[0] * a[0]),
    RowOperation("row_norm", "Euclidean norm", 1, "sum", lambda a, k: a[0] * a[0], root=True),
    RowOperation("row_abs_sum", "Sum of absolute values", 1, "sum", lambda a, k: call("abs", a[0])),
    RowOperation("row_abs_max", "Largest absolute value", 1, "max", lambda a, k: call("abs", a[0])),
    RowOperation("row_relu_sum", "Sum of the positive parts", 1, "sum", lambda a, k: call("max", a[0], 0.0)),
    RowOperation("row_exp_sum", "Sum of exponentials", 1, "sum", lambda a, k: call("exp", a[0])),
    RowOperation("row_dot", "Dot product", 2, "sum", lambda a, k: a[0] * a[1]),
    RowOperation("row_distance", "Squared distance", 2, "sum", lambda a, k: (a[0] - a[1]) * (a[0] - a[1])),
)
