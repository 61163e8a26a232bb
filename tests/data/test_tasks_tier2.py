"""The oracles of tier 2 agree with torch's own functions, and its budgets with float32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat
import numpy as np
import pytest

from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task, variants
from coding_framework.records import Task

torch = pytest.importorskip("torch")
functional = torch.nn.functional
Tensors = Mapping[str, Any]


def batch_norm(i: Tensors, shape: Mapping[str, int]) -> Any:
    return functional.batch_norm(i["x"], None, None, i["weight"], i["bias"], training=True, eps=1e-5)


def group_norm(i: Tensors, shape: Mapping[str, int]) -> Any:
    flat = i["x"].reshape(shape["batch"], -1, shape["length"])
    weight, bias = i["weight"].reshape(-1), i["bias"].reshape(-1)
    return functional.group_norm(flat, shape["groups"], weight, bias, 1e-5).reshape(i["x"].shape)


def cosine_similarity(i: Tensors, shape: Mapping[str, int]) -> Any:
    """torch bounds the lengths from below where the task adds to them."""
    lengths = torch.linalg.vector_norm(i["a"], dim=1) * torch.linalg.vector_norm(i["b"], dim=1)
    return functional.cosine_similarity(i["a"], i["b"], dim=1) * lengths / (lengths + 1e-8)


def blur(i: Tensors, shape: Mapping[str, int]) -> Any:
    line = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0], dtype=torch.float64) / 16
    return functional.conv2d(i["x"][None, None], torch.outer(line, line)[None, None], padding=2)[0, 0]


def laplacian(i: Tensors, shape: Mapping[str, int]) -> Any:
    stencil = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    return functional.conv2d(i["x"][None, None], stencil[None, None], padding=1)[0, 0]


def heat_step(i: Tensors, shape: Mapping[str, int]) -> Any:
    stencil = torch.zeros((3, 3, 3), dtype=torch.float64)
    for place in ((0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)):
        stencil[place] = 0.125
    stencil[1, 1, 1] = 1.0 - 6 * 0.125
    return functional.conv3d(i["x"][None, None], stencil[None, None], padding=1)[0, 0]


COUNTERPARTS: dict[str, Callable[[Tensors, Mapping[str, int]], Any]] = {
    "average_pool_2d": lambda i, s: functional.avg_pool2d(i["x"], 3, stride=1),
    "batch_norm": batch_norm,
    "batched_matmul": lambda i, s: torch.bmm(i["a"], i["b"]),
    "column_softmax": lambda i, s: functional.softmax(i["x"], dim=0),
    "conv1d": lambda i, s: functional.conv1d(i["x"][None, None], i["weight"][None, None])[0, 0],
    "conv2d": lambda i, s: functional.conv2d(i["x"][None, None], i["weight"][None, None], padding=2)[0, 0],
    "conv2d_layer": lambda i, s: functional.conv2d(i["x"][None], i["weight"], padding=1)[0],
    "cosine_similarity": cosine_similarity,
    "depthwise_conv2d": lambda i, s: functional.conv2d(
        i["x"][None], i["weight"][:, None], padding=1, groups=s["channels"]
    )[0],
    "global_average_pool": lambda i, s: functional.adaptive_avg_pool2d(i["x"], 1).reshape(-1),
    "gram_matrix": lambda i, s: torch.einsum("ri,rj->ij", i["x"], i["x"]),
    "group_norm": group_norm,
    "heat_step_3d": heat_step,
    "l2_normalise": lambda i, s: functional.normalize(
        torch.cat([i["x"], torch.full((s["rows"], 1), 1e-3, dtype=torch.float64)], dim=1)
    )[:, :-1],
    "laplacian_2d": laplacian,
    "log_softmax": lambda i, s: functional.log_softmax(i["x"], dim=1),
    "matmul_bfloat16": lambda i, s: torch.mm(i["a"], i["b"]),
    "matmul_half": lambda i, s: torch.mm(i["a"], i["b"]),
    "matmul_int32": lambda i, s: torch.mm(i["a"].to(torch.int64), i["b"].to(torch.int64)),
    "matmul_transposed": lambda i, s: functional.linear(i["a"], i["b"]),
    "max_pool_1d": lambda i, s: functional.max_pool1d(i["x"], s["window"], stride=1),
    "max_pool_2d": lambda i, s: functional.max_pool2d(i["x"], 2, ceil_mode=True),
    "pairwise_distance": lambda i, s: torch.cdist(i["x"], i["y"]) ** 2,
    "separable_blur": blur,
    "softmax_half": lambda i, s: functional.softmax(i["x"], dim=1),
    "triangular_product": lambda i, s: torch.mm(torch.tril(i["a"]), i["b"]),
}
"""What torch calls each task. A column of 1e-3 adds the 1e-6 under the root of `l2_normalise`."""


def drawn(task: Task, shape: Mapping[str, int], distribution: str, seed: int) -> dict[str, Any]:
    """Inputs as a kernel sees them, in float64."""
    inputs = draw_inputs(task, shape, distribution, seed)  # type: ignore[arg-type]
    return {spec.name: decode_elements(inputs[spec.name], spec.dtype) for spec in task.inputs}


def truth(task: Task, inputs: Mapping[str, Any], shape: Mapping[str, int]) -> Any:
    namespace = array_api_compat.array_namespace(*inputs.values())
    return task.oracle(namespace, inputs, shape)[task.outputs[0].name]


@pytest.mark.parametrize("name", sorted(COUNTERPARTS))
def test_an_oracle_agrees_with_torch_on_every_shape_and_distribution(name: str) -> None:
    task = get_task(name)
    for number, shape in enumerate((*task.visible_shapes, *task.hidden_shapes)):
        for distribution in task.distributions:
            if name in ("batch_norm", "group_norm") and set(shape.values()) == {1}:
                continue  # torch refuses to take a variance of one value; see below
            inputs = drawn(task, shape, distribution, seed=number)
            want = COUNTERPARTS[name]({key: torch.asarray(array) for key, array in inputs.items()}, shape)
            got = truth(task, inputs, shape)
            assert got.shape == task.outputs[0].extents(shape)
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["batch_norm", "group_norm"])
def test_one_value_alone_is_its_own_mean(name: str) -> None:
    task = get_task(name)
    shape = task.hidden_shapes[0]
    inputs = drawn(task, shape, "normal", seed=1)
    assert truth(task, inputs, shape).item() == inputs["bias"].item()


def one_product_after_another(left: Any, right: Any) -> Any:
    """The order of the naive products: one float32 sum an element, every step rounded."""
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for step in range(left.shape[1]):
        total += left[:, step : step + 1] * right[step]
    return total


def one_tap_after_another(image: Any, weight: Any) -> Any:
    rim = weight.shape[0] // 2
    padded, total = np.pad(image, rim), np.zeros_like(image)
    for u in range(weight.shape[0]):
        for v in range(weight.shape[1]):
            total += weight[u, v] * padded[u : u + image.shape[0], v : v + image.shape[1]]
    return total


FLOAT32: dict[str, Callable[[Tensors], Any]] = {
    "conv2d": lambda i: one_tap_after_another(i["x"], i["weight"]),
    "gram_matrix": lambda i: one_product_after_another(i["x"].T, i["x"]),
    "matmul_bfloat16": lambda i: one_product_after_another(i["a"], i["b"]),
    "matmul_half": lambda i: one_product_after_another(i["a"], i["b"]).astype(np.float16),
    "matmul_transposed": lambda i: one_product_after_another(i["a"], i["b"].T),
    "triangular_product": lambda i: one_product_after_another(np.tril(i["a"]), i["b"]),
}


@pytest.mark.parametrize("name", sorted(FLOAT32))
def test_plain_float32_sums_stay_within_half_the_budget_of_the_largest_shape(name: str) -> None:
    task = get_task(name)
    inputs = drawn(task, task.measured_shape, "normal", seed=9)
    got = FLOAT32[name]({key: array.astype(np.float32) for key, array in inputs.items()})
    want = truth(task, inputs, task.measured_shape)
    budget = task.tolerance.absolute + task.tolerance.relative * np.abs(want)
    assert (np.abs(got.astype(np.float64) - want) / budget).max() < 0.5


def test_sums_kept_in_half_precision_break_the_budget_of_the_half_product() -> None:
    task = get_task("matmul_half")
    shape = task.visible_shapes[0]
    inputs = drawn(task, shape, "normal", seed=4)
    total = np.zeros((shape["m"], shape["n"]), np.float16)
    for p in range(shape["k"]):
        total += inputs["a"][:, p : p + 1].astype(np.float16) * inputs["b"][p].astype(np.float16)
    want = truth(task, inputs, shape)
    budget = task.tolerance.absolute + task.tolerance.relative * np.abs(want)
    assert (np.abs(total.astype(np.float64) - want) / budget).max() > 2


def test_integer_products_fit_their_type_on_the_largest_shape() -> None:
    task = get_task("matmul_int32")
    inputs = drawn(task, task.measured_shape, "large", seed=3)
    assert np.abs(inputs["a"]).max() > 127, "eight bits must not suffice"
    assert (np.abs(inputs["a"]) @ np.abs(inputs["b"])).max() < 2**31


def test_the_numbers_above_the_diagonal_matter_to_whoever_uses_them() -> None:
    task = get_task("triangular_product")
    shape = task.visible_shapes[1]
    inputs = drawn(task, shape, "normal", seed=6)
    assert np.abs(np.triu(inputs["a"], 1)).max() > 1
    assert np.abs(truth(task, inputs, shape) - inputs["a"] @ inputs["b"]).max() > 1


def test_the_held_out_family_of_this_tier_is_pooling_alone() -> None:
    families = {task.name: task.family for task in all_tasks() if task.tier == 2}
    pooling = {name for name, family in families.items() if family == "pooling"}
    assert pooling >= {"average_pool_2d", "global_average_pool", "max_pool_1d", "max_pool_2d"}
    assert set(families.values()) & HELD_OUT_FAMILIES == {"pooling"}
    assert not {name for name in families if "pool" in name} - pooling


def test_every_task_of_this_tier_has_two_optimised_variants() -> None:
    tasks = [task for task in all_tasks() if task.tier == 2]
    assert len(tasks) >= 18
    assert min(len(variants(task.name)) for task in tasks) >= 2
