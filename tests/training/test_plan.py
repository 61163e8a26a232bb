"""The plan on machines that are not here: who computes where, what it takes, what is refused and why."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from coding_framework.agents.models.loading import DEVICE_VARIABLE, default_device, keep_to_cpu
from coding_framework.cli.plan_view import show_plan
from coding_framework.config import load_config, preset_dir
from coding_framework.errors import FrameworkError, NotAvailableError, StorageError
from coding_framework.training.plan.machine import Card, Machine, look_at_machine
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


def shown(made: TrainingPlan, width: int = 200) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    show_plan(console, made)
    return console.export_text()


def seconds(made: TrainingPlan) -> dict[str, float]:
    return {one.name: one.seconds.value for one in made.phases if isinstance(one.seconds, Estimate)}


def test_the_quick_test_on_two_cores_is_planned_as_long_as_the_readme_saw_it_take() -> None:
    text = (preset_dir().parent / "README.md").read_text()
    line = re.search(r"^time: (.*)$", text, re.MULTILINE)
    assert line is not None
    seen = {name: float(number) for name, number in re.findall(r"(\w+) (\d+) s", line[1])}
    seen["evaluation"] = sum(value for name, value in seen.items() if name.startswith("evaluation"))
    planned = seconds(plan("quick", machine(cores=2)))
    for name in ("pairs", "sft", "rl", "evaluation"):
        assert planned[name] == pytest.approx(seen[name], rel=0.1), name


def test_what_was_measured_on_one_h200_is_an_estimate_there_and_nowhere_else() -> None:
    h200 = machine(1, 141, name="NVIDIA H200")
    made = plan("one_gpu", h200)
    known = seconds(made)
    assert known["sft"] == pytest.approx(64 * 0.49, rel=0.1), "half a second a step"
    assert known["rl"] == pytest.approx(126 + 100 * 42.6, rel=0.1), "43 seconds a step"
    assert "evaluation" not in known
    assert "not known for evaluation; the rest about 81 min" in shown(made)
    assert "they rest on what was measured once with one H200" in shown(made)
    assert not {"sft", "rl"} & seconds(plan("one_gpu", machine(1, 80))).keys()
    assert not {"sft", "rl"} & seconds(plan("quick", h200)).keys(), "another size of model"
    assert (
        not {"sft", "rl"}
        & seconds(plan("one_gpu", machine(2, 141, name="NVIDIA H200"), ["rl.num_gpus=2"])).keys()
    )


def test_the_printed_plan_names_tasks_learning_rates_total_and_sandbox() -> None:
    text = shown(plan("quick", machine(cores=2), ["judge.sandbox=no_docker"]))
    for words in (
        "trained on 8 tasks: axpy, inverse_root, reverse, row_dot",
        "held out for the evaluation: 5 tasks: scale, lerp, weighted_mean, row_sum, bias_relu",
        "1.9 passes over the pairs",
        "learning rate 0.001",
        "learning rate 0.0004",
        "about 15 min",
        "sandbox: never Docker",
        "chosen for this machine: float32, transformers samples, the CPU",
    ):
        assert words in text
    assert "they rest on nothing" not in text


def test_nothing_is_cut_off_in_a_narrow_terminal() -> None:
    text = " ".join(shown(plan("eight_gpus", machine(8)), width=60).replace("│", " ").split())
    assert "steps 200, episodes 102,400, time ?, memory 62.2 GB" in text
    assert "62 GB at most, 25 GB when done" in text


@pytest.mark.parametrize(
    ("preset", "there", "override", "words"),
    [
        ("one_gpu", machine(1, 32), "rl.lora_rank=0", "set rl.lora_rank=16 to train an adapter"),
        ("one_gpu", machine(1, 28), "sft.method=full", "set sft.method=lora"),
        ("one_gpu", machine(1), "rl.update_tokens=10000000", "lower rl.update_tokens"),
        ("one_gpu", machine(1), "sft.batch_tokens=10000000", "lower sft.batch_tokens"),
        ("one_gpu", machine(1, 16), "rl.steps=3", "set judge.executor=emulator, or take a smaller model"),
        ("one_gpu", machine(1, 24), "rl.algorithm=ppo", "set rl.algorithm=grpo, which has no critic"),
        ("quick", machine(), "judge.workers=1000", "lower judge.workers"),
        ("quick", machine(), "sft.lora_rank=100000", "lower sft.lora_rank"),
        ("cpu", machine(), "sft.batch_size=1500", "lower sft.batch_size"),
    ],
)
def test_a_refusal_for_memory_advises_what_helps_with_its_largest_part(
    preset: str, there: Machine, override: str, words: str
) -> None:
    with pytest.raises(NotAvailableError, match=words):
        plan(preset, there, [override])


def test_a_refusal_for_memory_says_how_much_of_a_card_can_be_used() -> None:
    with pytest.raises(NotAvailableError, match=r"of 16 GB about 14\.4 can be used"):
        plan("one_gpu", machine(1, 16))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model.name=qwne"], "no model called 'qwne'"),
        (["model.name=smollm2"], "did you mean smollm2-135m-instruct"),
        (["model.name=./nofolder"], "no model called"),
        (["model.name=/tmp"], "no model folder"),
        (["model.name="], "name of the model is empty"),
        (["judge.architecture=sm_999"], "cannot compile for: it knows sm_"),
        (["judge.compile_flags=['-rm']"], "is not allowed"),
        (["sft.max_length=64", "conversation.max_response_tokens=32"], "even the shortest prompt"),
        (["sft.warmup_steps=100000"], "of 44 steps"),
        (["sft.batch_size=1000"], "a step of SFT takes 1,000 pairs"),
        (["conversation.max_prompt_tokens=9000"], "smollm2-135m-instruct reads 8192 tokens at most"),
    ],
)
def test_what_could_never_work_is_refused(overrides: list[str], words: str) -> None:
    with pytest.raises(FrameworkError, match=words):
        plan("quick", machine(), overrides)


def test_a_name_on_the_hub_is_planned_without_asking_it() -> None:
    made = plan("quick", machine(), ["model.name=nobody/has-this"])
    assert phase(made, "model").what == "fetch nobody/has-this"


@pytest.mark.parametrize(("cards", "actors"), [(3, 2), (5, 4), (6, 4), (7, 4)])
def test_cards_that_nobody_counted_are_dealt_out_to_actors(cards: int, actors: int) -> None:
    made = plan(None, machine(cards))
    assert (made.config.rl.num_gpus, made.config.rl.gpus.actor) == (actors, actors)
    assert made.config.sft.workers == cards
    assert users(made)[-1] == ("sft",)


def test_cards_that_were_counted_are_not_and_the_refusal_names_values() -> None:
    with pytest.raises(FrameworkError, match=r"set rl\.prompts_per_step=6, or rl\.num_gpus=2 with"):
        plan(None, machine(3), ["rl.num_gpus=3"])


def test_no_more_pairs_are_judged_than_the_steps_use() -> None:
    assert plan(None, machine()).config.sft.pairs_per_family == 50
    assert "1 pass over the pairs" in phase(plan(None, machine()), "sft").what
    assert plan(None, machine(), ["sft.pairs_per_family=7"]).config.sft.pairs_per_family == 7
    assert plan(None, machine(), ["sft.epochs=1"]).config.sft.pairs_of_a_family == 1000


def test_a_disk_holds_the_run_and_what_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path))
    room = {"free_disk_bytes": GB, "free_cache_bytes": GB}
    assert plan("quick", machine(**room)), "two disks of a gigabyte each"
    with pytest.raises(StorageError, match=r"0\.4 GB for fetching smollm2"):
        plan("quick", machine(**room, one_disk=True))


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    looked = look_at_machine(tmp_path / "file" / "runs")
    with pytest.raises(StorageError, match="is a file: name another folder"):
        plan("quick", machine(runs_refused_because=looked.runs_refused_because))
    assert not look_at_machine(tmp_path / "new" / "runs").runs_refused_because


def test_a_machine_without_a_gpu_is_not_told_to_install_vllm() -> None:
    bare = machine().model_copy(update={"packages": PACKAGES - {"vllm"}})
    with pytest.raises(NotAvailableError, match="--config quick or --config cpu") as refused:
        plan("one_gpu", bare)
    assert "vllm" not in str(refused.value)


def test_a_training_without_gpus_keeps_its_models_off_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv(DEVICE_VARIABLE, "")
    assert default_device() == "cuda"
    keep_to_cpu()
    assert default_device() == "cpu"
