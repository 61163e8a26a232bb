"""The README's training snippet, as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.config import load_config
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")


@pytest.mark.slow
async def test_training_set_up_as_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = write_kernel_words_model(tmp_path / "model", "vector_add")
    config = load_config(
        "quick",
        values={
            "model.name": str(model),
            "tasks.train": ["vector_add"],
            "conversation.max_turns": 2,
            "conversation.max_prompt_tokens": 512,
            "conversation.max_response_tokens": 16,
            "rl.steps": 1,
            "rl.prompts_per_step": 1,
            "rl.lora_rank": 4,
        },
    )
    conversation_manager = MultiTurnConversationManager(config.conversation)
    reward_function = CUDAPerformanceReward(config.reward)

    trainer = MultiAgentVERLTrainer(config, conversation_manager, reward_function)
    result = await trainer.train()

    assert result.steps == 1
    assert (result.model_path / "config.json").is_file()
    assert (tmp_path / "logs" / "training.log").is_symlink()
