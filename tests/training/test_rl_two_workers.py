"""Two FSDP2 workers on gloo train all weights through verl; they reach what samples, and the export."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model
from rollout_distance import distance_of_step

from coding_framework.config import (
    ConversationConfig,
    FrameworkConfig,
    GPUAllocation,
    JudgeConfig,
    RLConfig,
)
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

TASK = "vector_add"
CONFIG = FrameworkConfig(
    rl=RLConfig(
        steps=3,
        prompts_per_step=2,
        group_size=4,
        save_every=3,
        learning_rate=1e-2,
        lora_rank=0,
        num_gpus=0,
        gpus=GPUAllocation(actor=2),
    ),
    conversation=ConversationConfig(
        max_turns=1, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=0.5
    ),
    judge=JudgeConfig(executor="emulator", workers=1),
)


async def test_two_workers_train_one_model(tmp_path: Path) -> None:
    model = write_kernel_words_model(tmp_path / "model", TASK)
    run = RunFolder.create(tmp_path, "run", CONFIG.model_dump_json())
    seen: dict[int, dict[str, float]] = {}
    result = await MultiAgentVERLTrainer(
        CONFIG,
        MultiTurnConversationManager(CONFIG.conversation),
        CUDAPerformanceReward(CONFIG.reward),
        run_dir=run.path,
        model_path=model,
        tasks=[TASK],
        on_step=seen.__setitem__,
    ).train()

    assert list(seen) == [1, 2, 3]
    assert all(values["episodes"] == 8 and values["episodes_lost"] == 0 for values in seen.values())
    shards = sorted(path.name for path in (result.last_checkpoint / "actor").glob("model_world_size_*"))
    assert shards == ["model_world_size_2_rank_0.pt", "model_world_size_2_rank_1.pt"]
    _the_exported_model_was_trained(model, result.model_path)
    assert distance_of_step(run.path, model, 1) < 1e-4
    assert distance_of_step(run.path, model, 3) > 1e-2, "the policy moved, and what sampled moved with it"
    gaps = [values["logprob_gap"] for values in seen.values() if "logprob_gap" in values]
    assert gaps, "some step had a signal"
    assert max(gaps) < 1e-4


def _the_exported_model_was_trained(start: Path, exported: Path) -> None:
    from transformers import AutoModelForCausalLM

    old = AutoModelForCausalLM.from_pretrained(start).state_dict()
    new = AutoModelForCausalLM.from_pretrained(exported).state_dict()
    assert {name: tensor.shape for name, tensor in new.items()} == {
        name: tensor.shape for name, tensor in old.items()
    }
    moved = max(float((new[name] - old[name]).abs().max()) for name in old)
    assert 1e-4 < moved < 1
