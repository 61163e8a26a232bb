"""Sample episodes of every task with one model, and count what passed.

Guarantees: every sample is an episode of the one driver, judged like in training; a fault of ours
raises instead of counting as a failure of the model. It compares models fairly only if they are
given the same tasks, samples and temperature, which `evaluate_model` takes from one config. Answers are
drawn from the names of their episodes, so an evaluation that is done again has the same ones (as far as
rounding in other batches allows).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from coding_framework.config import FrameworkConfig
from coding_framework.data.tasks.split import held_out_names
from coding_framework.monitoring.results import ModelLabel, ModelResult, TaskResult
from coding_framework.orchestration.episode import Generate, JudgeFn, RewardFn, all_of, run_episode
from coding_framework.records import Conversation, ModuleTask, Task


async def evaluate_model(
    generate: Generate,
    tasks: Sequence[Task | ModuleTask],
    config: FrameworkConfig,
    *,
    label: ModelLabel,
    model_path: Path,
    judge: JudgeFn,
    reward: RewardFn,
    on_conversation: Callable[[Conversation], None],
) -> ModelResult:
    """`samples_per_task` episodes of each task; `on_conversation` sees every one as it ends."""
    start = time.monotonic()
    settings = config.conversation.model_copy(update={"max_turns": config.evaluation.max_turns})

    async def sample(task: Task | ModuleTask, number: int) -> Conversation:
        conversation = await run_episode(
            task,
            generate,
            judge=judge,
            reward=reward,
            settings=settings,
            conversation_id=f"{label}-{task.name}-{number}",
            phase="evaluation",
        )
        on_conversation(conversation.model_copy(update={"model": label}))
        return conversation

    wanted = [(task, number) for task in tasks for number in range(config.evaluation.samples_per_task)]
    conversations: list[Conversation] = []
    # Batch by batch: a model and a judge that want the same cores at once take three times as long.
    for first in range(0, len(wanted), config.evaluation.batch_size):
        batch = wanted[first : first + config.evaluation.batch_size]
        conversations += await all_of(sample(*one) for one in batch)
    held_out = frozenset(held_out_names(config.tasks))
    return ModelResult(
        label=label,
        model=model_path,
        tasks=tuple(summarise(task, conversations, held_out=task.name in held_out) for task in tasks),
        seconds=time.monotonic() - start,
    )


def summarise(
    task: Task | ModuleTask, conversations: Sequence[Conversation], *, held_out: bool
) -> TaskResult:
    """Counts over the conversations of one task; an episode counts by its best turn."""
    own = [conversation for conversation in conversations if conversation.task == task.name]
    best = [max((turn.evaluation.speedup or 0.0) for turn in one.turns) for one in own]
    speedups = [speedup for speedup in best if speedup > 0]
    kinds = {t.evaluation.timing.kind for one in own for t in one.turns if t.evaluation.timing}
    assert len(kinds) <= 1, f"modelled and measured times are mixed for {task.name}"
    return TaskResult(
        task=task.name,
        tier=task.tier,
        held_out=held_out,
        samples=len(own),
        compiled=sum(any(turn.evaluation.compiled for turn in one.turns) for one in own),
        passed=len(speedups),
        best_speedup=max(speedups, default=None),
        median_speedup=median(speedups) if speedups else None,
        time_kind=next(iter(kinds), None),
    )
