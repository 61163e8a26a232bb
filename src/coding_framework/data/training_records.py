"""What the data pipeline hands out, and what it remembers.

Guarantees: a state goes through JSON and comes back equal; hidden cases are marked as such, so that no
prompt shows them by mistake.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from coding_framework.records import AgentRole, Distribution, Message, Record, Task, TimeKind


class LaunchShape(Record):
    """One launch of a baseline, for one shape."""

    kernel: str
    """Which kernel."""
    grid: tuple[int, int, int]
    """Blocks in x, y, z."""
    block: tuple[int, int, int]
    """Threads of a block in x, y, z."""
    shared_bytes: int = Field(ge=0)
    """Dynamic shared memory."""


class TestCase(Record):
    """One run that the judge makes: a shape, how its inputs are drawn, and the baseline's launches."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test

    dimensions: dict[str, int]
    """The shape."""
    distribution: Distribution
    """How inputs are drawn."""
    hidden: bool
    """Known to the judge only."""
    launches: tuple[LaunchShape, ...] = Field(min_length=1)
    """What the plan of the task's baseline resolves to."""


class TrainingExample(Record):
    """One task as it comes up in training or evaluation."""

    task: Task
    """The problem."""
    split: str = Field(pattern="^(train|evaluation)$")
    """For what it was drawn."""
    epoch: int = Field(ge=0)
    """How often all tasks had come up before; 0 in an evaluation set."""
    position: int = Field(ge=0)
    """Which one of its epoch, or of its set."""
    test_cases: tuple[TestCase, ...] = Field(min_length=1)
    """The judge's fixed runs; it adds one on a shape that nobody knows before."""
    prompts: dict[AgentRole, tuple[Message, ...]]
    """The first prompt of each agent that was given a builder."""

    @property
    def example_id(self) -> str:
        return f"{self.split}-{self.epoch}-{self.position}-{self.task.name}"


class TaskResults(Record):
    """What training has seen of one task."""

    num_results: int = Field(default=0, ge=0)
    """Judged candidates."""
    num_compiled: int = Field(default=0, ge=0)
    """Of these, compiled."""
    num_passed: int = Field(default=0, ge=0)
    """Of these, right."""
    best_speedup: float | None = Field(default=None, gt=0)
    """Over the naive kernel; None until one passed."""
    time_kind: TimeKind | None = None
    """Whether that was measured or modelled; the two are never compared."""
    reward_sum: float = 0.0
    """Of the results that came with a reward."""
    num_rewards: int = Field(default=0, ge=0)
    """How many those are."""

    @model_validator(mode="after")
    def _counts_are_ordered(self) -> TaskResults:
        if not self.num_passed <= self.num_compiled <= self.num_results:
            raise ValueError("what passed was compiled, and what was compiled was judged")
        if (self.best_speedup is None) != (self.time_kind is None):
            raise ValueError("a speedup comes with the kind of its times")
        return self

    @property
    def pass_rate(self) -> float:
        return self.num_passed / self.num_results if self.num_results else 0.0


class DataPipelineState(Record):
    """Where a pipeline stands: enough to go on in another process, bit for bit."""

    seed: int
    """Of the order."""
    tasks: tuple[str, ...]
    """What is drawn from, in the order in which it was given."""
    num_drawn: int = Field(default=0, ge=0)
    """Training examples handed out so far."""
    results: dict[str, TaskResults] = Field(default_factory=dict)
    """By task."""
