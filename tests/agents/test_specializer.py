"""Each agent has its own prompt, adapter and reward."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from coding_framework.agents import prompts
from coding_framework.agents.models.by_agent import ChatModelByAgent
from coding_framework.agents.specializer import AGENT_ROLES, AGENT_WEIGHTS, AgentSpecializer
from coding_framework.config import RewardConfig, RewardWeights
from coding_framework.data.tasks import get_task
from coding_framework.errors import ConfigError, ModelNotFoundError
from coding_framework.records import AgentRole, Candidate, Generation, GenerationRequest, Message, Verdict
from tests_support import EvaluationFactory
from tiny_model import write_tiny_model


def test_each_agent_is_asked_in_its_own_way(evaluations: EvaluationFactory) -> None:
    agents, task = AgentSpecializer(), get_task("scale")
    failed = evaluations.failed(Verdict.COMPILE_ERROR)
    candidate = Candidate(source="// kernel")
    assert agents.generator.messages(task) == prompts.generator_messages(task)
    assert agents.optimizer.messages(task, last=failed) == prompts.optimizer_messages(task, failed, None)
    assert agents.tester.messages(task, candidate=candidate) == prompts.tester_messages(task, candidate)
    systems = {
        agents.generator.messages(task)[0].content,
        agents.optimizer.messages(task, last=failed)[0].content,
        agents.tester.messages(task, candidate=candidate)[0].content,
    }
    assert len(systems) == 3


def test_an_agent_that_is_asked_about_nothing_says_what_it_needs() -> None:
    agents, task = AgentSpecializer(), get_task("scale")
    with pytest.raises(ConfigError, match="give `last`"):
        agents.optimizer.messages(task)
    with pytest.raises(ConfigError, match="give `candidate`"):
        agents.tester.messages(task)


def test_the_generator_is_paid_for_being_right_and_the_optimizer_for_being_fast() -> None:
    agents = AgentSpecializer()
    generator, optimizer = agents.generator.reward.weights, agents.optimizer.reward.weights
    assert generator.correctness > optimizer.correctness
    assert optimizer.performance > generator.performance
    assert agents.reward.agents == AGENT_WEIGHTS


def test_configured_weights_win() -> None:
    own = RewardWeights(compilation=0.0, correctness=1.0, performance=0.0, efficiency=0.0, quality=0.0)
    one = AgentSpecializer(reward=RewardConfig(agents={"optimizer": own}))
    assert one.optimizer.reward.weights == own
    assert one.generator.reward.weights == AGENT_WEIGHTS["generator"]
    everyone = AgentSpecializer(reward=RewardConfig(weights=own))
    assert {everyone[role].reward.weights.correctness for role in AGENT_ROLES} == {1.0}


def test_adapters_that_are_not_there_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"adapter_config\.json"):
        AgentSpecializer(adapters={"optimizer": tmp_path})
    unknown: Any = {"painter": tmp_path}
    with pytest.raises(ConfigError, match="generator, optimizer, tester"):
        AgentSpecializer(adapters=unknown)


def test_only_agents_with_an_adapter_are_listed(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 8}))
    agents = AgentSpecializer(adapters={"optimizer": tmp_path})
    assert agents.adapters == {"optimizer": tmp_path}
    assert agents.generator.adapter is None


class Echo:
    """Answers with its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, request: GenerationRequest) -> Generation:
        return Generation(text=f"{self.name}: {request.messages[-1].content}")


def request(agent: AgentRole, words: str = "hello") -> GenerationRequest:
    return GenerationRequest(agent=agent, messages=(Message(role="user", content=words),), max_tokens=4)


async def test_a_request_goes_to_the_model_of_its_agent() -> None:
    model = ChatModelByAgent(Echo("base"), {"optimizer": Echo("fast")})
    answers = [(await model.generate(request(agent))).text for agent in AGENT_ROLES]
    assert answers == ["base: hello", "fast: hello", "base: hello"]


def test_an_adapter_changes_its_own_agents_answers_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("peft")
    from coding_framework.agents.models.chat_model import SamplingSettings

    base = write_tiny_model(tmp_path / "model")
    adapter = write_adapter(base, tmp_path / "adapter")
    agents = AgentSpecializer(adapters={"optimizer": adapter})
    greedy = SamplingSettings(temperature=0)
    model, plain = (
        agents.chat_model(str(base), settings=greedy),
        AgentSpecializer().chat_model(str(base), settings=greedy),
    )

    async def ids(model: Any, agent: AgentRole) -> tuple[int, ...]:
        return (await model.generate(request(agent))).token_ids

    async def all_ids() -> list[tuple[int, ...]]:
        return [await ids(plain, "generator"), await ids(model, "generator"), await ids(model, "optimizer")]

    unadapted, generator, optimizer = asyncio.run(all_ids())
    assert generator == unadapted
    assert optimizer != unadapted


def write_adapter(base: Path, folder: Path) -> Path:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    adapted = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            weight.data.normal_(std=1.0)
    adapted.save_pretrained(str(folder))
    return folder
