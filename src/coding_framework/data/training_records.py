"""What the data pipeline hands out, and what it remembers.

Guarantees: a state goes through JSON and comes back equal; hidden cases are marked as such, so that no
prompt shows them by mistake.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from coding_framework.cuda.checking import fixed_checks
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.data.curriculum.state import CurriculumState
from coding_framework.data.sources.protocol import AnyTask
from coding_framework.records import AgentRole, Distribution, Message, Record, Task


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


def build_test_cases(task: Task) -> tuple[TestCase, ...]:
    """One for each run that every candidate of the task goes through, with grid and block dimensions."""
    plan = parse_launch_plan(task.baseline, task)
    return tuple(
        TestCase(
            dimensions=dict(check.dimensions),
            distribution=check.distribution,
            hidden=check.hidden,
            launches=tuple(
                LaunchShape(
                    kernel=launch.kernel,
                    grid=launch.grid,
                    block=launch.block,
                    shared_bytes=launch.shared_bytes,
                )
                for launch in resolve_launches(plan, task, check.dimensions)
            ),
        )
        for check in fixed_checks(task)
    )


class TrainingExample(Record):
    """One task as it comes up in training."""

    task: AnyTask
    """The problem."""
    epoch: int = Field(ge=0)
    """How often as many examples as there are tasks had come up before."""
    position: int = Field(ge=0)
    """Which one of its epoch."""
    visit: int = Field(default=0, ge=0)
    """How often this very task had come up before."""
    learnability: float | None = Field(default=None, gt=0, le=1)
    """What the curriculum expected to be learnt from it; None where no curriculum chose it."""
    prompts: dict[AgentRole, tuple[Message, ...]]
    """The first prompt of each agent that was given a builder."""

    @property
    def example_id(self) -> str:
        return f"{self.epoch}-{self.position}-{self.task.name}"

    @property
    def test_cases(self) -> tuple[TestCase, ...]:
        """The judge's fixed runs; it adds one on a shape that nobody knows before. A module has none: its
        inputs are what it draws itself."""
        return build_test_cases(self.task) if isinstance(self.task, Task) else ()


class DataPipelineState(Record):
    """Where a pipeline stands: enough to go on in another process, bit for bit."""

    seed: int
    """Of the order."""
    tasks: tuple[str, ...]
    """What may be drawn from, in the order in which it was given."""
    num_drawn: int = Field(default=0, ge=0)
    """Training examples handed out so far."""
    visits: dict[str, int] = Field(default_factory=dict)
    """Of these, by task."""
    curriculum: CurriculumState | None = None
    """What the curriculum remembers; None without one."""
