"""Real GRPO through verl, Ray and the judge, on a model of a few thousand weights."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.config import ConversationConfig, FrameworkConfig, JudgeConfig, RLConfig
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.checkpoints import latest_checkpoint
from coding_framework.training.rl.names import WORKER_SETTINGS_ENV
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

TASK = "vector_add"
CONFIG = FrameworkConfig(
    rl=RLConfig(steps=100, prompts_per_step=1, group_size=4, save_every=1, learning_rate=1e-2, lora_rank=4),
    conversation=ConversationConfig(
        max_turns=2, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=0.5
    ),
    judge=JudgeConfig(executor="emulator", workers=1),
)


async def test_a_cancelled_training_leaves_no_process_and_resumes_to_a_new_model(
    tmp_path: Path,
) -> None:
    """One story, because every start of Ray costs half a minute."""
    model = write_kernel_words_model(tmp_path / "model", TASK)
    run = RunFolder.create(tmp_path, "run", CONFIG.model_dump_json())
    seen: dict[int, dict[str, float]] = {}

    def trainer(config: FrameworkConfig, *, resume: bool) -> MultiAgentVERLTrainer:
        return MultiAgentVERLTrainer(
            config,
            MultiTurnConversationManager(config.conversation),
            CUDAPerformanceReward(config.reward),
            run_dir=run.path,
            model_path=model,
            tasks=[TASK],
            on_step=seen.__setitem__,
            resume=resume,
        )

    first = asyncio.create_task(trainer(CONFIG, resume=False).train())
    while not seen and not first.done():
        await asyncio.sleep(0.2)
    assert _processes_of(run), "the search for processes finds those that run"
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert _processes_of(run) == []
    assert 1 in seen
    latest = latest_checkpoint(run.checkpoints / "rl")
    assert latest is not None
    told = max(seen)
    assert latest[0] >= told
    seen.clear()

    shorter = CONFIG.rl.model_copy(update={"steps": latest[0] + 1})
    result = await trainer(CONFIG.model_copy(update={"rl": shorter}), resume=True).train()

    assert _processes_of(run) == []
    assert list(seen) == list(range(told + 1, latest[0] + 2)), "a step saved but never told is done again"
    assert result.steps == latest[0] + 1
    assert result.last_checkpoint.name == f"global_step_{result.steps}"
    assert len(list((run.checkpoints / "rl").glob("global_step_*"))) <= 2
    _the_conversations_are_stored(run, seen)
    _the_exported_model_is_another_one(model, result.model_path)


def _processes_of(run: RunFolder) -> list[str]:
    """Command lines of all processes that were given this run's settings, whoever their parent is now."""
    mark = f"{WORKER_SETTINGS_ENV}={run.path}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def _the_conversations_are_stored(run: RunFolder, seen: dict[int, dict[str, float]]) -> None:
    conversations = list(run.read_conversations())
    assert all(one.phase == "train" and one.task == TASK for one in conversations)
    assert {one.step for one in conversations} >= {1, *seen}
    for values in seen.values():
        assert values["episodes"] == CONFIG.rl.group_size
        assert values["episodes_lost"] == 0
        assert 0 <= values["pass_rate"] <= 1
    for one in conversations:
        for turn in one.turns:
            assert len(turn.generation.token_ids) == len(turn.generation.log_probs) >= 1


def _the_exported_model_is_another_one(start: Path, exported: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    old = AutoModelForCausalLM.from_pretrained(start).state_dict()
    new = AutoModelForCausalLM.from_pretrained(exported).state_dict()
    assert set(old) == set(new)
    changed = [name for name in old if not torch.equal(old[name], new[name])]
    assert changed
    assert all("proj" in name for name in changed), "only adapted layers change"
    assert len(AutoTokenizer.from_pretrained(exported)) == len(AutoTokenizer.from_pretrained(start))
