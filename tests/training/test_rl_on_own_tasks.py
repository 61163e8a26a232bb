"""Real GRPO through verl on tasks that are not of the catalogue: a `.cu` problem and a user's own code."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.config import (
    ConversationConfig,
    CurriculumConfig,
    FrameworkConfig,
    JudgeConfig,
    RLConfig,
    TasksConfig,
)
from coding_framework.data.sources.book import find_task
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import Task
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("saxpy_clamp", "mirror_columns")


async def test_a_cu_problem_and_a_task_of_own_code_train_for_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES / "tasks")
    config = FrameworkConfig(
        tasks=TasksConfig(
            sources=("own_tasks:tasks", str(EXAMPLES / "problems" / "saxpy_clamp.cu")),
            train=NAMES,
            held_out=("scale",),
        ),
        curriculum=CurriculumConfig(enabled=False),  # so that both tasks come up in one step
        rl=RLConfig(steps=1, prompts_per_step=2, group_size=2, lora_rank=4),
        conversation=ConversationConfig(max_turns=1, max_prompt_tokens=512, max_response_tokens=16),
        judge=JudgeConfig(executor="emulator", workers=1),
    )
    tasks = [find_task(config.tasks, name) for name in NAMES]
    answers = [task.baseline for task in tasks if isinstance(task, Task)]
    model = write_kernel_words_model(tmp_path / "model", NAMES[0], *answers)
    run = RunFolder.create(tmp_path, "run", config.model_dump_json())
    seen: dict[int, dict[str, float]] = {}

    await MultiAgentVERLTrainer(
        config,
        MultiTurnConversationManager(config.conversation),
        CUDAPerformanceReward(config.reward),
        run_dir=run.path,
        model_path=model,
        on_step=seen.__setitem__,
    ).train()

    assert seen[1]["episodes"] == 4
    assert seen[1]["episodes_lost"] == 0
    conversations = list(run.read_conversations())
    assert {one.task for one in conversations} == set(NAMES)
    assert any(turn.evaluation.compiled for one in conversations for turn in one.turns)
