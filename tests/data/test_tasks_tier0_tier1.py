"""Tasks of tiers 0 and 1: oracles against torch and hand-worked numbers, budgets against plain float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest

from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.tasks import get_task
from coding_framework.records import Distribution, Task

Arrays = Mapping[str, Any]


def draw(task: Task, shape: Mapping[str, int], kind: Distribution, seed: int = 11) -> dict[str, np.ndarray]:
    drawn = draw_inputs(task, shape, kind, seed)
    return {spec.name: decode_elements(drawn[spec.name], spec.dtype) for spec in task.inputs}


def solve(name: str, shape: Mapping[str, int], **inputs: Any) -> dict[str, Any]:
    wide = {key: np.asarray(value, dtype=np.float64) for key, value in inputs.items()}
    return {key: array.tolist() for key, array in get_task(name).oracle(xp, wide, shape).items()}


def _functional() -> Any:
    return pytest.importorskip("torch").nn.functional


IN_TORCH: dict[str, Callable[[Any, Arrays], Any]] = {
    "axpy": lambda torch, given: torch.add(given["b"], given["a"], alpha=1.75),
    "hadamard": lambda torch, given: torch.mul(given["a"], given["b"]),
    "multiply_add": lambda torch, given: torch.addcmul(given["c"], given["a"], given["b"]),
    "clamp": lambda torch, given: _functional().hardtanh(given["x"], -0.75, 1.25),
    "squared_difference": lambda torch, given: _functional().mse_loss(
        given["a"], given["b"], reduction="none"
    ),
    "silu": lambda torch, given: _functional().silu(given["x"]),
    "sigmoid": lambda torch, given: torch.sigmoid(given["x"]),
    "hyperbolic_tangent": lambda torch, given: torch.tanh(given["x"]),
    "softplus": lambda torch, given: _functional().softplus(given["x"], threshold=1e9),
    "mish": lambda torch, given: _functional().mish(given["x"]),
    "hard_swish": lambda torch, given: _functional().hardswish(given["x"]),
    "leaky_relu": lambda torch, given: _functional().leaky_relu(given["x"], 0.1),
    "lerp": lambda torch, given: torch.lerp(given["a"], given["b"], given["t"]),
    "row_max": lambda torch, given: torch.amax(given["x"], dim=1),
    "row_mean": lambda torch, given: torch.mean(given["x"], dim=1),
    "row_norm": lambda torch, given: torch.linalg.vector_norm(given["x"], dim=1),
    "row_dot": lambda torch, given: torch.linalg.vecdot(given["a"], given["b"], dim=1),
    "column_sum": lambda torch, given: torch.sum(given["x"], dim=0),
    "matvec_half": lambda torch, given: torch.mv(given["a"], given["x"]),
    "matvec_transposed": lambda torch, given: torch.mv(given["a"].T, given["x"]),
    "outer_product": lambda torch, given: torch.outer(given["a"], given["b"]),
    "batched_transpose": lambda torch, given: given["x"].mT,
    "reverse": lambda torch, given: torch.flip(given["x"], (0,)),
    "min_max": lambda torch, given: torch.stack(torch.aminmax(given["x"])),
    "edge_pad": lambda torch, given: _functional().pad(given["x"][None], (1, 1, 1, 1), mode="replicate")[0],
    "unfold": lambda torch, given: given["x"].unfold(0, 5, 1),
    "histogram": lambda torch, given: torch.bincount(given["x"].long() & 63, minlength=64),
    "prefix_sum": lambda torch, given: torch.cumsum(given["x"], dim=1),
    "prefix_sum_int32": lambda torch, given: torch.cumsum(given["x"], dim=0),
    "running_max": lambda torch, given: torch.cummax(given["x"], dim=1).values,
}


@pytest.mark.parametrize("name", IN_TORCH)
def test_an_oracle_agrees_with_the_function_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    task = get_task(name)
    for kind in task.distributions:
        inputs = draw(task, task.visible_shapes[1], kind)
        (want,) = task.oracle(xp, inputs, task.visible_shapes[1]).values()
        got = IN_TORCH[name](torch, {key: torch.asarray(array) for key, array in inputs.items()})
        np.testing.assert_allclose(want, got.numpy(), rtol=1e-11, atol=1e-11)


def test_element_wise_oracles_give_the_numbers_worked_out_by_hand() -> None:
    one = {"n": 1}
    assert solve("affine", one, x=[2.0])["y"] == [2.0]
    assert solve("inverse_root", one, x=[0.0])["y"] == [2.0]
    assert solve("select_by_sign", {"n": 3}, condition=[2, 0, -1], a=[1, 2, 3], b=[4, 5, 6])["y"] == [1, 5, 6]
    assert solve("weighted_mean", one, a=[10.0], b=[20.0], c=[30.0])["y"] == pytest.approx([17.0])
    product = solve("complex_multiply", one, a_real=[1], a_imag=[2], b_real=[3], b_imag=[4])
    assert product == {"y_real": [-5.0], "y_imag": [10.0]}
    assert solve("vector_add_half", one, a=[1.5], b=[2.0])["y"] == [3.5]
    assert solve("scale_bfloat16", one, x=[4.0])["y"] == [6.0]


def test_softplus_and_mish_of_large_inputs_are_finite() -> None:
    assert solve("softplus", {"n": 2}, x=[900.0, -900.0])["y"] == [900.0, 0.0]
    assert solve("mish", {"n": 2}, x=[900.0, -900.0])["y"] == [900.0, 0.0]


def test_bit_mixing_wraps_at_32_bits_and_reads_the_result_as_signed() -> None:
    assert solve("mix_bits", {"n": 2}, x=[0, 1])["y"] == [0, 0x8514AA5F - 2**32]
    assert solve("mix_bits", {"n": 1}, x=[-1])["y"] == [0x85EAAADE - 2**32]


def test_rearrangements_give_the_order_that_their_prompts_state() -> None:
    matrix, shape = [[1, 2, 3], [4, 5, 6]], {"rows": 2, "cols": 3}
    assert solve("interleave", {"n": 2}, a=[1, 2], b=[3, 4])["y"] == [1, 3, 2, 4]
    assert solve("rotate_rows", shape, x=matrix)["y"] == [[1, 2, 3], [5, 6, 4]]
    assert solve("edge_pad", {"rows": 1, "cols": 2}, x=[[1, 2]])["y"] == [[1, 1, 2, 2]] * 3
    assert solve("unfold", {"n": 2}, x=[1, 2, 3, 4, 5, 6])["y"] == [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
    assert solve("transpose_bfloat16", shape, x=matrix)["y"] == [[1, 4], [2, 5], [3, 6]]
    picked = solve(
        "gather_rows",
        {"tokens": 3, "vocabulary": 2, "width": 1},
        ids=[-1, 4, 7],
        table=[[10.0], [20.0]],
    )
    assert picked["y"] == [[20.0], [10.0], [20.0]]


def test_reductions_and_scans_give_the_numbers_worked_out_by_hand() -> None:
    shape = {"rows": 2, "cols": 3}
    first_of_equals = solve("row_argmax", shape, x=[[1, 7, 7], [-3, -2, -9]])
    assert first_of_equals == {"largest": [7, -2], "position": [1, 1]}
    scanned = solve("exclusive_sum", shape, x=[[1, 2, 3], [4, 5, 6]])
    assert scanned == {"y": [[0, 1, 3], [0, 4, 9]], "total": [6, 15]}
    assert solve("row_sum_int32", shape, x=[[1, 2, 3], [-4, 5, 6]])["y"] == [6, 7]
    counts = solve("histogram", {"n": 4}, x=[0, 64, -1, 5])["counts"]
    assert {place: count for place, count in enumerate(counts) if count} == {0: 2, 5: 1, 63: 1}


PLAIN: dict[str, Callable[[Arrays], Arrays]] = {
    "axpy": lambda given: {"y": np.float32(1.75) * given["a"] + given["b"]},
    "affine": lambda given: {"y": np.float32(1.25) * given["x"] - np.float32(0.5)},
    "multiply_add": lambda given: {"y": given["a"] * given["b"] + given["c"]},
    "squared_difference": lambda given: {"y": (given["a"] - given["b"]) ** 2},
    "inverse_root": lambda given: {"y": 1 / np.sqrt(given["x"] * given["x"] + np.float32(0.25))},
    "hard_swish": lambda given: {"y": given["x"] * (np.clip(given["x"] + 3, 0, 6) * np.float32(1 / 6))},
    "lerp": lambda given: {"y": (1 - given["t"]) * given["a"] + given["t"] * given["b"]},
    "weighted_mean": lambda given: {
        "y": np.float32(0.5) * given["a"] + np.float32(0.3) * given["b"] + np.float32(0.2) * given["c"]
    },
    "complex_multiply": lambda given: {
        "y_real": given["a_real"] * given["b_real"] - given["a_imag"] * given["b_imag"],
        "y_imag": given["a_real"] * given["b_imag"] + given["a_imag"] * given["b_real"],
    },
    "row_mean": lambda given: {"y": _in_order(given["x"].T)[-1] / np.float32(given["x"].shape[1])},
    "row_norm": lambda given: {"y": np.sqrt(_in_order((given["x"] ** 2).T)[-1])},
    "row_dot": lambda given: {"y": _in_order((given["a"] * given["b"]).T)[-1]},
    "column_sum": lambda given: {"y": _in_order(given["x"])[-1]},
    "matvec_transposed": lambda given: {"y": _in_order(given["a"] * given["x"][:, None])[-1]},
    "matvec_half": lambda given: {"y": _in_order((given["a"] * given["x"]).T)[-1]},
    "prefix_sum": lambda given: {"y": _in_order(given["x"].T).T},
}
"""Separate roundings and sums in order, the least exact that an honest float32 kernel is."""


def _in_order(terms: np.ndarray) -> np.ndarray:
    """Running sums along the first axis, each rounded to float32."""
    return np.add.accumulate(terms, axis=0, dtype=np.float32)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_float32_stays_within_six_tenths_of_the_budget_on_the_measured_shape(name: str) -> None:
    task = get_task(name)
    shape = task.measured_shape
    for kind in task.distributions:
        inputs = draw(task, shape, kind)
        narrow = PLAIN[name]({key: array.astype(np.float32) for key, array in inputs.items()})
        for output, want in task.oracle(xp, inputs, shape).items():
            assert narrow[output].dtype == np.float32
            budget = task.tolerance.absolute + task.tolerance.relative * np.abs(want)
            assert (np.abs(narrow[output] - want) / budget).max() < 0.6, (kind, output)
