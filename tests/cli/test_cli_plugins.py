"""Rewards and models of a user's own that lie in the working folder, as the commands take them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coding_framework.cli.main import app
from coding_framework.errors import UserError
from coding_framework.monitoring.figure_records import ModelFigures
from coding_framework.records import Conversation

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
RECITER = '''
from coding_framework.data.tasks import get_task
from coding_framework.records import Generation


class Reciter:
    """Knows one kernel by heart."""

    def __init__(self, settings):
        self.settings = settings

    async def generate(self, request):
        return Generation(text=f"```cuda\\n{get_task('scale').baseline}\\n```")


class Forgetful(Reciter):
    async def generate(self, request):
        raise KeyError("the kernel")


class Silent(Reciter):
    async def generate(self, request):
        return None


class Waiting(Reciter):
    def generate(self, request):
        return Generation(text="")


def knows_row_sum_alone(evaluation, earlier):
    from coding_framework.records import RewardComponents

    value = {"row_sum": 0.5}[evaluation.task]
    return RewardComponents(preset="own", parts={"all": value}, total=value, explanation="own")
'''
ONE_TASK = [
    f"--set={setting}"
    for setting in (
        'tasks.held_out=["scale"]',
        'tasks.train=["vector_add"]',
        "evaluation.include_train_tasks=false",
        "evaluation.samples_per_task=2",
        "judge.executor=emulator",
        "judge.workers=1",
    )
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the user stands."""
    (tmp_path / "reciter.py").write_text(RECITER)
    shutil.copy(EXAMPLES / "short_kernels.py", tmp_path)
    return tmp_path


def cuda_rl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the installed command, which does not look into the working folder by itself."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "coding_framework.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )


def test_a_model_and_a_reward_of_ones_own_in_optimize(folder: Path) -> None:
    own = ("--model", "reciter:Reciter", "--set", "reward.function=short_kernels:ShortKernels")
    answer = cuda_rl(
        folder, "optimize", "scale", *own, "--turns", "1", "--executor", "emulator", "--out", "o"
    )
    assert answer.returncode == 11, answer.stderr
    conversation = Conversation.model_validate_json((folder / "o" / "conversations.jsonl").read_text())
    (turn,) = conversation.turns
    assert turn.evaluation.passed
    assert turn.reward.preset == "short_kernels"
    assert json.loads((folder / "o" / "settings.json").read_text())["model"] == "reciter:Reciter"


def test_a_model_of_ones_own_is_evaluated(folder: Path) -> None:
    answer = cuda_rl(folder, "evaluate", "reciter:Reciter", *ONE_TASK, "--json")
    assert answer.returncode == 0, answer.stderr
    model = ModelFigures.model_validate(json.loads(answer.stdout)["figures"])
    assert (model.model, model.settings.engine) == ("reciter:Reciter", "own")
    assert [(one.task.name, one.passed, one.samples) for one in model.tasks] == [("scale", 2, 2)]


def test_a_reward_that_fails_in_an_evaluation_ends_it_with_its_name_task_and_line(folder: Path) -> None:
    own = ("evaluate", "reciter:Reciter", "--set", "reward.function=reciter:knows_row_sum_alone")
    answer = cuda_rl(folder, *own, *ONE_TASK)
    assert answer.returncode == 2
    words = " ".join(answer.stderr.split())
    assert "reward.function reciter:knows_row_sum_alone raised KeyError: 'scale' (reciter.py, line" in words
    assert "on a kernel for scale (passed); nothing was rewarded" in words


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("evaluate", "reciter:Forgetful", *ONE_TASK),
            "the model reciter:Forgetful raised KeyError: 'the kernel' (reciter.py, line",
        ),
        (("evaluate", "reciter:Silent", *ONE_TASK), "gave a NoneType instead of a Generation"),
        (("evaluate", "reciter:Waiting", *ONE_TASK), "a Waiting without `async def generate(self, request)`"),
        (("evaluate", "reciter:Recite", *ONE_TASK), "no attribute Recite; close to it: Reciter"),
        (("evaluate", "reciter:Reciter", "--set=model.dtype=float32"), "which dtype would not reach"),
        (("optimize", "scale", "--model", "reciter:Reciter", "--adapter", "."), "leave the adapter out"),
        (("train", "--plan", "--set=model.name=reciter:Reciter"), "must be weights that transformers loads"),
        (("bench", "sft", "--model", "reciter:Reciter"), "must be weights that transformers loads"),
    ],
)
def test_what_cannot_be_done_with_a_model_of_ones_own_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        result = CliRunner().invoke(app, arguments)
    finally:
        sys.modules.pop("reciter", None)
    assert isinstance(result.exception, UserError), result.output
    assert complaint in str(result.exception)


def test_the_plan_shows_a_reward_of_ones_own(folder: Path) -> None:
    own = "--set=reward.function=short_kernels:ShortKernels"
    answer = cuda_rl(folder, "train", "--config", "quick", "--plan", own)
    assert answer.returncode == 0, answer.stderr
    assert "short_kernels:ShortKernels (tried on recorded evaluations)" in answer.stdout
