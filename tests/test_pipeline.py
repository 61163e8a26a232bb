"""The whole story on a tiny model, stopped in the middle and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coding_framework.config import load_config
from coding_framework.errors import ConfigError, UserError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.pipeline import start_run
from coding_framework.training.plan.changes import resume_config
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import TrainingPlan
from tiny_model import write_tiny_model

pytest.importorskip("torch")

SETTINGS = (
    "rl.enabled=false",
    "sft.pairs=6",
    "sft.batch_size=1",
    "sft.checkpoint_every=1",
    "sft.max_length=2600",
    "conversation.max_response_tokens=24",
    "evaluation.samples_per_task=1",
    "evaluation.include_train_tasks=false",
    'monitoring.sinks=["tensorboard"]',
    'tasks.held_out=["scale", "gelu"]',
)


def train(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "coding_framework.cli.main", "train", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_ctrl_c_in_the_middle_keeps_what_was_done_and_resume_finishes_it(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = write_tiny_model(tmp_path / "model", context=4096)
    options = [f"--set={setting}" for setting in (*SETTINGS, f"model.name={model}", "sft.steps=120")]
    first = train(tmp_path, "--config", "quick", *options)
    run = _wait_for_metrics(tmp_path / "runs", first)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=300)
    assert first.returncode == 130, errors
    assert f"--resume {run.path}" in errors.replace("\n", "")
    assert run.report_file.is_file()
    done_before = len(list(run.read_metrics()))
    assert 0 < done_before < 120

    second = train(tmp_path, "--resume", str(run.path), "--json")
    out, errors = second.communicate(timeout=300)
    assert second.returncode == 0, errors
    outcome = json.loads(out)
    assert Path(outcome["report"]).is_file()
    assert [model["label"] for model in outcome["evaluation"]["models"]] == ["base", "sft"]
    steps = [point.step for point in run.read_metrics() if point.phase == "sft"]
    assert steps == sorted(set(steps)), "no step was done twice"
    assert steps[-1] == 120
    sink = EventAccumulator(str(next((run.path / "tensorboard").iterdir())), size_guidance={"scalars": 0})
    sink.Reload()
    assert [event.step for event in sink.Scalars("sft/loss")] == steps
    assert outcome["sinks_failed"] == {}
    assert (tmp_path / "logs" / "training.log").resolve() == run.log_file.resolve()

    third = train(tmp_path, "--resume", str(run.path), "--json")
    again, errors = third.communicate(timeout=300)
    assert third.returncode == 0, errors
    assert json.loads(again)["evaluation"] == outcome["evaluation"], "a finished run is not done again"


def begin(*overrides: str) -> RunFolder:
    return start_run(make_plan(load_config("quick", overrides), look_at_machine()))


def test_a_run_remembers_its_settled_config_and_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = make_plan(load_config("quick", ["rl.steps=9"]), look_at_machine())
    run = start_run(plan)
    assert resume_config(run) == plan.config
    kept = TrainingPlan.model_validate_json((run.path / "plan.json").read_bytes())
    assert kept == plan.model_copy(update={"folder": run.path})
    assert resume_config(run, ["monitoring.sample_every_s=1"]).monitoring.sample_every_s == 1
    again = make_plan(resume_config(run), look_at_machine(), run)
    assert (again.config, again.settled, again.resumes) == (plan.config, plan.settled, True)
    assert start_run(again) == run


def test_a_folder_that_cannot_be_resumed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder.open(tmp_path)
    run = begin()
    (run.path / "config.json").write_text('{"unknown": 1}')
    with pytest.raises(ConfigError, match="not a config of this version"):
        resume_config(run)


def _wait_for_metrics(runs: Path, process: subprocess.Popen[str]) -> RunFolder:
    """Until some steps of SFT are done."""
    for _ in range(600):
        if process.poll() is not None:
            raise AssertionError(process.communicate()[1])
        for metrics in runs.glob("*/metrics.jsonl"):
            if metrics.read_text().count("\n") >= 3:
                return RunFolder.open(metrics.parent)
        time.sleep(0.1)
    raise AssertionError("no step within a minute")
