"""A reward of one's own decides what a policy learns: two opposite ones, in real RL through verl and Ray."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.config import ConversationConfig, FrameworkConfig, JudgeConfig, RewardConfig, RLConfig
from coding_framework.data.tasks import get_task
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.orchestration.episode import RewardFn
from coding_framework.plugins import load_object
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.own_reward import reward_of
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

TASK = "vector_add"
EXAMPLE = Path(__file__).parents[2] / "examples" / "plugins" / "short_kernels.py"
SHORT_KERNEL = get_task(TASK).baseline.strip()
LONG_KERNEL = "// the same kernel with many words before it\n" * 40 + SHORT_KERNEL
SHORT, LONG = (f"```cuda\n{kernel}\n```\n" for kernel in (SHORT_KERNEL, LONG_KERNEL))
CONFIG = FrameworkConfig(
    rl=RLConfig(steps=16, prompts_per_step=1, group_size=8, save_every=16, learning_rate=1e-2, lora_rank=0),
    conversation=ConversationConfig(
        max_turns=1, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=1.0
    ),
    judge=JudgeConfig(executor="emulator", workers=1),
)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with the example in it, which nothing else knows of."""
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("short_kernels", None)


async def test_opposite_rewards_teach_opposite_kernels(own_folder: Path) -> None:
    """One reward is named in the config, the other is passed as an object."""
    model = write_kernel_words_model(own_folder / "model", TASK, SHORT_KERNEL, LONG_KERNEL)
    before = probability_of_short(model)
    named = reward_of(RewardConfig(function="short_kernels:ShortKernels"))
    kind = load_object("short_kernels:ShortKernels", "")
    assert isinstance(kind, type)
    passed = kind(RewardConfig(function="short_kernels:ShortKernels", options={"prefer": "long"}))

    towards_short = await train(own_folder / "short", model, named)
    towards_long = await train(own_folder / "long", model, passed)

    assert probability_of_short(towards_short) > before + 0.25
    assert probability_of_short(towards_long) < before - 0.25


async def train(folder: Path, model: Path, reward: RewardFn) -> Path:
    run = RunFolder.create(folder, "run", CONFIG.model_dump_json())
    trainer = MultiAgentVERLTrainer(
        CONFIG,
        MultiTurnConversationManager(CONFIG.conversation),
        reward,
        run_dir=run.path,
        model_path=model,
        tasks=[TASK],
    )
    result = await trainer.train()
    turns = [turn for conversation in run.read_conversations() for turn in conversation.turns]
    assert {turn.reward.preset for turn in turns} == {"short_kernels"}
    return result.model_path


def probability_of_short(model: Path) -> float:
    """Of the short kernel against the long one, where an answer to the task begins."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from coding_framework.agents.models.chat_template import prompt_token_ids
    from coding_framework.agents.prompts import generator_messages

    tokenizer = AutoTokenizer.from_pretrained(model)
    prompt = prompt_token_ids(tokenizer, generator_messages(get_task(TASK)))
    with torch.no_grad():
        logits = AutoModelForCausalLM.from_pretrained(model)(torch.tensor([prompt])).logits[0, -1]
    short, long = (tokenizer.convert_tokens_to_ids(answer) for answer in (SHORT, LONG))
    return float(logits[[short, long]].softmax(0)[0])
