"""Counting what a model can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.config import load_config
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import get_task
from coding_framework.data.tasks.split import evaluation_tasks
from coding_framework.errors import JudgeFault
from coding_framework.evaluation.held_out import evaluate_model
from coding_framework.records import Candidate, Conversation, Evaluation, Generation, GenerationRequest, Task
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

CONFIG = load_config(
    "quick", ["evaluation.samples_per_task=3", 'tasks.held_out=["scale"]', 'tasks.train=["vector_add"]']
)
TASKS = [get_task(name) for name in evaluation_tasks(CONFIG)]


class HalfTrainedModel:
    """Knows how to scale, answers everything else with prose, and gets every third answer wrong."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: GenerationRequest) -> Generation:
        if "Scale" not in request.messages[-1].content:
            return Generation(text="I have not learned that.")
        self.asked += 1
        source = get_task("scale").baseline
        return Generation(
            text=f"```cuda\n{source.replace('2.5f', '1.5f') if self.asked % 3 == 0 else source}\n```"
        )


async def test_every_task_is_counted_by_its_own_samples() -> None:
    conversations: list[Conversation] = []
    with JudgePool(CONFIG.judge) as pool:
        result = await evaluate_model(
            HalfTrainedModel(),
            TASKS,
            CONFIG,
            label="base",
            model_path=Path("model"),
            judge=pool.judge_async,
            reward=CUDAPerformanceReward(),
            on_conversation=conversations.append,
        )
    scale, vector_add = result.task("scale"), result.task("vector_add")
    assert scale is not None
    assert vector_add is not None
    assert (scale.samples, scale.compiled, scale.passed, scale.held_out) == (3, 3, 2, True)
    assert scale.time_kind == "modelled"
    assert (vector_add.compiled, vector_add.passed, vector_add.held_out) == (0, 0, False)
    assert vector_add.median_speedup is None
    assert len(conversations) == 6
    assert {conversation.phase for conversation in conversations} == {"evaluation"}


async def test_a_fault_of_the_judge_is_not_counted_as_a_failure_of_the_model() -> None:
    async def broken(task: Task, candidate: Candidate) -> Evaluation:
        raise JudgeFault("no worker")

    with pytest.raises(JudgeFault):
        await evaluate_model(
            HalfTrainedModel(),
            TASKS,
            CONFIG,
            label="base",
            model_path=Path("model"),
            judge=broken,
            reward=CUDAPerformanceReward(),
            on_conversation=lambda _: None,
        )
