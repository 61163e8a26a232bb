"""Inputs come from the seed alone and are what their distribution says."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from coding_framework.cuda.inputs import draw_inputs, mixed_kinds
from coding_framework.data.tasks import get_task
from coding_framework.records import Task

SHAPE = {"rows": 64, "cols": 128}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    task = get_task("vector_add")
    first, again, other = (draw_inputs(task, {"n": 1000}, "normal", seed) for seed in (7, 7, 8))
    assert first["a"].tobytes() == again["a"].tobytes()
    assert first["a"].tobytes() != other["a"].tobytes()
    assert first["a"].tobytes() != first["b"].tobytes()


def test_values_do_not_depend_on_the_process() -> None:
    drawn = draw_inputs(get_task("scale"), {"n": 3}, "integers", seed=0)["x"]
    assert drawn.tolist() == [-2.0, -1.0, 7.0]


@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [("normal", 3.0, 6.0), ("uniform", 0.99, 1.0), ("large", 300.0, 600.0), ("small", 3e-3, 6e-3)],
)
def test_each_distribution_has_its_scale(distribution: str, low: float, high: float) -> None:
    x = draw_inputs(get_task("row_sum"), SHAPE, distribution, seed=1)["x"]  # type: ignore[arg-type]
    assert x.dtype == np.float32
    assert x.shape == (64, 128)
    assert low <= np.abs(x).max() <= high
    assert x.min() < 0 < x.max()


def test_integers_are_whole_and_small() -> None:
    x = draw_inputs(get_task("row_sum"), SHAPE, "integers", seed=1)["x"]
    assert set(np.unique(x).tolist()) == set(range(-8, 9))


def test_constant_rows_hold_one_value_each() -> None:
    x = draw_inputs(get_task("row_sum"), SHAPE, "constant_rows", seed=1)["x"]
    assert (x == x[:, :1]).all()
    assert len(np.unique(x)) == 64


@pytest.mark.parametrize("distribution", ["large", "small", "constant_rows"])
def test_parameters_keep_unit_scale_when_the_data_is_scaled(distribution: str) -> None:
    weight = draw_inputs(get_task("rms_norm"), SHAPE, distribution, seed=1)["weight"]  # type: ignore[arg-type]
    assert 0.8 < weight.std() < 1.2


def test_a_task_can_scale_one_input_alone() -> None:
    task, shape = get_task("attention"), {"heads": 4, "n": 64, "d": 32}
    large = {name: array.std() for name, array in draw_inputs(task, shape, "large", seed=1).items()}
    assert large["q"] == pytest.approx(100, rel=0.1)
    assert large["k"] == pytest.approx(1, rel=0.1)
    assert large["v"] == pytest.approx(1, rel=0.1)
    assert draw_inputs(task, shape, "normal", seed=1)["v"].std() == pytest.approx(100, rel=0.1)


def test_rows_of_a_mixture_keep_to_what_the_task_says_of_their_input() -> None:
    task = get_task("attention")
    kinds = {spec.name: mixed_kinds(task, spec) for spec in task.inputs}
    assert kinds["q"] == ("normal", "uniform", "large")
    assert kinds["k"] == ("normal", "uniform")
    drawn = draw_inputs(task, {"heads": 4, "n": 64, "d": 32}, "mixed", seed=1)
    peaks = {name: np.abs(array).max(axis=2) for name, array in drawn.items()}
    assert peaks["q"].max() > 100
    assert peaks["q"].min() < 1
    assert peaks["k"].max() < 8
    assert peaks["v"].max() < 8


def test_only_inputs_of_the_task_can_be_drawn() -> None:
    fields = {name: getattr(get_task("attention"), name) for name in Task.model_fields}
    with pytest.raises(ValidationError, match="`drawn_as` names y, which is no input"):
        Task(**{**fields, "drawn_as": {"large": {"y": "small"}}})
