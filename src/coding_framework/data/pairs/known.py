"""Pairs from kernels that a source says are right: first kernels, and slower ones made faster.

Guarantees: only kernels of tasks that are trained on are drafted, each once as a first kernel; for an
optimisation a kernel is put beside another one of the same task which the source calls slower, and the judge
decides. Which come first follows from the seed. Nothing is renamed or rewritten: an archive's kernels are as
various as their authors.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from coding_framework.config import TasksConfig
from coding_framework.data.pair_records import PAIR_KINDS, PairKind
from coding_framework.data.sources.book import read_kernels, task_book
from coding_framework.data.sources.own import OwnOracle
from coding_framework.data.sources.protocol import AnyTask, KnownKernel
from coding_framework.data.tasks.split import training_tasks
from coding_framework.records import Candidate, ModuleTask, Task

CLAIMED_FASTER = 1.05
"""By so much, in the source's own times, for two kernels to be tried as slower and faster."""


@dataclass(frozen=True)
class KnownDraft:
    """A pair that was not judged yet."""

    kind: PairKind
    task: AnyTask
    """As it is asked for, with the contract of the answer."""
    answer: Candidate
    shown: Candidate | None
    """The slower kernel in the prompt of an optimisation."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What a verdict is remembered by."""
        shown = self.shown.digest if self.shown is not None else ""
        return (self.kind, self.task.name, self.answer.digest, shown)


@dataclass(frozen=True)
class KnownFamily:
    """Tasks of one family with their kernels."""

    name: str
    members: tuple[tuple[AnyTask, tuple[KnownKernel, ...]], ...]
    kinds: frozenset[PairKind] = frozenset(PAIR_KINDS)
    """Which are drafted."""

    def cluster(self, seed: int, number: int) -> Iterator[KnownDraft]:
        """The drafts of one kernel; none beyond the last."""
        task, kernels = self.members[number % len(self.members)]
        visit = number // len(self.members)
        if visit >= len(kernels):
            return
        rng = random.Random(f"{seed}/{self.name}/{task.name}")
        order = rng.sample(kernels, len(kernels))
        answer = order[visit]
        asked = asked_as(task, answer.candidate)
        if "write" in self.kinds:
            yield KnownDraft("write", asked, answer.candidate, None)
        slower = [other for other in order if _claims_to_be_slower(other, answer)]
        if "optimise" in self.kinds and slower:
            yield KnownDraft("optimise", asked, answer.candidate, rng.choice(slower).candidate)

    @property
    def most(self) -> int:
        """So many drafts at most."""
        kernels = sum(len(found) for _, found in self.members)
        return kernels * len(self.kinds & {"write", "optimise"})

    def is_exhausted(self, number: int) -> bool:
        """Whether nothing is left from this cluster on."""
        return number >= len(self.members) * max(len(kernels) for _, kernels in self.members)


def known_families(
    config: TasksConfig, kinds: frozenset[PairKind] = frozenset(PAIR_KINDS)
) -> tuple[KnownFamily, ...]:
    """What the sources bring for the tasks that are trained on; reads their kernels."""
    book = task_book(config)
    tasks = {task.name: task for task in training_tasks(config) if task.name in book.by_name}
    kernels: dict[str, dict[str, KnownKernel]] = {name: {} for name in tasks}
    for kernel in (*_own_baselines(tasks.values()), *(read_kernels(config.sources) if tasks else ())):
        if kernel.task in tasks:
            kernels[kernel.task].setdefault(kernel.candidate.digest, kernel)
    members: dict[str, list[tuple[AnyTask, tuple[KnownKernel, ...]]]] = {}
    for name, found in kernels.items():
        if found:
            members.setdefault(tasks[name].family, []).append((tasks[name], tuple(found.values())))
    return tuple(KnownFamily(name, tuple(found), kinds) for name, found in sorted(members.items()))


def held_out_kernels(config: TasksConfig, names: Collection[str]) -> tuple[KnownKernel, ...]:
    """Answers that the sources bring for tasks that are held out."""
    return tuple(kernel for kernel in read_kernels(config.sources) if kernel.task in names)


def asked_as(task: AnyTask, answer: Candidate) -> AnyTask:
    """The task as it is asked where this is the answer."""
    if isinstance(task, ModuleTask) and answer.contract in ("extension", "module"):
        return task.model_copy(update={"contract": answer.contract})
    return task


def fenced(answer: Candidate) -> str:
    """Exactly one fenced block, as the contract's prompt asks for."""
    return f"```{'python' if answer.contract == 'module' else 'cuda'}\n{answer.source.strip()}\n```"


def _own_baselines(tasks: Iterable[AnyTask]) -> Iterator[KnownKernel]:
    """Of tasks that a user's code makes. The prompt of a `.cu` problem shows its naive kernel already."""
    for task in tasks:
        if isinstance(task, Task) and isinstance(task.oracle, OwnOracle):
            yield KnownKernel(task=task.name, candidate=Candidate(source=task.baseline))


def _claims_to_be_slower(other: KnownKernel, than: KnownKernel) -> bool:
    """Where there are no claims the judge alone knows: both ways are tried."""
    if other.candidate.digest == than.candidate.digest or other.candidate.contract != than.candidate.contract:
        return False
    if other.claimed_us is None or than.claimed_us is None:
        return True
    return other.claimed_us >= CLAIMED_FASTER * than.claimed_us
