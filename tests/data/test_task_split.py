"""What is taught and what is kept for the test."""

from __future__ import annotations

import pytest

from coding_framework.config import TasksConfig, load_config
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks
from coding_framework.data.tasks.split import held_out_names, held_out_tasks, training_tasks
from coding_framework.errors import ConfigError, UnknownTaskError


def test_by_default_every_task_is_on_exactly_one_side() -> None:
    config = TasksConfig()
    train, held_out = training_tasks(config), held_out_tasks(config)
    names = [task.name for task in (*train, *held_out)]
    assert sorted(names) == sorted(task.name for task in all_tasks())


def test_whole_families_are_held_out_and_single_tasks_besides() -> None:
    held_out = held_out_tasks(TasksConfig())
    assert {task.family for task in held_out} >= HELD_OUT_FAMILIES
    assert not {task.family for task in training_tasks(TasksConfig())} & HELD_OUT_FAMILIES
    assert {"scale", "gelu", "row_sum", "bias_relu"} <= {task.name for task in held_out}


def test_names_are_taken_as_they_stand() -> None:
    config = TasksConfig(train=("matmul", "vector_add"), held_out=("scale",))
    assert [task.name for task in training_tasks(config)] == ["matmul", "vector_add"]
    assert held_out_names(config) == ("scale",)


def test_a_star_leaves_out_what_is_held_out_by_name() -> None:
    config = TasksConfig(train=("*",), held_out=("matmul",))
    assert "matmul" not in {task.name for task in training_tasks(config)}


def test_a_member_of_a_held_out_family_cannot_be_trained_on_by_name() -> None:
    with pytest.raises(ConfigError, match="`scan` is never trained on"):
        training_tasks(TasksConfig(train=("prefix_sum",), held_out=("scale",)))


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(UnknownTaskError):
        held_out_tasks(TasksConfig(held_out=("nothing",)))


@pytest.mark.parametrize("preset", ["quick", "cpu"])
def test_the_presets_name_tasks_of_the_catalogue_on_both_sides(preset: str) -> None:
    config = load_config(preset).tasks
    assert {t.name for t in training_tasks(config)}.isdisjoint(held_out_names(config))
