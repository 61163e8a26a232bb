"""The plan of a training: what it will do, where, and what that is expected to cost.

Every figure is an `Estimate` that says what it rests on, or an `Unknown` that says why there is none.
None of them was measured on the machine in question.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from coding_framework.config import FrameworkConfig
from coding_framework.records import JudgePlace, Record
from coding_framework.training.plan.machine import Machine

Phase = Literal["model", "pairs", "sft", "rl", "rl_generator", "rl_optimizer", "evaluation"]
Role = Literal["sft", "actor", "critic", "rollout", "reference", "judge"]


class Estimate(Record):
    """A figure that was worked out from others."""

    value: float = Field(ge=0)
    """Seconds or bytes, as the field that holds it says."""
    rests_on: str
    """On which figures."""


class Unknown(Record):
    """There is no figure."""

    because: str
    """Why."""


class PhasePlan(Record):
    """One phase."""

    name: Phase
    """Which."""
    finished: bool = False
    """Whether an earlier start of this run has done it."""
    steps: int | None = Field(default=None, ge=0)
    """Optimizer steps; None where it makes none, or where they are known once the pairs are there."""
    steps_done: int = Field(default=0, ge=0)
    """Those among them that an earlier start of this run made and that stay."""
    episodes: int | None = Field(default=None, ge=0)
    """Episodes that are played; None where it plays none."""
    tasks: tuple[str, ...] = ()
    """Tasks that it draws on."""
    held_out: tuple[str, ...] = ()
    """Those among them that training never sees."""
    what: str
    """What it does, in words."""
    seconds: Estimate | Unknown
    """How long it may take."""
    memory_bytes: Estimate | Unknown | None = None
    """Of each card, or of the host without one; None where it takes next to nothing."""


class DevicePlan(Record):
    """One card, or the host where there is none."""

    device: str
    """`GPU 0`, or `CPU`."""
    name: str
    """E.g. `NVIDIA H200`."""
    memory_bytes: int = Field(gt=0)
    """All of it."""
    used_by: tuple[Role, ...]
    """Who computes there: `sft` during SFT, the others during RL; empty: it stays idle."""
    held_bytes: float | None = Field(default=None, ge=0)
    """What they hold of it at most; None where that is next to nothing, or not known."""


class JudgePlan(Record):
    """Where and how candidates are judged."""

    executor: Literal["emulator", "gpu"]
    """What runs them."""
    place: JudgePlace
    """Where they are timed."""
    workers: int | None = Field(ge=1)
    """So many at a time; None: as many as the Ray cluster has cores for."""


class TierPlan(Record):
    """One tier of the curriculum that has tasks; what must be surely exceeded to leave it upwards."""

    name: str
    """As the configuration calls it."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Those of the training tasks that it holds."""
    min_compile_rate: float
    """Share of episodes in which a kernel compiles."""
    min_success_rate: float
    """Share of episodes in which one passes."""
    min_speedup: float | None
    """Median speedup of those; None: it asks for no speed."""
    min_episodes: int
    """Least number of episodes."""


class TaskOrderPlan(Record):
    """What RL practises when."""

    order: Literal["curriculum", "uniform"]
    """By tier and learnability; or every task once in each pass."""
    tiers: tuple[TierPlan, ...] = ()
    """Of the curriculum, the easiest first."""
    never_drawn: tuple[str, ...] = ()
    """Training tasks that no tier holds: SFT alone may see them."""


class Settled(Record):
    """A setting that was left open and that this machine decided."""

    key: str
    """E.g. `model.dtype`."""
    value: JsonValue
    """What it is now."""


class TrainingPlan(Record):
    """Everything that is known before anything is spent."""

    folder: Path
    """The run folder."""
    resumes: bool = False
    """Whether it is there already."""
    config: FrameworkConfig
    """With every setting settled."""
    settled: tuple[Settled, ...]
    """Those of its settings that this machine decided."""
    machine: Machine
    """For which it was made."""
    phases: tuple[PhasePlan, ...]
    """In their order."""
    devices: tuple[DevicePlan, ...]
    """Who computes where."""
    judge: JudgePlan
    """Who judges."""
    task_order: TaskOrderPlan | None = None
    """What RL practises when; None without RL."""
    disk_bytes: Estimate | Unknown
    """What the finished run leaves on the disk."""
    tasks: tuple[str, ...] = ()
    """What each of `tasks.sources` gave and what became of it; empty with the catalogue alone."""
    disk_at_most_bytes: Estimate | Unknown = Unknown(because="nobody asked")
    """What it needs there until then."""
