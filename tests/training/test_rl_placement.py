"""Who uses which card: what the plan shows of it, refuses of it, and hands to verl and Ray."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from verl_composition import composed

from coding_framework.config import FrameworkConfig, load_config
from coding_framework.errors import ConfigError, FrameworkError, NotAvailableError
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import Estimate, TrainingPlan
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.rl.paths import RLPaths
from tiny_model import write_tiny_model

PACKAGES = frozenset(
    {"torch", "transformers", "peft", "verl", "ray", "vllm", "transfer_queue", "tensordict", "pyarrow"}
)
GB = 10**9


def machine(cards: int, gigabytes: int = 80, *, cores: int = 32) -> Machine:
    card = Card(name=f"{gigabytes} GB", memory_bytes=gigabytes * GB)
    return Machine(cores=cores, memory_bytes=256 * GB, cards=(card,) * cards, packages=PACKAGES)


def plan_of(preset: str, there: Machine, overrides: Sequence[str] = ()) -> TrainingPlan:
    return make_plan(load_config(preset, overrides), there)


def users(plan: TrainingPlan) -> list[tuple[str, ...]]:
    """During RL."""
    return [tuple(role for role in device.used_by if role != "sft") for device in plan.devices]


@pytest.mark.parametrize(
    ("preset", "there", "expected"),
    [
        ("one_gpu_24gb", machine(1, 24), [("actor", "rollout", "judge")]),
        ("one_gpu", machine(1, 80), [("actor", "rollout", "judge")]),
        ("one_gpu", machine(1, 141), [("actor", "rollout", "judge")]),
        (
            "eight_gpus",
            machine(8),
            [*[("actor",)] * 4, ("reference",), ("rollout",), ("rollout",), ("judge",)],
        ),
        ("cluster", machine(4), [*[("actor", "rollout")] * 3, ("judge",)]),
        ("quick", machine(0, cores=2), [("actor", "rollout", "judge")]),
        ("cpu", machine(0, cores=4), [("actor", "rollout", "judge")]),
    ],
)
def test_a_preset_fits_the_machine_that_it_is_for(
    preset: str, there: Machine, expected: list[tuple[str, ...]]
) -> None:
    plan = plan_of(preset, there)
    assert users(plan) == expected
    rl = next(phase for phase in plan.phases if phase.name == "rl")
    assert isinstance(rl.memory_bytes, Estimate)
    assert 0 < rl.memory_bytes.value < (there.cards[0].memory_bytes if there.cards else there.memory_bytes)


def test_the_preset_for_one_card_is_what_the_goals_are_measured_with() -> None:
    config = load_config("one_gpu")
    assert (config.rl.prompts_per_step, config.rl.group_size) == (16, 16)
    assert (config.conversation.max_prompt_tokens, config.conversation.max_response_tokens) == (512, 512)
    assert (config.rl.lora_rank, config.judge.timed_launches) == (32, 50)


def test_a_small_card_lets_vllm_sleep_and_a_large_one_does_not() -> None:
    assert plan_of("one_gpu_24gb", machine(1, 24)).config.rl.rollout_sleeps is True
    assert plan_of("one_gpu", machine(1, 80)).config.rl.rollout_sleeps is False
    assert plan_of("eight_gpus", machine(8)).config.rl.rollout_sleeps is False


def test_the_judges_cards_are_the_last_ones() -> None:
    assert plan_of("eight_gpus", machine(8)).config.judge.gpu_indices == (7,)
    more = ["rl.gpus.judge=3", "rl.gpus.rollout=0"]
    plan = plan_of("eight_gpus", machine(8), more)
    assert plan.config.judge.gpu_indices == (5, 6, 7)
    assert users(plan)[4:] == [("reference",), ("judge",), ("judge",), ("judge",)]
    assert plan.judge.place == "own_card"


def test_a_plan_that_is_planned_again_stays_the_same() -> None:
    for preset, there in (("eight_gpus", machine(8)), ("cluster", machine(4)), ("one_gpu", machine(1))):
        plan = plan_of(preset, there)
        assert make_plan(plan.config, there).settled == ()


@pytest.mark.parametrize(
    ("preset", "cards", "overrides", "words"),
    [
        ("eight_gpus", 8, ["rl.kl_coef=0"], "rl.kl_coef is 0"),
        ("eight_gpus", 8, ["rl.lora_rank=8"], "needs no card"),
        ("eight_gpus", 8, ["rl.gpus.judge=2"], "gives away 9 cards"),
        ("eight_gpus", 8, ["judge.gpu_indices=[6]"], r"gives the judge cards \[7\]"),
        ("eight_gpus", 8, ["judge.executor=emulator"], "judge.executor is `emulator`"),
        ("eight_gpus", 8, ["rl.rollout_sleeps=true"], "different cards"),
        ("eight_gpus", 8, ["judge.pool=ray"], "set rl.ray_address to a running cluster"),
        ("eight_gpus", 8, ["rl.nodes=2"], "name a running cluster with rl.ray_address"),
        ("eight_gpus", 4, [], "rl.num_gpus is 8, but this machine has 4 GPUs"),
        ("eight_gpus", 0, [], "rl.num_gpus is 8, but this machine has no GPU"),
        ("one_gpu", 2, ["judge.gpu_indices=[1]"], "which training does not count"),
        ("one_gpu", 1, ["judge.gpu_indices=[3]"], r"judge.gpu_indices \[3\], but this machine has 1 GPU"),
        ("one_gpu", 1, ["rl.num_gpus=0", "rl.gpus.judge=1"], "rl.gpus.judge gives the judge a card"),
        ("cluster", 4, ["judge.pool=local"], "the judge's card is Ray's to give"),
        ("cluster", 4, ["rl.gpus.judge=0", "rl.gpus.actor=4"], "judge.pool=ray leases whole cards"),
        ("cluster", 4, ["rl.gpus.actor=2", "rl.gpus.rollout=1"], "rl.gpus.rollout needs cards that Ray"),
    ],
)
def test_what_does_not_go_together_is_refused(
    preset: str, cards: int, overrides: list[str], words: str
) -> None:
    with pytest.raises(FrameworkError, match=words) as refused:
        plan_of(preset, machine(cards), overrides)
    assert isinstance(refused.value, ConfigError | NotAvailableError)


def test_weights_that_do_not_fit_into_shared_memory_are_refused() -> None:
    docker = machine(8).model_copy(update={"free_shared_bytes": 64 * 2**20})
    with pytest.raises(NotAvailableError, match=r"needs 4\.3 GB there, and 0\.1 GB are free"):
        plan_of("eight_gpus", docker)
    assert plan_of("one_gpu", docker), "beside the actor they do not travel there"


def test_times_of_cards_of_two_kinds_are_not_mixed() -> None:
    cards = (Card(name="A", memory_bytes=80 * GB), Card(name="B", memory_bytes=80 * GB))
    mixed = machine(0).model_copy(update={"cards": cards})
    with pytest.raises(ConfigError, match="cards of several kinds"):
        plan_of("one_gpu", mixed, ["rl.num_gpus=2", "judge.gpu_indices=[0, 1]"])


def test_a_sink_that_is_unknown_or_not_installed_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match="`tensorbord`, and there is no such sink"):
        plan_of("quick", machine(0), ['monitoring.sinks=["tensorbord"]'])
    asked = ['monitoring.sinks=["wandb", "trackio"]']
    with_wandb = machine(0).model_copy(update={"packages": machine(0).packages | {"wandb"}})
    with pytest.raises(
        NotAvailableError, match=r"trackio, which is not installed: run  pip install '.*watch"
    ):
        plan_of("quick", with_wandb, asked)
    both = with_wandb.model_copy(update={"packages": with_wandb.packages | {"trackio"}})
    assert plan_of("quick", both, asked).config.monitoring.sinks == ("wandb", "trackio")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["judge.gpu_indices=[1, 1]"], "names a device twice"),
        (["judge.gpu_indices=[0, 1]", "judge.workers=1"], "each needs a worker"),
        (["judge.gpu_indices=[0]", "judge.pool=ray"], "Ray hands them out"),
        (["judge.cluster_gpus=2"], "is for judge.pool=ray"),
    ],
)
def test_devices_of_the_judge_that_mean_nothing_are_no_config(overrides: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(None, overrides)


@pytest.fixture
def paths(tmp_path: Path) -> RLPaths:
    return RLPaths(tmp_path, write_tiny_model(tmp_path / "model"), Path("/tmp/ray-of-a-test"))


def test_ray_hands_out_the_cards_of_actor_and_reference_and_has_room_for_their_processes(
    paths: RLPaths,
) -> None:
    verl = composed(resolve(load_config("eight_gpus"), machine(8)), paths)
    assert (verl.trainer.n_gpus_per_node, verl.trainer.nnodes) == (4, 1)
    assert verl.actor_rollout_ref.rollout.n_gpus_per_node == 2
    ray = verl.ray_kwargs.ray_init
    assert (ray.address, ray.num_gpus) == ("local", 5)
    assert ray.num_cpus >= 3 * 5 + 4, "verl reserves three CPUs beside each card, its helpers ask for more"


def test_a_running_cluster_is_joined_and_told_no_sizes(paths: RLPaths) -> None:
    config: FrameworkConfig = resolve(load_config("cluster", ["rl.nodes=2"]), machine(4))
    assert config.judge.cluster_gpus == 2, "one on each of two machines"
    verl = composed(config, paths)
    assert (verl.trainer.n_gpus_per_node, verl.trainer.nnodes) == (3, 2)
    told = {name for name, value in verl.ray_kwargs.ray_init.items() if value is not None}
    assert told == {"address", "runtime_env"}
