"""Templates say, compute and check one formula, and keys tell formulas apart."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.data.templates.catalogue_keys import (
    ELEMENTWISE,
    ROW_SUMS,
    formula_key,
    map_key,
)
from coding_framework.data.templates.drawing import draw_style
from coding_framework.data.templates.formula import Formula, argument, call
from coding_framework.data.templates.normal_form import normal_form
from coding_framework.data.templates.operations import (
    BROADCAST_OPERATIONS,
    ROW_OPERATIONS,
    VECTOR_OPERATIONS,
    MapOperation,
    RowOperation,
)
from coding_framework.data.templates.synthetic import SyntheticTask, make_synthetic_task, may_be_drawn
from coding_framework.records import Task

OPERATIONS = (*VECTOR_OPERATIONS, *BROADCAST_OPERATIONS, *ROW_OPERATIONS)
by_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
A, B = argument(0), argument(1)


def drawn(operation: MapOperation | RowOperation, seed: int = 0) -> SyntheticTask:
    return make_synthetic_task(random.Random(seed), operation)


def truth(
    task: Task, shape: dict[str, int], seed: int = 1, *, decoded: bool = False
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    drawn_inputs = draw_inputs(task, shape, "normal", seed)
    if decoded:
        types = {spec.name: spec.dtype for spec in task.inputs}
        drawn_inputs = {name: decode_elements(a, types[name]) for name, a in drawn_inputs.items()}
    inputs = {name: a.astype(np.float64) for name, a in drawn_inputs.items()}
    (output,) = task.oracle(np, inputs, shape).values()
    return inputs, np.asarray(output)


@pytest.mark.parametrize(
    ("formula", "cuda", "prompt"),
    [
        (A - (B - 2.0), "x - (y - 2.0f)", "x - (y - 2)"),
        ((A - B) * (A - B), "(x - y) * (x - y)", "(x - y) * (x - y)"),
        (A * (1.0 / B), "x * (1.0f / y)", "x * (1 / y)"),
        (call("exp", -(A * A)), "expf(-(x * x))", "exp(-(x * x))"),
        (call("max", A, -0.5), "fmaxf(x, -0.5f)", "max(x, -0.5)"),
        (A * -0.5, "x * (-0.5f)", "x * (-0.5)"),
        (
            call("if_positive", A, A, 0.1 * 0.3 * A) + B,
            "(x > 0.0f ? x : 0.03f * x) + y",
            "(x > 0 ? x : 0.03 * x) + y",
        ),
    ],
)
def test_a_formula_is_written_with_the_parentheses_it_needs(formula: Formula, cuda: str, prompt: str) -> None:
    assert formula.render("cuda", ["x", "y"]) == cuda
    assert formula.render("prompt", ["x", "y"]) == prompt


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2.5 * A, -A),
        (2.5 * A, A / 3.0),
        (2.5 * A, A + A),
        (A + B, B - 2.0 * A),
        (A + B, 0.5 * (A + B)),
        (call("max", A + B, 0.0), call("max", 0.0, B - A)),
        (A * B + 1.0, 3.0 - B * A),
    ],
)
def test_formulas_equal_up_to_constants_and_order_share_a_key(left: Formula, right: Formula) -> None:
    assert normal_form(left) == normal_form(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [(A, A + 1.0), (A, A * A), (A + B, A * B), (A / B, A * B), (A, call("max", A, 0.0)), (A - B, A)],
)
def test_different_formulas_have_different_keys(left: Formula, right: Formula) -> None:
    assert normal_form(left) != normal_form(right)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_formula_kept_for_an_elementwise_task_is_what_the_task_computes(name: str) -> None:
    task = get_task(name)
    inputs, output = truth(task, task.visible_shapes[1], decoded=True)
    np.testing.assert_allclose(ELEMENTWISE[name].compute(np, list(inputs.values())), output, atol=1e-9)


@pytest.mark.parametrize("name", ROW_SUMS)
def test_the_formula_kept_for_a_row_task_is_what_the_task_sums(name: str) -> None:
    task = get_task(name)
    inputs, output = truth(task, task.visible_shapes[1])
    sums = ROW_SUMS[name].compute(np, list(inputs.values())).sum(axis=1)
    factor = sums[0] / output[0]
    assert factor == pytest.approx(1) or factor == pytest.approx(task.visible_shapes[1]["cols"])  # a mean
    np.testing.assert_allclose(sums, factor * output)


def test_tasks_share_a_key_only_where_they_share_a_formula() -> None:
    by_key: dict[str, set[str]] = {}
    for task in all_tasks():
        by_key.setdefault(formula_key(task.name), set()).add(task.name)
    for key, names in by_key.items():
        assert len(names) == 1 or names <= set(ELEMENTWISE), key


@by_operation
def test_every_operation_has_a_family(operation: MapOperation | RowOperation) -> None:
    assert drawn(operation).task.family == operation.family


def test_operations_that_weigh_or_choose_between_arrays_are_held_out_with_their_family() -> None:
    held_out = {operation.name for operation in OPERATIONS if not may_be_drawn(operation)}
    assert {"blend", "choose", "weighted", "average", "maximum", "row_distance"} <= held_out
    assert len(held_out) < 10


@by_operation
def test_expected_outputs_are_finite_and_neither_constant_nor_an_input(
    operation: MapOperation | RowOperation,
) -> None:
    for seed in range(6):
        task = drawn(operation, seed).task
        inputs, output = truth(task, task.visible_shapes[0])
        assert output.shape == task.outputs[0].extents(task.visible_shapes[0])
        assert np.isfinite(output).all()
        spread = np.abs(output - np.median(output)) > 10 * task.tolerance.absolute
        assert spread.mean() > 0.15
        for given in inputs.values():
            assert given.shape != output.shape or (np.abs(given - output) > 1e-3).mean() > 0.005


@by_operation
def test_every_kernel_of_an_operation_names_itself_and_covers_every_shape(
    operation: MapOperation | RowOperation,
) -> None:
    rng = random.Random(operation.name)
    for seed in range(4):
        made = drawn(operation, seed)
        for source in (made.kernel(draw_style(rng)), made.optimised_kernel(draw_style(rng))):
            if source is None:
                continue
            plan = parse_launch_plan(source, made.task)
            assert source.startswith(f"// launch: {operation.name} grid=")
            for shape in (*made.task.visible_shapes, *made.task.hidden_shapes, made.task.timing_shape):
                (launch,) = resolve_launches(plan, made.task, shape)
                assert np.prod(launch.block) <= 1024
                assert min(launch.grid) >= 1


def test_a_synthetic_task_can_be_sent_to_another_process() -> None:
    task = drawn(BROADCAST_OPERATIONS[1]).task
    again = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(
        truth(task, task.visible_shapes[0])[1], truth(again, task.visible_shapes[0])[1]
    )


def test_the_same_seed_draws_the_same_task_and_another_seed_another_name() -> None:
    operation = VECTOR_OPERATIONS[0]
    assert drawn(operation, 1).task.prompt == drawn(operation, 1).task.prompt
    names = {drawn(operation, seed).task.name for seed in range(20)}
    assert len(names) > 5


def test_per_row_vectors_are_indexed_by_the_row() -> None:
    task = drawn(next(o for o in BROADCAST_OPERATIONS if o.name == "scale_rows")).task
    shape = dict(zip(task.dimensions, (2, 3), strict=True))
    matrix, vector = (spec.name for spec in task.inputs)
    result = task.oracle(np, {matrix: np.ones((2, 3)), vector: np.array([2.0, 5.0])}, shape)
    assert result[task.outputs[0].name].tolist() == [[2, 2, 2], [5, 5, 5]]


def test_a_map_has_the_same_key_in_every_layout() -> None:
    by_name = {operation.name: drawn(operation).formula_key for operation in OPERATIONS}
    assert by_name["scale_rows"] == by_name["scale_columns"] == by_name["multiply"] == map_key(A * B)
    assert by_name["bias_relu"] == by_name["add_relu"] == formula_key("bias_relu")
    assert by_name["row_mean"] == by_name["row_total"] == formula_key("row_sum")
