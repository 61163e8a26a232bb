"""Each agent gets an adapter from its own pairs, and speaks with it wherever the folder is opened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.config import FrameworkConfig, SFTConfig
from coding_framework.errors import ConfigError, ModelNotFoundError, TrainingInterrupted, UserError
from coding_framework.pipeline import evaluate_once
from coding_framework.records import AgentRole, GenerationRequest, Message
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.sft.by_agent import planned_steps, run_sft_by_agent
from coding_framework.training.sft.results import SFTResult, SFTStep
from tiny_model import write_tiny_model


class Pair(NamedTuple):
    agent: AgentRole
    messages: tuple[Message, ...]
    answer: str


ANSWERS: dict[AgentRole, str] = {"generator": "aaaa", "optimizer": "bbbb"}
"""The same question has another answer for each."""
QUESTION = (Message(role="user", content="say"),)
PAIRS = [Pair(role, QUESTION, answer) for role, answer in ANSWERS.items() for _ in range(4)]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), context=4096)


def settings(**changes: Any) -> SFTConfig:
    values: dict[str, Any] = {
        "adapters": "per_agent",
        "steps": 30,
        "batch_size": 4,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "checkpoint_every": 10,
        "max_length": 64,
        "lora_rank": 16,
    }
    return SFTConfig(**{**values, **changes})


@pytest.fixture(scope="module")
def trained(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> SFTResult:
    return run_sft_by_agent(PAIRS, settings(), model_path, tmp_path_factory.mktemp("sft"))


async def ask(folder: Path, role: AgentRole) -> str:
    model = open_chat_model(str(folder))
    request = GenerationRequest(agent=role, messages=QUESTION, max_tokens=8)
    return (await model.generate(request)).text


async def test_each_agent_says_what_it_was_taught_and_the_tester_what_the_model_says(
    trained: SFTResult, model_path: Path
) -> None:
    for role, answer in ANSWERS.items():
        assert await ask(trained.model_dir, role) == answer
    assert await ask(trained.model_dir, "tester") == await ask(model_path, "tester")


def test_a_stopped_run_goes_on_with_the_agent_that_it_had_come_to(
    trained: SFTResult, model_path: Path, tmp_path: Path
) -> None:
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        run_sft_by_agent(
            PAIRS,
            settings(),
            model_path,
            tmp_path,
            on_step=lambda step: seen.append(step.step),
            should_stop=lambda: len(seen) == 45,
        )
    starts: list[int] = []
    steps: list[SFTStep] = []
    resumed = run_sft_by_agent(
        PAIRS, settings(), model_path, tmp_path, on_start=starts.append, on_step=steps.append, resume=True
    )
    assert seen == list(range(1, 46))
    assert starts == [45]
    assert [(step.step, step.steps) for step in steps] == [(number, 60) for number in range(46, 61)]
    assert resumed.losses == trained.losses
    assert planned_steps(PAIRS, settings(), model_path) == 60


def test_pairs_that_are_too_long_are_no_steps_of_an_epoch(model_path: Path, tmp_path: Path) -> None:
    long = [Pair("generator", QUESTION, "a" * 80) for _ in range(3)]
    pairs, config = [*long, *PAIRS], settings(steps=None, epochs=2, batch_size=2, checkpoint_every=2)
    seen: list[SFTStep] = []
    with pytest.raises(TrainingInterrupted):
        run_sft_by_agent(
            pairs, config, model_path, tmp_path, on_step=seen.append, should_stop=lambda: len(seen) == 7
        )
    starts: list[int] = []
    result = run_sft_by_agent(
        pairs, config, model_path, tmp_path, on_start=starts.append, on_step=seen.append, resume=True
    )
    assert starts == [7]
    assert [(step.step, step.steps) for step in seen] == [(number, 8) for number in range(1, 9)]
    assert planned_steps(pairs, config, model_path) == len(result.losses) == 8
    assert planned_steps(pairs, config.model_copy(update={"adapters": "shared"}), model_path) == 8
    assert result.pairs_too_long == 3


def test_the_folder_is_evaluated_like_a_model(
    trained: SFTResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    from coding_framework.agents.models.by_agent import ChatModelByAgent

    generate = ChatModelByAgent.generate

    async def listening(self: Any, request: GenerationRequest) -> Any:
        answer = await generate(self, request)
        heard.append(f"{request.agent}: {answer.text}")
        return answer

    monkeypatch.setattr(ChatModelByAgent, "generate", listening)
    config = FrameworkConfig.model_validate(
        {
            "model": {"name": str(trained.model_dir)},
            "tasks": {"train": ["vector_add"], "held_out": ["scale"]},
            "conversation": {"max_response_tokens": 16},
            "evaluation": {"samples_per_task": 1, "max_turns": 2, "temperature": 0},
            "sft": {"max_length": 64},
        }
    )
    result = asyncio.run(evaluate_once(config, tmp_path / "evaluation"))
    assert result.model == str(trained.model_dir)
    assert result.tasks[0].samples == 1
    assert {line.partition(":")[0] for line in heard} == {"generator", "optimizer"}


def test_an_agent_without_pairs_is_refused(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="adapter of optimizer"):
        run_sft_by_agent(PAIRS[:4], settings(), model_path, tmp_path)


def test_a_folder_whose_adapter_is_gone_is_refused(model_path: Path, tmp_path: Path) -> None:
    (tmp_path / "agents.json").write_text(
        f'{{"model": "{model_path}", "adapters": {{"optimizer": "nowhere"}}}}'
    )
    with pytest.raises(ModelNotFoundError, match="nowhere"):
        open_chat_model(str(tmp_path))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"sft": {"adapters": "per_agent"}}, "rl.enabled=false"),
        ({"model": {"name": "{folder}"}}, "has weights of single agents"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_the_plan(
    trained: SFTResult, config: dict[str, Any], words: str
) -> None:
    named = {"model": {"name": str(trained.model_dir)}} if "model" in config else config
    with pytest.raises(ConfigError, match=words):
        make_plan(FrameworkConfig.model_validate(named), look_at_machine())


@pytest.mark.parametrize("changes", [{"method": "full"}, {"agents": ("tester",)}])
def test_what_gives_no_adapter_is_refused_by_the_config(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="per_agent"):
        settings(**changes)
