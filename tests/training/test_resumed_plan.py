"""The plan of a run that is taken up again: what is done, what is done again, what is settled anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.cli.train import run_training
from coding_framework.config import load_config
from coding_framework.errors import ConfigError, FrameworkError, StorageError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.pipeline import PhaseDone, Pipeline, TrainingOutcome, start_run
from coding_framework.training.plan.changes import resume_config
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import PhasePlan, TrainingPlan

GB = 10**9
PACKAGES = frozenset(
    {"torch", "transformers", "peft", "verl", "ray", "vllm", "transfer_queue", "tensordict", "pyarrow"}
)
_TASKS = load_config("quick").tasks
SAMPLES = 8 * len(_TASKS.train + _TASKS.held_out)
"""That the quick evaluation takes of a model."""
WITHOUT_GPU = Machine(cores=2, memory_bytes=32 * GB, packages=PACKAGES)


def with_gpus(number: int) -> Machine:
    cards = (Card(name="80 GB", memory_bytes=80 * GB),) * number
    return Machine(cores=16, memory_bytes=256 * GB, packages=PACKAGES, cards=cards)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def begun(*overrides: str, machine: Machine = WITHOUT_GPU) -> RunFolder:
    return start_run(make_plan(load_config("quick", overrides), machine))


def done(run: RunFolder, name: str, count: int = 1, **more: float) -> None:
    run.mark_done(name, PhaseDone.model_validate({"path": run.path, "count": count, **more}))


def after_sft(*overrides: str, steps: int = 2, epochs: float | None = None) -> RunFolder:
    run = begun(f"sft.steps={steps}" if epochs is None else f"sft.epochs={epochs}", *overrides)
    (run.path / "sft").mkdir()
    done(run, "model")
    done(run, "pairs", 240)
    more = {"asked": steps} | ({} if epochs is None else {"epochs": epochs})
    done(run, "sft", steps, **more)
    for name in ("evaluation_base", "evaluation_sft", "evaluation"):
        done(run, name, SAMPLES)
    return run


def after_rl(steps: int = 4) -> RunFolder:
    run = after_sft(f"rl.steps={steps}")
    (run.path / "rl").mkdir()
    done(run, "rl", steps)
    done(run, "evaluation_rl", SAMPLES)
    return run


def resumed(run: RunFolder, *overrides: str, machine: Machine = WITHOUT_GPU) -> TrainingPlan:
    return make_plan(resume_config(run, overrides), machine, run)


def phases(plan: TrainingPlan) -> dict[str, PhasePlan]:
    return {one.name: one for one in plan.phases}


def test_a_finished_run_has_nothing_left_to_do() -> None:
    assert all(one.finished for one in resumed(after_sft("rl.enabled=false")).phases)
    assert all(one.finished for one in resumed(after_rl()).phases)


def test_more_sft_is_still_to_be_done_and_evaluated() -> None:
    found = phases(resumed(after_sft("rl.enabled=false"), "sft.steps=3"))
    assert (found["sft"].finished, found["sft"].steps, found["sft"].steps_done) == (False, 3, 2)
    assert (found["pairs"].finished, found["evaluation"].finished) == (True, False)
    assert found["evaluation"].what.endswith("1 of the models done")


def test_more_samples_of_each_task_are_still_to_be_taken() -> None:
    plan = resumed(after_sft("rl.enabled=false"), "evaluation.samples_per_task=16")
    assert not phases(plan)["evaluation"].finished


def test_more_passes_are_more_sft_and_as_many_are_not() -> None:
    run = after_sft("rl.enabled=false", steps=58, epochs=1)
    assert phases(resumed(run))["sft"].finished, "some pairs may have been too long: steps do not decide"
    assert not phases(resumed(run, "sft.epochs=2"))["sft"].finished


def test_rl_that_is_added_is_not_done_and_not_evaluated() -> None:
    found = phases(resumed(after_sft("rl.enabled=false"), "rl.enabled=true"))
    assert found["sft"].finished
    assert (found["rl"].finished, found["evaluation"].finished) == (False, False)
    assert found["evaluation"].what.endswith("2 of the models done")


def test_more_rl_goes_on_and_more_sft_makes_it_begin_anew() -> None:
    more_rl = phases(resumed(after_rl(), "rl.steps=8"))
    assert (more_rl["rl"].finished, more_rl["rl"].steps, more_rl["rl"].steps_done) == (False, 8, 4)
    assert (more_rl["sft"].finished, more_rl["evaluation"].finished) == (True, False)
    more_sft = phases(resumed(after_rl(), "sft.steps=3"))
    assert (more_sft["rl"].finished, more_sft["rl"].steps_done) == (False, 0)
    assert more_sft["evaluation"].what.endswith("1 of the models done")


@pytest.mark.parametrize("override", ["sft.steps=1", "rl.steps=3"])
def test_steps_that_were_made_cannot_be_taken_back(override: str) -> None:
    with pytest.raises(ConfigError, match="it can be extended, not shortened"):
        resumed(after_rl(), override)


def test_rl_of_a_run_without_a_gpu_may_be_made_on_one() -> None:
    made = resumed(after_sft(), "rl.num_gpus=1", machine=with_gpus(1))
    config = made.config
    assert (config.rl.rollout, config.model.dtype, config.model.attention) == ("vllm", "bfloat16", "packed")
    assert config.judge.executor == "emulator", "models that are compared are judged in the same way"
    assert resumed(after_sft(), "rl.num_gpus=2", machine=with_gpus(8)).config.rl.gpus.actor == 2


def test_a_run_keeps_to_the_cpu_unless_it_is_asked_otherwise() -> None:
    run = after_sft()
    first = TrainingPlan.model_validate_json((run.path / "plan.json").read_bytes())
    again = resumed(run, machine=with_gpus(1))
    assert again.config == first.config
    assert again.settled == first.settled


def test_sft_that_is_half_way_keeps_its_rows() -> None:
    run = begun()
    (run.path / "sft" / "checkpoints" / "step_16").mkdir(parents=True)
    assert resumed(run, "rl.num_gpus=1", machine=with_gpus(1)).config.model.attention == "sdpa"


def test_before_anything_was_made_everything_but_the_folder_may_change() -> None:
    run = begun("judge.compile_flags=['--use_fast_math']")
    done(run, "model")
    config = resume_config(run, ["judge.compile_flags=[]", "sft.max_length=800", "rl.num_gpus=1"])
    assert (config.judge.compile_flags, config.sft.max_length) == ((), 800)
    assert make_plan(config, with_gpus(1), run).config.judge.executor == "gpu"
    with pytest.raises(ConfigError, match=r"run\.name cannot change"):
        resume_config(run, ["run.name=other"])
    with pytest.raises(ConfigError, match=r"sft\.max_length cannot change"):
        resume_config(after_sft(), ["sft.max_length=800"])


def test_a_typo_beside_resume_is_called_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'steps'"):
        resume_config(after_sft(), ["sft.stepz=3"])


def test_a_damaged_config_is_explained_without_the_words_of_a_library() -> None:
    run = after_sft()
    (run.path / "config.json").write_text('{"rl": {"steps": 0}}')
    with pytest.raises(ConfigError, match=r"not a config of this version: rl\.steps must be at least 1"):
        resume_config(run)


def failing_training(
    monkeypatch: pytest.MonkeyPatch, error: FrameworkError, *, makes_pairs: bool = False
) -> tuple[FrameworkError, TrainingPlan]:
    """A new run whose pipeline raises `error`, perhaps after its pairs."""

    async def fail(pipeline: Pipeline) -> TrainingOutcome:
        if makes_pairs:
            done(pipeline.run, "pairs", 240)
        raise error

    monkeypatch.setattr(Pipeline, "train", fail)
    plan = make_plan(load_config("quick"), WITHOUT_GPU)
    with pytest.raises(type(error)) as caught:
        run_training(plan)
    return caught.value, plan


def test_a_wrong_setting_that_is_found_before_anything_was_made_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    error, _ = failing_training(monkeypatch, ConfigError("wrong"))
    assert "start again once that is changed" in error.__notes__[0]
    assert "--resume" not in error.__notes__[0]
    assert not list((tmp_path / "runs").iterdir())
    assert not (tmp_path / "logs").exists()


def test_what_was_made_is_kept_and_can_be_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    error, plan = failing_training(monkeypatch, ConfigError("wrong"), makes_pairs=True)
    assert "can be changed in a new run only" in error.__notes__[0]
    assert f"--resume {plan.folder.resolve()}" in error.__notes__[0]
    assert plan.folder.is_dir()


def test_a_fault_that_is_not_the_users_keeps_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    error, plan = failing_training(monkeypatch, StorageError("full"))
    assert f"--resume {plan.folder.resolve()}" in error.__notes__[0]
    assert plan.folder.is_dir()
