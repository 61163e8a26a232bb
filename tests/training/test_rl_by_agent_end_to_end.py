"""Generator and optimizer each learn with a policy of their own, through verl, Ray and the judge."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.agents.models.agent_folder import AgentFolder
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.config import ConversationConfig, FrameworkConfig, JudgeConfig, RLConfig
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import AgentRole, Conversation, GenerationRequest, Message
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.openings import read_openings
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

TASK = "vector_add"
CONFIG = FrameworkConfig(
    rl=RLConfig(
        adapters="per_agent",
        steps=1,
        prompts_per_step=2,
        group_size=4,
        save_every=1,
        learning_rate=1e-2,
        lora_rank=4,
        num_gpus=0,
    ),
    conversation=ConversationConfig(
        max_turns=3, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=0.5
    ),
    judge=JudgeConfig(executor="emulator", workers=1),
)


async def test_each_agent_learns_and_speaks_with_its_own_weights(tmp_path: Path) -> None:
    """One story, because every start of Ray costs half a minute."""
    starts = _two_models(tmp_path)
    run = RunFolder.create(tmp_path, "run", CONFIG.model_dump_json())
    seen: dict[int, dict[str, float]] = {}

    def trainer() -> MultiAgentVERLTrainer:
        return MultiAgentVERLTrainer(
            CONFIG,
            MultiTurnConversationManager(CONFIG.conversation),
            CUDAPerformanceReward(CONFIG.reward),
            run_dir=run.path,
            model_path=starts,
            tasks=[TASK],
            on_step=seen.__setitem__,
            resume=True,
        )

    result = await trainer().train()
    assert list(seen) == [1, 2], "the optimizer's step follows the generator's"
    assert result.steps == 2
    assert all(values["episodes"] == 8 and values["episodes_lost"] == 0 for values in seen.values())
    conversations = list(run.read_conversations())
    _the_generator_wrote_first_kernels([one for one in conversations if one.step == 1])
    _the_optimizer_went_on_from_openings(run, [one for one in conversations if one.step == 2])
    await _everyone_speaks_with_its_own_weights(result.model_path)

    seen.clear()
    assert await trainer().train() == result
    assert not seen, "what is finished is not done again"


def _two_models(folder: Path) -> Path:
    """A folder in which each agent has a model: the optimizer's is the other one with larger last weights."""
    import torch
    from transformers import AutoModelForCausalLM

    generator = write_kernel_words_model(folder / "models" / "generator", TASK)
    shutil.copytree(generator, folder / "models" / "optimizer")
    model = AutoModelForCausalLM.from_pretrained(generator)
    with torch.no_grad():
        model.lm_head.weight.mul_(2)
    model.save_pretrained(folder / "models" / "optimizer")
    AgentFolder(model=Path("generator"), models={"optimizer": Path("optimizer")}).write(folder / "models")
    return folder / "models"


def _the_generator_wrote_first_kernels(conversations: list[Conversation]) -> None:
    assert len(conversations) == 8
    for one in conversations:
        assert [turn.agent for turn in one.turns] == ["generator"]
        assert (one.max_turns, one.opening_turns) == (1, 0)


def _the_optimizer_went_on_from_openings(run: RunFolder, conversations: list[Conversation]) -> None:
    openings = read_openings(run.path / "rl" / "optimizer" / "openings.jsonl")
    first_turns = [one.turns[0] for one in openings.values() if one.is_open]
    assert len(conversations) == 8
    assert len({one.turns[0].model_dump_json() for one in conversations}) <= 2, "one of each group"
    for one in conversations:
        assert one.opening_turns == 1
        assert one.turns[0] in first_turns
        assert one.own_turns
        assert all(turn.agent == "optimizer" and turn.generation.log_probs for turn in one.own_turns)


async def _everyone_speaks_with_its_own_weights(folder: Path) -> None:
    together = open_chat_model(str(folder))
    roles: tuple[AgentRole, ...] = ("generator", "optimizer")
    said = {}
    for role in roles:
        request = GenerationRequest(
            agent=role, messages=(Message(role="user", content="text"),), max_tokens=8, seed=3
        )
        said[role] = await together.generate(request)
        assert said[role] == await open_chat_model(str(folder / role)).generate(request)
    assert said["generator"].log_probs != said["optimizer"].log_probs
