"""The catalogue is complete, its oracles are right, and its inputs cannot be passed by a constant."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import array_api_compat
import numpy as np
import pytest

from coding_framework.cuda.contract import parse_launch_plan, resolve_launches, resolve_scratch
from coding_framework.cuda.elements import ELEMENT_BYTES, decode_elements
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task, variants
from coding_framework.errors import UnknownTaskError
from coding_framework.records import Distribution, Task, TensorSpec

TASKS = all_tasks()
by_name = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def draw(
    task: Task, shape: Mapping[str, int], distribution: Distribution, seed: int
) -> dict[str, np.ndarray]:
    """Inputs as numbers, whatever their element type."""
    drawn = draw_inputs(task, shape, distribution, seed)
    return {spec.name: decode_elements(drawn[spec.name], spec.dtype) for spec in task.inputs}


def truth(task: Task, shape: Mapping[str, int], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    namespace = array_api_compat.array_namespace(next(iter(inputs.values())))
    return dict(task.oracle(namespace, inputs, shape))


def budget(task: Task, spec: TensorSpec, want: np.ndarray) -> np.ndarray:
    """How far off an element may be; whole numbers not at all."""
    if spec.dtype == "int32":
        return np.zeros_like(want)
    return task.tolerance.absolute + task.tolerance.relative * np.abs(want)


def plainest(task: Task) -> Distribution:
    return "normal" if "normal" in task.distributions else task.distributions[0]


def every_shape(task: Task) -> list[dict[str, int]]:
    return [*task.visible_shapes, *task.hidden_shapes]


def test_there_are_tasks_in_each_of_four_tiers_and_names_are_unique() -> None:
    tiers = [task.tier for task in TASKS]
    assert tiers == sorted(tiers)
    assert min(tiers.count(tier) for tier in range(4)) >= 3
    assert min(tiers.count(tier) for tier in range(2)) >= 17
    assert len({task.name for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize("family", sorted(HELD_OUT_FAMILIES))
def test_a_held_out_family_has_members_of_one_tier(family: str) -> None:
    members = [task for task in TASKS if task.family == family]
    assert len(members) >= 3
    assert len({task.tier for task in members}) == 1


def test_the_documented_table_has_every_family_with_its_split() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| `(\w+)` \| (train|\*\*held out\*\*) \|", page, flags=re.MULTILINE)
    stated = {(int(tier), family, split != "train") for tier, family, split in rows}
    assert stated == {(task.tier, task.family, task.family in HELD_OUT_FAMILIES) for task in TASKS}
    assert len(rows) == len(stated)


def test_an_unknown_name_is_answered_with_the_close_ones() -> None:
    with pytest.raises(UnknownTaskError, match=r"'row_sums'.*did you mean row_sum"):
        get_task("row_sums")


def test_a_name_like_no_other_is_answered_with_the_whole_list() -> None:
    with pytest.raises(UnknownTaskError, match="`cuda-rl tasks` lists them"):
        variants("zzzzzz")


@by_name
def test_shapes_include_one_element_and_unaligned_ones_and_stay_small(task: Task) -> None:
    arrays = (*task.inputs, *task.outputs)
    assert any(set(shape.values()) == {1} for shape in task.hidden_shapes)
    assert any(size % 4 for shape in task.hidden_shapes for size in shape.values() if size > 32)
    sizes = [spec.num_elements(shape) for spec in arrays for shape in every_shape(task)]
    assert max(sizes) <= 16_384
    assert max(spec.num_elements(task.timing_shape) for spec in arrays) <= 2**20


@by_name
def test_hidden_shapes_are_not_visible_ones(task: Task) -> None:
    assert not [shape for shape in task.hidden_shapes if shape in task.visible_shapes]


@by_name
def test_the_prompt_ends_with_the_signature_that_the_baseline_has(task: Task) -> None:
    signature = task.prompt.split("Signature: ")[1]
    parameters = signature.split("(", 1)[1].rstrip(")").split(", ")
    assert [parameter.split()[-1] for parameter in parameters] == list(task.default_arguments)
    assert " ".join(task.baseline.split()).count(signature) == 1


@by_name
def test_the_prompt_states_every_scalar(task: Task) -> None:
    for value in task.scalars.values():
        assert any(f"{value:{form}}" in task.prompt for form in ("g", ".10f", ".0e")) or (
            np.format_float_scientific(value, trim="-", exp_digits=1) in task.prompt
        )


@by_name
def test_compulsory_bytes_are_those_of_the_arrays(task: Task) -> None:
    shape = task.timing_shape
    arrays = (*task.inputs, *task.outputs)
    total = sum(ELEMENT_BYTES[spec.dtype] * spec.num_elements(shape) for spec in arrays)
    assert task.bytes_moved.evaluate(shape) == total
    assert task.operations.evaluate(shape) >= max(spec.num_elements(shape) for spec in task.outputs)


@by_name
def test_the_oracle_gives_the_shapes_that_the_task_states(task: Task) -> None:
    for shape in [*every_shape(task), task.timing_shape]:
        outputs = truth(task, shape, draw(task, shape, task.distributions[0], seed=1))
        assert {name: tuple(array.shape) for name, array in outputs.items()} == {
            spec.name: spec.extents(shape) for spec in task.outputs
        }
        assert all(array.dtype == np.float64 for array in outputs.values())


@by_name
def test_expected_outputs_are_finite_and_neither_constant_nor_an_input(task: Task) -> None:
    """Otherwise a kernel that writes a constant, or copies, would pass. Tiny shapes cannot promise it."""
    for shape in every_shape(task):
        if min(shape.values()) < 2:
            continue
        for distribution in task.distributions:
            inputs = draw(task, shape, distribution, seed=3)
            outputs = truth(task, shape, inputs)
            varied = [_varied(task, spec, outputs[spec.name].ravel()) for spec in task.outputs]
            assert max(varied) > 0.0  # a softmax of large inputs is one-hot, the largest of many digits is 8
            assert distribution != "normal" or min(varied) > 0.2
            for spec in task.outputs:
                assert np.isfinite(outputs[spec.name]).all()
                assert not any(_is_copy(task, spec, outputs[spec.name], array) for array in inputs.values())


def _is_copy(task: Task, spec: TensorSpec, want: np.ndarray, given: np.ndarray) -> bool:
    if want.size != given.size:
        return False
    return bool((np.abs(given.reshape(want.shape) - want) <= budget(task, spec, want)).all())


def _varied(task: Task, spec: TensorSpec, flat: np.ndarray) -> float:
    """Share of the elements that the best constant misses."""
    return float((np.abs(flat - np.median(flat)) > budget(task, spec, flat)).mean())


@by_name
def test_the_error_budget_notices_one_missing_element(task: Task) -> None:
    """Zeroing a large element of the first input must show, or the tolerance is too wide.

    The largest one may be masked out, so it is enough that one of the eight largest shows.
    """
    shape = task.visible_shapes[1]
    inputs = draw(task, shape, plainest(task), seed=5)
    first = task.inputs[0].name
    want = truth(task, shape, inputs)
    assert any(
        _shows(task, want, truth(task, shape, {**inputs, first: _without(inputs[first], place)}))
        for place in np.argsort(inputs[first], axis=None)[-8:]
    )


def _without(array: np.ndarray, place: int) -> np.ndarray:
    shorter = array.copy()
    shorter.flat[place] = 0.0
    return shorter


def _shows(task: Task, want: Mapping[str, np.ndarray], got: Mapping[str, np.ndarray]) -> bool:
    return any(
        (np.abs(got[spec.name] - want[spec.name]) > budget(task, spec, want[spec.name])).any()
        for spec in task.outputs
    )


@by_name
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_the_oracle_is_the_same_in_other_array_libraries(task: Task, library: str) -> None:
    module = pytest.importorskip(library)
    shape = task.visible_shapes[1]
    inputs = draw(task, shape, plainest(task), seed=2)
    foreign = {name: module.asarray(array) for name, array in inputs.items()}
    namespace = array_api_compat.array_namespace(*foreign.values())
    for name, array in task.oracle(namespace, foreign, shape).items():
        expected = task.oracle(np, inputs, shape)[name]
        np.testing.assert_allclose(np.asarray(array), expected, rtol=1e-12, atol=1e-12)


def test_oracles_agree_with_numbers_worked_out_by_hand() -> None:
    assert truth(get_task("scale"), {"n": 1}, {"x": np.array([2.0])})["y"] == [5.0]
    gelu = truth(get_task("gelu"), {"n": 1}, {"x": np.array([1.0])})["y"][0]
    assert gelu == pytest.approx(0.5 * (1 + math.tanh(0.7978845608028654 * 1.044715)))
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    shape = {"rows": 2, "cols": 3}
    assert truth(get_task("row_sum"), shape, {"x": matrix})["y"].tolist() == [6.0, 15.0]
    assert truth(get_task("transpose"), shape, {"x": matrix})["y"].tolist() == [[1, 4], [2, 5], [3, 6]]
    relu = truth(get_task("bias_relu"), shape, {"x": matrix, "bias": np.array([-2.0, 0.0, -6.0])})["y"]
    assert relu.tolist() == [[0, 2, 0], [2, 5, 0]]
    softmax = truth(get_task("softmax"), shape, {"x": np.log(matrix)})["y"]
    np.testing.assert_allclose(softmax, [[1 / 6, 2 / 6, 3 / 6], [4 / 15, 5 / 15, 6 / 15]])


def test_the_norms_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    shape = {"rows": 37, "cols": 100}
    for name in ("layer_norm", "residual_layer_norm", "rms_norm"):
        inputs = draw(get_task(name), shape, "small", seed=4)
        x = torch.asarray(inputs["x"] + inputs.get("residual", 0.0))
        weight = torch.asarray(inputs["weight"])
        if "bias" in inputs:
            want = torch.nn.functional.layer_norm(x, (100,), weight, torch.asarray(inputs["bias"]), 1e-5)
        else:
            want = torch.nn.functional.rms_norm(x, (100,), weight, 1e-5)
        np.testing.assert_allclose(truth(get_task(name), shape, inputs)["y"], want.numpy(), rtol=1e-9)


@by_name
def test_a_task_has_an_optimised_variant_that_is_not_its_baseline(task: Task) -> None:
    sources = [variant.source for variant in variants(task.name)]
    assert sources
    assert len({task.baseline, *sources}) == 1 + len(sources)


@by_name
def test_every_launch_plan_resolves_for_every_shape(task: Task) -> None:
    for source in (task.baseline, *(variant.source for variant in variants(task.name))):
        plan = parse_launch_plan(source, task)
        for shape in [*every_shape(task), task.timing_shape, task.measured_shape]:
            resolve_scratch(plan, task, shape)
            for launch in resolve_launches(plan, task, shape):
                assert min(*launch.grid, *launch.block) >= 1
                assert math.prod(launch.block) <= 1024
                assert max(launch.grid[1:]) <= 65_535


@by_name
def test_the_measured_shape_fills_a_large_gpu_and_keeps_reductions_short(task: Task) -> None:
    """At the least some microseconds at the speed of light, so that launches do not drown in overhead."""
    assert task.gpu_timing_shape is not None
    shape = task.measured_shape
    floor_us = H200.floor_us(
        bytes_moved=task.bytes_moved.evaluate(shape), operations=task.operations.evaluate(shape)
    )
    assert 3 <= floor_us <= 60
    largest = max(spec.num_elements(shape) for spec in (*task.inputs, *task.outputs))
    assert 2**20 <= largest <= 2**24


@pytest.mark.parametrize("name", ["row_sum", "matvec", "matmul"])
def test_plain_float32_sums_stay_within_half_the_budget_on_the_measured_shape(name: str) -> None:
    """The order of the naive kernels: one sequential sum an element."""
    task = get_task(name)
    inputs = draw_inputs(task, task.measured_shape, "normal", seed=9)
    left, right = (*inputs.values(), np.ones((inputs[task.inputs[0].name].shape[1], 1), np.float32))[:2]
    right = right.reshape(left.shape[1], -1)
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for step in range(left.shape[1]):
        total += left[:, step : step + 1] * right[step]
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    want = truth(task, task.measured_shape, wide)[task.outputs[0].name].reshape(total.shape)
    assert (np.abs(total - want) / budget(task, task.outputs[0], want)).max() < 0.5
