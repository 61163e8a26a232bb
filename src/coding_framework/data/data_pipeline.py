"""`CUDADataPipeline`: which task comes next in training.

    pipeline = CUDADataPipeline.from_config(config)
    for example in pipeline.get_training_batch(4):
        pipeline.record_training_result(example.task.name, evaluation)

RL and SFT draw from it. Guarantees: the n-th example follows
from the seed, the tasks and n alone, and with a curriculum from the results recorded before it; the state
goes through JSON, and a pipeline restored from it, in the middle of a pass or of a batch, goes on bit for
bit; nothing that is held out is ever in a training batch. Without a curriculum each pass over the tasks
has every task once. Prompt builders are passed in, because this package lies below the agents.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from coding_framework.config import CurriculumConfig, FrameworkConfig
from coding_framework.data.curriculum.history import TierChange
from coding_framework.data.curriculum.ladder import trainable
from coding_framework.data.curriculum.outcome import Recordable
from coding_framework.data.curriculum_manager import CurriculumManager
from coding_framework.data.pair_records import BuildPrompt
from coding_framework.data.sources.book import find_task
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.data.tasks import get_task
from coding_framework.data.tasks.split import held_out_names, training_tasks
from coding_framework.data.training_records import DataPipelineState, LaunchShape, TestCase, TrainingExample
from coding_framework.errors import ConfigError, UnknownTaskError, UserError
from coding_framework.records import AgentRole, Message

__all__ = ["CUDADataPipeline", "DataPipelineState", "LaunchShape", "TestCase", "TrainingExample"]

PromptBuilders = Mapping[AgentRole, BuildPrompt]


class CUDADataPipeline:
    """Draws training examples, and tells the curriculum what came of them."""

    def __init__(
        self,
        tasks: Sequence[AnyTask],
        prompts: PromptBuilders | None = None,
        *,
        seed: int,
        held_out: Sequence[str] = (),
        find: Callable[[str], AnyTask] = get_task,
        curriculum: CurriculumConfig | None = None,
        state: DataPipelineState | None = None,
    ) -> None:
        """`tasks` less what is held out, whose names `find` knows."""
        held_out = tuple(find(name).name for name in held_out)
        self._tasks = trainable(tasks, held_out)
        if not self._tasks:
            raise ConfigError("every task is held out: name some to train on in `tasks.train`")
        self._prompts = dict(prompts or {})
        names = tuple(task.name for task in self._tasks)
        chosen_by = curriculum if curriculum is not None and curriculum.enabled else None
        if state is not None:
            _refuse_another(state, DataPipelineState(seed=seed, tasks=names), chosen_by)
        self._state = state or DataPipelineState(seed=seed, tasks=names)
        self._curriculum = self._open_curriculum(chosen_by) if chosen_by is not None else None
        if self._curriculum is not None:
            self._tasks = self._curriculum.tasks
        self._order: tuple[int, tuple[AnyTask, ...]] | None = None
        self._made: dict[str, dict[AgentRole, tuple[Message, ...]]] = {}

    @classmethod
    def from_config(
        cls,
        config: FrameworkConfig,
        prompts: PromptBuilders | None = None,
        *,
        by_curriculum: bool = True,
        state: DataPipelineState | None = None,
    ) -> CUDADataPipeline:
        """What a configuration trains on, in its order, and what it evaluates on.

        Without outcomes there is nothing to climb by: SFT and the evaluation do without the curriculum.
        """
        return cls(
            training_tasks(config.tasks),
            prompts,
            seed=config.run.seed,
            held_out=held_out_names(config.tasks),
            find=partial(find_task, config.tasks),
            curriculum=config.curriculum if by_curriculum else None,
            state=state,
        )

    @property
    def state(self) -> DataPipelineState:
        """As of now; for the checkpoint."""
        curriculum = self._curriculum.state() if self._curriculum else None
        return self._state.model_copy(update={"curriculum": curriculum})

    @property
    def tasks(self) -> tuple[AnyTask, ...]:
        """What training examples are drawn from: with a curriculum the tasks of its tiers."""
        return self._tasks

    @property
    def curriculum(self) -> CurriculumManager | None:
        """What chooses the tasks; None where every task comes once a pass."""
        return self._curriculum

    def get_training_batch(self, count: int) -> tuple[TrainingExample, ...]:
        """The next `count` examples; a batch may reach into the next pass."""
        if count < 1:
            raise UserError(f"a training batch has at least one example, not {count}")
        return tuple(self._next_examples(count))

    def record_training_result(
        self, task_name: str, result: Recordable, *, step: int | None = None
    ) -> TierChange | None:
        """Tell the curriculum how an episode went; returns the move that it led to.

        Without a curriculum nothing follows from it.
        """
        self._refuse_unknown(task_name)
        return self._curriculum.record(task_name, result, step=step) if self._curriculum else None

    def record_fault(self, task_name: str) -> None:
        """An episode that was lost to faults of the judge says nothing about the policy."""
        self._refuse_unknown(task_name)
        if self._curriculum is not None:
            self._curriculum.record_fault(task_name)

    def _next_examples(self, count: int) -> Iterator[TrainingExample]:
        for _ in range(count):
            number = self._state.num_drawn
            epoch, position = divmod(number, len(self._tasks))
            task = self._curriculum.next_task() if self._curriculum else self._pass(epoch)[position]
            visit = self._state.visits.get(task.name, 0)
            visits = {**self._state.visits, task.name: visit + 1}
            example = self._example(task, epoch, position, visit)
            self._state = self._state.model_copy(update={"num_drawn": number + 1, "visits": visits})
            yield example

    def _pass(self, number: int) -> tuple[AnyTask, ...]:
        """Which task comes when in this pass; kept while it lasts."""
        if self._order is None or self._order[0] != number:
            order = list(self._tasks)
            random.Random(f"{self._state.seed}/{number}").shuffle(order)
            self._order = (number, tuple(order))
        return self._order[1]

    def _example(self, task: AnyTask, epoch: int, position: int, visit: int) -> TrainingExample:
        if task.name not in self._made:
            self._made[task.name] = {agent: build(task) for agent, build in self._prompts.items()}
        return TrainingExample(
            task=task,
            epoch=epoch,
            position=position,
            visit=visit,
            learnability=self._curriculum.learnability(task.name) if self._curriculum else None,
            prompts=self._made[task.name],
        )

    def _open_curriculum(self, config: CurriculumConfig) -> CurriculumManager:
        saved = self._state.curriculum
        if saved is not None:
            return CurriculumManager.from_state(saved, self._tasks)
        return CurriculumManager(config, self._tasks, seed=self._state.seed)

    def _refuse_unknown(self, task_name: str) -> None:
        if all(task.name != task_name for task in self._tasks):
            raise UnknownTaskError(f"'{task_name}' is not a task that this pipeline trains on")


def _refuse_another(
    saved: DataPipelineState, fresh: DataPipelineState, curriculum: CurriculumConfig | None
) -> None:
    before = saved.curriculum.config if saved.curriculum is not None else None
    if (saved.seed, saved.tasks, before) != (fresh.seed, fresh.tasks, curriculum):
        raise ConfigError(
            "the saved state of the data pipeline is of another seed, of other tasks or of another "
            "curriculum: resume with the configuration that the run was started with"
        )
