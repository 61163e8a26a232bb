"""The plan says what a finished run leaves on the disk, and refuses what will not fit until then."""

from __future__ import annotations

from pathlib import Path

from coding_framework.config import FrameworkConfig, load_config
from coding_framework.training.plan.disk import disk_at_most, disk_left
from coding_framework.training.plan.machine import Machine, look_at_machine
from coding_framework.training.plan.records import Estimate, Unknown
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.plan.shape import ModelShape, model_shape


def without_gpus(tmp_path: Path) -> Machine:
    return look_at_machine(tmp_path).model_copy(update={"cards": ()})


def shape_of(config: FrameworkConfig) -> ModelShape:
    shape = model_shape(config.model.name)
    assert shape is not None
    return shape


def value(estimate: Estimate | Unknown) -> float:
    assert isinstance(estimate, Estimate)
    return estimate.value


def test_a_quick_run_leaves_at_most_700_megabytes(tmp_path: Path) -> None:
    config = resolve(load_config("quick"), without_gpus(tmp_path))
    shape = shape_of(config)
    left = value(disk_left(config, shape))
    models, adapter = 2 * 2 * shape.parameters, shape.adapter_parameters(16)
    assert models + (4 + 12 + 12) * adapter < left <= 700e6
    assert value(disk_at_most(config, shape)) == left + 2 * 12 * adapter


def test_all_weights_cost_their_moments_and_stay_in_32_bits(tmp_path: Path) -> None:
    config = resolve(load_config("quick", ["rl.lora_rank=0", "sft.enabled=false"]), without_gpus(tmp_path))
    shape = shape_of(config)
    assert 16 * shape.parameters < value(disk_left(config, shape)) < 17 * shape.parameters


def test_nothing_is_said_of_a_model_that_is_not_here(tmp_path: Path) -> None:
    config = load_config("quick")
    assert isinstance(disk_left(config, None), Unknown)
    assert isinstance(disk_at_most(config, None), Unknown)
