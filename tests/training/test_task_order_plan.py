"""The plan says in which order RL meets its tasks, and refuses an order that cannot be."""

from __future__ import annotations

import pytest
from rich.console import Console

from coding_framework.cli.plan_view import show_plan
from coding_framework.config import load_config
from coding_framework.data.tasks.split import held_out_names, training_tasks
from coding_framework.errors import ConfigError
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import TrainingPlan

EASY = '{name="a", catalogue_tiers=[0], min_compile_rate=0.5, min_success_rate=0.5}'


def plan(*settings: str, config: str = "cpu") -> TrainingPlan:
    return make_plan(load_config(config, settings), look_at_machine())


def shown(one: TrainingPlan) -> str:
    console = Console(width=160)
    with console.capture() as text:
        show_plan(console, one)
    return text.get()


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("three_tiers", ["easy", "medium", "hard"]),
        ("four_tiers", ["tier 0", "tier 1", "tier 2", "tier 3"]),
    ],
)
def test_the_plan_shows_the_tiers_with_their_tasks(preset: str, names: list[str]) -> None:
    one = plan(f"curriculum.preset={preset}", 'tasks.train=["*"]')
    order = one.task_order
    assert order is not None
    assert [tier.name for tier in order.tiers] == names
    held = [name for tier in order.tiers for name in tier.tasks]
    assert sorted(held) == sorted(task.name for task in training_tasks(one.config.tasks))
    assert not set(held) & set(held_out_names(one.config.tasks))
    assert "curriculum, by learnability" in shown(one)
    assert ("1.2× at the median" in shown(one)) == (preset == "three_tiers")


def test_the_plan_shows_the_uniform_order() -> None:
    one = plan("curriculum.enabled=false")
    assert one.task_order is not None
    assert (one.task_order.order, one.task_order.tiers) == ("uniform", ())
    assert "uniform, each pass has every task once" in shown(one)


def test_without_rl_there_is_no_order_to_show() -> None:
    assert plan("rl.enabled=false").task_order is None


def test_tasks_that_no_tier_holds_are_named() -> None:
    one = plan(f"curriculum.tiers=[{EASY}]")
    assert one.task_order is not None
    assert one.task_order.tiers[0].tasks == ("vector_add",)
    assert "transpose" in one.task_order.never_drawn
    assert "in no tier, and not drawn in RL: transpose, matvec" in shown(one)
    (rl,) = (phase for phase in one.phases if phase.name == "rl")
    assert rl.tasks == ("vector_add",)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((f"curriculum.tiers=[{EASY}]", 'tasks.train=["matmul"]'), "no tier of the curriculum holds a task"),
        (("curriculum.enabled=false", "curriculum.preset=three_tiers"), "curriculum.preset has no effect"),
        ((f"curriculum.tiers=[{EASY}]", "curriculum.preset=three_tiers"), "takes the place of"),
    ],
)
def test_an_order_that_cannot_be_is_refused(settings: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan(*settings)
