"""The plan on machines that are not here: who computes where, what it takes, what is refused and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from coding_framework.config import load_config
from coding_framework.errors import NotAvailableError
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import Estimate, PhasePlan, TrainingPlan

GB = 10**9
PACKAGES = frozenset(
    {"torch", "transformers", "peft", "verl", "ray", "vllm", "transfer_queue", "tensordict", "pyarrow"}
)


def machine(
    cards: int = 0, gigabytes: int = 80, *, name: str = "", cores: int = 32, host: int = 256, **more: Any
) -> Machine:
    card = Card(name=name or f"a card of {gigabytes} GB", memory_bytes=gigabytes * GB)
    return Machine(cores=cores, memory_bytes=host * GB, cards=(card,) * cards, packages=PACKAGES, **more)


def plan(
    preset: str | None,
    there: Machine,
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
) -> TrainingPlan:
    return make_plan(load_config(preset, overrides, values), there)


def phase(made: TrainingPlan, name: str) -> PhasePlan:
    return next(one for one in made.phases if one.name == name)


def gigabytes_of(made: TrainingPlan, name: str) -> float:
    memory = phase(made, name).memory_bytes
    assert isinstance(memory, Estimate)
    return memory.value / GB


def users(made: TrainingPlan) -> list[tuple[str, ...]]:
    return [device.used_by for device in made.devices]


@pytest.mark.parametrize("cards", [1, 4])
def test_a_preset_for_eight_cards_is_planned_without_rl_on_fewer(cards: int) -> None:
    made = plan("eight_gpus", machine(cards), (), {"rl.num_gpus": cards, "rl.enabled": False})
    assert users(made) == [*[("sft",)] * (cards - 1), ("sft", "judge")]


@pytest.mark.parametrize(
    ("indices", "expected"),
    [("[1]", [("sft",), ("judge",)]), ("[0, 1]", [("sft", "judge"), ("judge",)])],
)
def test_without_rl_the_judge_may_have_cards_that_training_does_not_count(
    indices: str, expected: list[tuple[str, ...]]
) -> None:
    made = plan("one_gpu", machine(2), ["rl.enabled=false", f"judge.gpu_indices={indices}"])
    assert users(made) == expected


def test_sft_uses_every_card_and_says_so() -> None:
    made = plan("eight_gpus", machine(8))
    assert all(device.used_by[0] == "sft" for device in made.devices)
    assert users(made)[4:] == [("sft", "reference"), *[("sft", "rollout")] * 2, ("sft", "judge")]
    assert all(device.held_bytes for device in made.devices)


@pytest.mark.parametrize("preset", ["one_gpu_24gb", "one_gpu", "starter"])
def test_where_vllm_sleeps_the_memory_is_that_of_sampling(preset: str) -> None:
    made = plan(preset, machine(1, 24))
    assert made.config.rl.rollout_sleeps
    assert 20 < gigabytes_of(made, "rl") <= 21.6, "the actor's weights and vLLM awake, with a smaller cache"


@pytest.mark.parametrize(
    ("gigabytes", "override"), [(24, "rl.algorithm=ppo"), (40, "rl.lora_rank=0"), (16, "rl.steps=3")]
)
def test_what_does_not_fit_while_vllm_is_awake_is_refused(gigabytes: int, override: str) -> None:
    with pytest.raises(NotAvailableError, match="vLLM"):
        plan("one_gpu", machine(1, gigabytes), [override])


def test_the_plan_decides_whether_sft_keeps_its_activations() -> None:
    large, small = plan("one_gpu", machine(1, 141)), plan("one_gpu", machine(1, 16), ["rl.enabled=false"])
    assert large.config.sft.checkpoint_activations is False
    assert gigabytes_of(large, "sft") > 50
    full = plan("one_gpu", machine(1, 40), ["sft.method=full", "rl.enabled=false"])
    assert full.config.sft.checkpoint_activations is True
    assert gigabytes_of(small, "sft") < 0.9 * 16
