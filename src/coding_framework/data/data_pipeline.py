"""`CUDADataPipeline`: tasks as training examples, in an order that a seed decides.

    pipeline = CUDADataPipeline.from_config(config, {"generator": generator_messages})
    for example in pipeline.get_training_batch(4):
        pipeline.record_training_result(example.task.name, evaluation, reward=0.7)

Guarantees: the n-th example follows from the seed, the tasks and n alone (and, where weights are given,
from what they say at that moment); the state goes through JSON, and a pipeline restored from it, in the
middle of an epoch or of a batch, goes on bit for bit; nothing that is held out is ever in a training
batch. Without weights every task comes up once an epoch; with weights an epoch is as many draws as
there are tasks. Test cases and prompts are made once a task. Prompt builders are passed in, because
this package lies below the agents.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from coding_framework.config import FrameworkConfig
from coding_framework.data.case_building import build_test_cases
from coding_framework.data.pair_records import BuildPrompt
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task
from coding_framework.data.tasks.split import held_out_names, training_tasks
from coding_framework.data.training_records import (
    DataPipelineState,
    LaunchShape,
    TaskResults,
    TestCase,
    TrainingExample,
)
from coding_framework.errors import ConfigError, UnknownTaskError, UserError
from coding_framework.records import AgentRole, Evaluation, Message, Task

__all__ = [
    "CUDADataPipeline",
    "DataPipelineState",
    "LaunchShape",
    "TaskResults",
    "TestCase",
    "TrainingExample",
    "Weights",
]

Weights = Callable[[Sequence[Task]], Sequence[float]]
"""How likely each task is to come next, e.g. from a curriculum; any scale, none negative."""
PromptBuilders = Mapping[AgentRole, BuildPrompt]


class CUDADataPipeline:
    """Draws training examples, prepares evaluation sets, remembers what came of them."""

    def __init__(
        self,
        tasks: Sequence[Task],
        prompts: PromptBuilders,
        *,
        seed: int,
        held_out: Collection[str] = (),
        weights: Weights | None = None,
        state: DataPipelineState | None = None,
    ) -> None:
        self._held_out = frozenset(get_task(name).name for name in held_out)
        self._tasks = tuple(task for task in tasks if not self._is_held_out(task))
        if not self._tasks:
            raise ConfigError("every task is held out: name some to train on in `tasks.train`")
        self._prompts = dict(prompts)
        self._weights = weights
        names = tuple(task.name for task in self._tasks)
        self._state = state or DataPipelineState(seed=seed, tasks=names)
        self._refuse_another(seed, names)
        self._order: tuple[int, tuple[int, ...]] | None = None
        self._made: dict[str, tuple[tuple[TestCase, ...], dict[AgentRole, tuple[Message, ...]]]] = {}

    @classmethod
    def from_config(
        cls,
        config: FrameworkConfig,
        prompts: PromptBuilders,
        *,
        weights: Weights | None = None,
        state: DataPipelineState | None = None,
    ) -> CUDADataPipeline:
        """The tasks that a configuration trains on."""
        return cls(
            [task for task in training_tasks(config.tasks) if isinstance(task, Task)],
            prompts,
            seed=config.run.seed,
            held_out=held_out_names(config.tasks),
            weights=weights,
            state=state,
        )

    @property
    def state(self) -> DataPipelineState:
        """As of now; for the checkpoint."""
        return self._state

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What training examples are drawn from."""
        return self._tasks

    def get_training_batch(self, count: int) -> tuple[TrainingExample, ...]:
        """The next `count` examples; a batch may reach into the next epoch."""
        if count < 1:
            raise UserError(f"a training batch has at least one example, not {count}")
        return tuple(self._next_examples(count))

    def prepare_evaluation_set(self) -> tuple[TrainingExample, ...]:
        """Every held-out task once, in the order of the catalogue; moves nothing."""
        tasks = [task for task in all_tasks() if self._is_held_out(task)]
        return tuple(self._example(task, "evaluation", 0, place) for place, task in enumerate(tasks))

    def record_training_result(
        self, task_name: str, evaluation: Evaluation, reward: float | None = None
    ) -> TaskResults:
        """Take in what the judge said of an answer to this task; returns the task's figures."""
        if task_name not in self._state.tasks:
            raise UnknownTaskError(f"'{task_name}' is not a task that this pipeline trains on")
        before = self._state.results.get(task_name, TaskResults())
        after = _with_result(before, evaluation, reward)
        results = {**self._state.results, task_name: after}
        self._state = self._state.model_copy(update={"results": results})
        return after

    def _next_examples(self, count: int) -> Iterator[TrainingExample]:
        for _ in range(count):
            number = self._state.num_drawn
            epoch, position = divmod(number, len(self._tasks))
            task = self._draw(number) if self._weights else self._tasks[self._epoch_order(epoch)[position]]
            example = self._example(task, "train", epoch, position)
            self._state = self._state.model_copy(update={"num_drawn": number + 1})
            yield example

    def _epoch_order(self, epoch: int) -> tuple[int, ...]:
        """Which task comes when in this epoch; kept while the epoch lasts."""
        if self._order is None or self._order[0] != epoch:
            order = list(range(len(self._tasks)))
            random.Random(f"{self._state.seed}/epoch/{epoch}").shuffle(order)
            self._order = (epoch, tuple(order))
        return self._order[1]

    def _draw(self, number: int) -> Task:
        assert self._weights is not None
        weights = [float(weight) for weight in self._weights(self._tasks)]
        if len(weights) != len(self._tasks):
            raise ConfigError(f"{len(weights)} weights for {len(self._tasks)} tasks")
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
            raise ConfigError(f"weights must be finite, none negative and not all zero: {weights}")
        return random.Random(f"{self._state.seed}/draw/{number}").choices(self._tasks, weights)[0]

    def _example(self, task: Task, split: str, epoch: int, position: int) -> TrainingExample:
        if task.name not in self._made:
            prompts = {agent: build(task) for agent, build in self._prompts.items()}
            self._made[task.name] = (build_test_cases(task), prompts)
        cases, prompts = self._made[task.name]
        return TrainingExample(
            task=task, split=split, epoch=epoch, position=position, test_cases=cases, prompts=prompts
        )

    def _is_held_out(self, task: Task) -> bool:
        return task.family in HELD_OUT_FAMILIES or task.name in self._held_out

    def _refuse_another(self, seed: int, names: tuple[str, ...]) -> None:
        if (self._state.seed, self._state.tasks) != (seed, names):
            raise ConfigError(
                "the saved state of the data pipeline is of another seed or of other tasks: "
                "resume with the configuration that the run was started with"
            )


def _with_result(before: TaskResults, evaluation: Evaluation, reward: float | None) -> TaskResults:
    timing = evaluation.timing
    best, kind = before.best_speedup, before.time_kind
    if timing is not None and (kind != timing.kind or best is None or timing.speedup > best):
        best, kind = timing.speedup, timing.kind
    compiled = evaluation.compiled or evaluation.passed
    return TaskResults(
        num_results=before.num_results + 1,
        num_compiled=before.num_compiled + compiled,
        num_passed=before.num_passed + evaluation.passed,
        best_speedup=best,
        time_kind=kind,
        reward_sum=before.reward_sum + (reward or 0.0),
        num_rewards=before.num_rewards + (reward is not None),
    )
