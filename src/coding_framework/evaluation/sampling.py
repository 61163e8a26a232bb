"""Sample episodes of every task with one model, and hand over each as it ends.

Guarantees: every sample is an episode of the one driver, judged like in training; a fault of ours raises
instead of counting as a failure of the model; while a GPU times kernels, the model does not sample. Answers
are drawn from the names of their episodes and those of a batch are sampled together, so an evaluation that is
done again has the same ones (as far as rounding in other batches allows).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from coding_framework.config import FrameworkConfig
from coding_framework.evaluation.subjects import Subject
from coding_framework.orchestration.episode import Generate, JudgeFn, RewardFn, all_of, run_episode
from coding_framework.orchestration.steps import AnyTask
from coding_framework.records import (
    Candidate,
    Conversation,
    Evaluation,
    EvaluationSample,
    Generation,
    GenerationRequest,
)
from coding_framework.training.rl.turn_taking import TurnTaking

OnSample = Callable[[Conversation, EvaluationSample], None]
Key = tuple[str, int]
"""Name of a task and number of the sample."""


async def take_samples(
    generate: Generate,
    subjects: Sequence[Subject],
    config: FrameworkConfig,
    *,
    label: str,
    stored: Collection[Key],
    judge: JudgeFn,
    reward: RewardFn,
    on_sample: OnSample,
) -> None:
    """`samples_per_task` episodes of each task, less those that are `stored`."""
    settings = config.conversation.model_copy(update={"max_turns": config.evaluation.max_turns})
    generate, judge = _in_turns(generate, judge, exclusive=config.judge.executor == "gpu")

    async def sample(subject: Subject, number: int) -> None:
        about = subject.about
        conversation = await run_episode(
            subject.task,
            generate,
            judge=judge,
            reward=reward,
            settings=settings,
            conversation_id=conversation_id(label, about.name, number),
            phase="evaluation",
        )
        one = EvaluationSample.of(
            conversation,
            model=label,
            tier=about.tier,
            family=about.family,
            split=about.split,
            seed=config.run.seed,
            number=number,
        )
        on_sample(conversation.model_copy(update={"model": label}), one)

    wanted = [(one, number) for one in subjects for number in range(config.evaluation.samples_per_task)]
    width = config.evaluation.batch_size or len(wanted)
    # Batch by batch: a model and a judge that want the same cores at once take three times as long.
    for first in range(0, len(wanted), width):
        batch = wanted[first : first + width]
        await all_of(sample(*one) for one in batch if (one[0].about.name, one[1]) not in stored)


def conversation_id(label: str, task: str, number: int) -> str:
    """The name of an episode; its answers are drawn from it."""
    return f"{label}-{task}-{number}"


def _in_turns(generate: Generate, judge: JudgeFn, *, exclusive: bool) -> tuple[Generate, JudgeFn]:
    """The same two, never at once where kernels are timed on the model's card."""
    room = TurnTaking(exclusive=exclusive)

    async def sampling(request: GenerationRequest) -> Generation:
        async with room.taking("sampling", 0):
            return await generate(request)

    async def judging(task: AnyTask, candidate: Candidate) -> Evaluation:
        async with room.taking("judging", 0):
            return await judge(task, candidate)

    return sampling, judging
