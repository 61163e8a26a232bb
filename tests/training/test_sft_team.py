"""Two processes share each step and learn what one learns; one that dies is named, and none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import psutil
import torch
from safetensors.torch import load_file

from coding_framework.agents.models.loading import compute_dtype
from coding_framework.config import FrameworkConfig, SFTConfig
from coding_framework.errors import TrainingError, TrainingInterrupted
from coding_framework.records import Message
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.sft.results import SFTResult, SFTStep
from coding_framework.training.sft.trainer import run_sft
from tiny_model import write_tiny_model

ROUNDING = 1e-4 if compute_dtype("cpu") == "float32" else 2e-2


class Pair(NamedTuple):
    messages: tuple[Message, ...]
    answer: str


QUESTIONS = {"a": "alpha", "b": "beta beta", "c": "gamma", "d": "delta!", "e": "epsilon", "f": "f"}
PAIRS = [Pair((Message(role="user", content=q),), a) for q, a in QUESTIONS.items()]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def settings(**changes: Any) -> SFTConfig:
    values: dict[str, Any] = {
        "steps": 6,
        "batch_size": 3,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "checkpoint_every": 2,
        "max_length": 64,
        "lora_rank": 8,
        "workers": 2,
    }
    return SFTConfig(**{**values, **changes})


SFT_WORKER = "coding_framework.training.sft.worker_main"


def processes() -> list[int]:
    """Of the team, in the order in which they were started."""
    children = psutil.Process().children(recursive=True)
    return sorted(child.pid for child in children if SFT_WORKER in child.cmdline())


def train(
    model_path: Path, folder: Path, config: SFTConfig, attention: str = "sdpa", **options: Any
) -> SFTResult:
    return run_sft(PAIRS, config, model_path, folder, attention=attention, seed=5, **options)


def trained(result: SFTResult) -> torch.Tensor:
    """All weights of the adapter, in one row."""
    assert result.adapter_dir is not None
    weights = load_file(result.adapter_dir / "adapter_model.safetensors")
    return torch.cat([weights[name].flatten() for name in sorted(weights)])


@pytest.mark.parametrize(
    ("attention", "changes"), [("sdpa", {}), ("packed", {"batch_tokens": 64})], ids=["padded", "packed"]
)
def test_two_processes_learn_what_one_learns(
    model_path: Path, tmp_path: Path, attention: str, changes: dict[str, Any]
) -> None:
    alone = train(model_path, tmp_path / "one", settings(workers=1, **changes), attention)
    steps: list[SFTStep] = []
    together = train(model_path, tmp_path / "two", settings(**changes), attention, on_step=steps.append)
    assert together.losses == pytest.approx(alone.losses, rel=ROUNDING)
    assert together.losses == tuple(step.loss for step in steps)
    assert all(step.split.exchange_s > 0 for step in steps)
    one, two = trained(alone), trained(together)
    assert torch.linalg.vector_norm(one - two) < 2.5 * ROUNDING * torch.linalg.vector_norm(one)
    assert processes() == []


def test_a_stopped_team_is_resumed_by_one_process_even_where_some_steps_leave_one_idle(
    model_path: Path, tmp_path: Path
) -> None:
    few = {"batch_size": 1, "checkpoint_every": 100}
    whole = train(model_path, tmp_path / "whole", settings(workers=1, **few))
    steps: list[SFTStep] = []
    with pytest.raises(TrainingInterrupted, match="step 3 of 6"):
        train(
            model_path,
            tmp_path / "parts",
            settings(**few),
            on_step=steps.append,
            should_stop=lambda: len(steps) == 3,
        )
    assert processes() == []
    resumed = train(model_path, tmp_path / "parts", settings(workers=1, **few), resume=True)
    assert resumed.losses == pytest.approx(whole.losses, rel=ROUNDING)


def at_step(number: int, act: Callable[[], object]) -> Callable[[SFTStep], None]:
    return lambda step: act() if step.step == number else None  # type: ignore[return-value]


def test_a_killed_process_is_named_and_the_rest_of_the_run_can_be_made(
    model_path: Path, tmp_path: Path
) -> None:
    def kill_the_second() -> None:
        os.kill(processes()[1], signal.SIGKILL)

    with pytest.raises(TrainingError, match=r"SFT process 2 of 2 was ended by signal 9.*--resume"):
        train(model_path, tmp_path, settings(), on_step=at_step(3, kill_the_second))
    assert processes() == []
    seen: list[int] = []
    later = {"on_start": seen.append, "on_step": lambda step: seen.append(step.step)}
    train(model_path, tmp_path, settings(), resume=True, **later)
    assert seen == [2, 3, 4, 5, 6]


def test_the_processes_end_with_the_one_that_started_them(model_path: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import test_sft_team as t\n"
        "folders = [Path(name) for name in sys.argv[1:]]\n"
        "t.train(*folders, t.settings(steps=1000), on_step=lambda step: print(step.step))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", program, str(model_path), str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        team = [psutil.Process(pid) for pid in processes()]
        parent.kill()
    assert len(team) == 2
    assert psutil.wait_procs(team, timeout=10)[1] == []


def test_what_goes_wrong_in_a_process_is_said_in_its_own_words(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"lower sft\.learning_rate"):
        train(model_path, tmp_path, settings(learning_rate=1e30))
    assert processes() == []


@pytest.mark.parametrize(
    ("cards", "config", "expected"),
    [
        (0, {}, 1),
        (4, {}, 4),
        (4, {"rl": {"num_gpus": 2}}, 2),
        (4, {"sft": {"workers": 3}}, 3),
        (0, {"sft": {"workers": 2}}, 2),
    ],
)
def test_there_is_a_process_for_each_gpu(cards: int, config: dict[str, Any], expected: int) -> None:
    card = Card(name="a card", memory_bytes=80 * 2**30)
    machine = Machine(cores=8, memory_bytes=2**36, cards=(card,) * cards)
    assert resolve(FrameworkConfig.model_validate(config), machine).sft.workers == expected
