"""What a run remembers about itself: metric points, finished phases, and the machine it ran on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import AwareDatetime, Field, JsonValue, ValidationError

from coding_framework.errors import StorageError
from coding_framework.records import Record
from coding_framework.records.cores import usable_cores

R = TypeVar("R", bound=Record)
MetricPhase = Literal["sft", "rl", "evaluation"]


class MetricPoint(Record):
    """Named numbers at one step of one phase. Unknown names are kept."""

    phase: MetricPhase
    """Who measured."""
    step: int = Field(ge=0)
    """Optimiser step of the phase; a step that is done again after a resume replaces the earlier one."""
    values: dict[str, float]
    """By name: sft has `loss`, `learning_rate`, `tokens_per_s`; rl has `reward_mean`, `pass_rate`, …"""
    elapsed_s: float = Field(ge=0)
    """Wall-clock time since the phase began."""
    recorded_at: AwareDatetime | None = None
    """When it was written down, in UTC; None in runs of an earlier version."""


class MachineFacts(Record):
    """Where a run was started, as far as the operating system tells without any driver."""

    system: str
    """Operating system and architecture."""
    processor: str
    """Name of the CPU."""
    cores: int = Field(ge=1)
    """Logical cores that this process may use."""
    memory_bytes: int | None = Field(default=None, ge=0)
    """Main memory; None where the system does not tell."""
    gpus: tuple[str, ...] = ()
    """Names of the NVIDIA GPUs that the kernel driver lists."""
    python: str
    """Version of the interpreter."""

    @classmethod
    def of_this_machine(cls) -> MachineFacts:
        return cls(
            system=f"{platform.system()} {platform.machine()}",
            processor=_field_of(Path("/proc/cpuinfo"), "model name") or platform.processor() or "unknown",
            cores=usable_cores(),
            memory_bytes=_memory_bytes(),
            gpus=_gpu_names(),
            python=platform.python_version(),
        )


class FinishedPhase(Record):
    """One phase that need not be done again."""

    name: str
    """E.g. `sft`."""
    finished_at: AwareDatetime
    """When, in UTC."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall-clock time it took, if the caller measured it."""
    result_type: str
    """Class name of the record that it left."""
    result: JsonValue
    """That record as JSON."""

    def result_as(self, record_type: type[R]) -> R:
        """The record itself; raises `StorageError` where another type or version wrote it."""
        if self.result_type != record_type.__name__:
            raise StorageError(
                f"phase '{self.name}' of this run left a {self.result_type}, not a {record_type.__name__}"
            )
        try:
            return record_type.model_validate_json(json.dumps(self.result))
        except ValidationError as error:
            raise StorageError(
                f"the result of phase '{self.name}' was written by another version: {error}"
            ) from error


class RunState(Record):
    """Everything in `state.json`."""

    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    """When the run was started, in UTC."""
    machine: MachineFacts = Field(default_factory=MachineFacts.of_this_machine)
    """Where."""
    phases: tuple[FinishedPhase, ...] = ()
    """In the order in which they ended."""

    def phase(self, name: str) -> FinishedPhase | None:
        return next((phase for phase in self.phases if phase.name == name), None)

    def with_phase(self, finished: FinishedPhase) -> RunState:
        """The same with one more phase; an earlier result under the same name is replaced."""
        others = self.without_phases({finished.name}).phases
        return self.model_copy(update={"phases": (*others, finished)})

    def without_phases(self, names: Collection[str]) -> RunState:
        """The same with these phases still to be done."""
        return self.model_copy(update={"phases": tuple(p for p in self.phases if p.name not in names)})


def _field_of(path: Path, name: str) -> str | None:
    """The first `name : value` line of a file under /proc; None off Linux."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    values = (line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name)
    return next(values, None)


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _gpu_names() -> tuple[str, ...]:
    found = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return tuple(name for path in found if (name := _field_of(path, "Model")))
