"""Everything trusted that judging a task needs: prepared shapes in the verifier, and the reference's child.

One bench serves all candidates of its task. The reference runs in a sandboxed child like any
candidate, by the same program, over exchange memory of its own, and never shares a process with one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.gpu.lease import gpu_lease
from coding_framework.cuda.executors.host.channel import ChildFault
from coding_framework.cuda.executors.host.child_request import child_request
from coding_framework.cuda.executors.host.clocks import Block
from coding_framework.cuda.executors.host.exchange.folder import ExchangeFolder
from coding_framework.cuda.executors.host.exchange.layout import allowed_bytes
from coding_framework.cuda.executors.host.outcome import HostSettings
from coding_framework.cuda.executors.host.rejection import speaks_of_memory
from coding_framework.cuda.executors.host.session import (
    CandidateProblem,
    ChildSession,
    Claim,
    Program,
    SeenKernels,
)
from coding_framework.cuda.executors.host.verifier.drawing import SetDistribution
from coding_framework.cuda.executors.host.verifier.records import (
    SetFill,
    SetReport,
    ShapeFacts,
    ShapeJob,
    TaskUnusable,
)
from coding_framework.cuda.sandbox.base import Sandbox
from coding_framework.cuda.worker import Worker
from coding_framework.errors import DeviceFull, JudgeFault, UserError
from coding_framework.records import ModuleTask

_Answer = TypeVar("_Answer")
BASE, REFERENCE = "base", "reference"
_VERIFIER = "coding_framework.cuda.executors.host.verifier.service:"
_PREPARE_TIMEOUT_S = 120.0
_VERIFY_TIMEOUT_S = 120.0
_REFERENCE_LIFE_S = 24 * 3600.0
_LEAST_LIMIT_S = 0.01
_WORDS = 200
_LITTLE_SHARE = 1 / 128
"""Of the device: where less is free, whatever goes wrong may come of that."""


@dataclass(frozen=True)
class Examined:
    """Some calls of a child, timed by us and read by the verifier."""

    block: Block
    reports: tuple[SetReport, ...]


class TaskBench:
    """A task set up for judging."""

    def __init__(
        self,
        task: ModuleTask,
        config: JudgeConfig,
        settings: HostSettings,
        sandbox: Sandbox,
        verifier: Worker,
    ) -> None:
        self.task = task
        self.config, self.settings, self._sandbox, self._verifier = config, settings, sandbox, verifier
        self._folder = ExchangeFolder()
        self._random = random.Random(config.secret) if config.secret else random.SystemRandom()
        self.shapes: dict[str, ShapeFacts] = {}
        self._references: dict[str, ChildSession] = {}
        self.is_alone = False
        """Whether nobody else judges host code on the device."""
        try:
            wanted = -(-config.timed_launches // settings.blocks)
            self._prepare(BASE, {}, wanted)
            self._prepare(REFERENCE, {}, wanted)
            for index, overrides in enumerate(task.hidden_constants):
                self._prepare(f"hidden {index}", overrides, 2)
        except BaseException:
            self.close()
            raise

    @property
    def base(self) -> ShapeFacts:
        return self.shapes[BASE]

    @property
    def calls_per_block(self) -> int:
        """Of a timed block: the same for both sides, however little memory the second found."""
        return min(self.shapes[name].layout.num_sets for name in (BASE, REFERENCE))

    @property
    def timed_distribution(self) -> SetDistribution:
        """Of every timed call: rows of all sizes, so that no shortcut for harmless ones is worth anything."""
        usable = {*self.base.distributions} & {*self.shapes[REFERENCE].distributions}
        return "mixed" if "mixed" in usable else "normal"

    @property
    def hidden(self) -> tuple[tuple[str, dict[str, int]], ...]:
        """(name, constants) of each hidden shape."""
        return tuple((f"hidden {i}", constants) for i, constants in enumerate(self.task.hidden_constants))

    def start_child(
        self, *, wall_s: float, names: tuple[str, ...], is_profiled: bool = False
    ) -> ChildSession:
        """A child with the memory of these shapes open and nothing loaded; what fails here is our fault."""
        files = tuple(self._arena_path(name) for name in names) if self.settings.device == "cpu" else ()
        request = child_request(self.config, device=self.settings.device, wall_s=wall_s, arena_files=files)
        limit_s = self.settings.start_timeout_s
        session: ChildSession | None = None
        try:
            session = ChildSession(self._sandbox, request, start_timeout_s=limit_s)
            for name in names:
                session.open(name, self.shapes[name], limit_s)
            session.sees_kernels = is_profiled and session.rehearse(self.settings.device, limit_s)
        except (ChildFault, CandidateProblem) as error:
            ending = session.close() if session is not None else None
            last = ending.stderr.decode(errors="replace")[-1000:] if ending is not None else ""
            raise JudgeFault(
                f"a child could not be started in the {self._sandbox.name} sandbox: {error}\n{last}"
            ) from error
        return session

    def pick(self, count: int) -> int:
        """A secret number below `count`."""
        return self._random.randrange(count)

    def fills(
        self, name: str, count: int, distribution: SetDistribution, *, repeat: bool = False
    ) -> tuple[SetFill, ...]:
        """Secret contents for `count` different sets; `repeat` puts the same contents into all of them."""
        indices = self._random.sample(range(self.shapes[name].layout.num_sets), count)
        seeds = [self._seed() for _ in indices]
        return tuple(
            SetFill(index, seeds[0] if repeat else seed, distribution, self._random.randrange(256))
            for index, seed in zip(indices, seeds, strict=True)
        )

    def run(self, session: ChildSession, name: str, fills: tuple[SetFill, ...], timeout_s: float) -> Examined:
        """Fill a set, run, stop the clock when the verifier has the outputs; the next one. Then look at them.

        What a call is given comes when the one before is over and its outputs are taken: there is nothing
        to begin with earlier, and nothing to do for several calls at once.
        """
        walls: list[float] = []
        claims: list[Claim] = []
        for fill in fills:
            ask = partial(session.run, name, fill, max(timeout_s - sum(walls) / 1e6, _LEAST_LIMIT_S))
            took_us, claim = self._timed_call(session, name, fill, ask)
            walls.append(took_us)
            claims.append(claim)
        block = Block(
            wall_us=tuple(walls),
            claimed_us=tuple(min(claim.time_us, wall) for claim, wall in zip(claims, walls, strict=True)),
            left_us=tuple(claim.left_us for claim in claims),
        )
        return Examined(block, self._ask("examine", name, fills))

    def profile(
        self, session: ChildSession, name: str, fill: SetFill, timeout_s: float
    ) -> tuple[SeenKernels, tuple[SetReport, ...]]:
        """Like `run` for one call, with what ran on the device instead of a time."""
        ask = partial(session.profile, name, fill, timeout_s)
        _, seen = self._timed_call(session, name, fill, ask)
        return seen, self._ask("examine", name, (fill,))

    def _timed_call(
        self, session: ChildSession, name: str, fill: SetFill, call: Callable[[], _Answer]
    ) -> tuple[float, _Answer]:
        """Microseconds from the request until the outputs are the verifier's, and what the child says.

        The child is stopped while its inputs are put there: whatever it has set up to be woken by finds
        them when the clock runs.
        """
        session.freeze()
        try:
            self._ask("fill", name, fill)
            started = time.perf_counter()
        finally:
            session.thaw()
        answer = call()
        self._ask("collect", name, fill.index)
        return (time.perf_counter() - started) * 1e6, answer

    def lease(self, *, shared: bool = False) -> AbstractContextManager[None]:
        """The device, for ourselves while we time; starting children and loading need no lease."""
        if self.settings.device == "cpu":
            return nullcontext()
        return gpu_lease(self.config.gpu_index, shared=shared)

    def warm_reference(self) -> None:
        """Start the reference's child, which takes seconds, before anyone waits for the device."""
        if "eager" not in self._references:
            self._start_reference("eager", warm_up_lease=self.lease(shared=True))

    def reference_block(self, variant: str = "eager") -> Block:
        """One timed block of the reference."""
        session = self._references.get(variant) or self._start_reference(variant)
        fills = self.fills(REFERENCE, self.calls_per_block, self.timed_distribution)
        try:
            examined = self.run(session, REFERENCE, fills, self.config.run_timeout_s)
        except (ChildFault, CandidateProblem) as error:
            self._references.pop(variant).close()
            raise JudgeFault(f"the reference of {self.task.name} ({variant}) failed: {error}") from error
        if not all(report.right for report in examined.reports):
            worst = max(report.max_error_ratio for report in examined.reports)
            raise JudgeFault(
                f"the reference of {self.task.name} misses its own budget {worst:.1f} times over"
            )
        return examined.block

    def rest(self) -> None:
        """Between two candidates: memory that the verifier took to look at one is for others to use."""
        with self.lease(shared=True):
            self._verifier.call(_VERIFIER + "rest", self.settings.device, timeout_s=_VERIFY_TIMEOUT_S)

    def memory_bytes(self) -> tuple[int, int]:
        """Of the device: what is free now, and what there is in all."""
        answer: tuple[int, int] = self._verifier.call(
            _VERIFIER + "memory", self.settings.device, timeout_s=_VERIFY_TIMEOUT_S
        )
        return answer

    def require_room(self, words: str) -> None:
        """Raise `DeviceFull` where a candidate may have failed, with these words, for want of memory.

        Asked when it is gone: what it had itself is free then. The words are its own, and gain it nothing but
        to be judged again, alone. There an eighth of the device is enough: of a task with large tensors we
        hold so much ourselves that nobody would ever find all that is allowed, and words would be a way out.
        """
        free, total = self.memory_bytes()
        set_bytes = 0 if self.is_alone else max(facts.layout.set_bytes for facts in self.shapes.values())
        needed = allowed_bytes(set_bytes, total) if speaks_of_memory(words) else _LITTLE_SHARE * total
        if free < needed:
            raise DeviceFull(
                f"of the device's memory only {free / 2**30:.1f} GiB are free, so nothing can be said of a "
                f"candidate that failed: judge with fewer workers. It said: {words[-_WORDS:]}"
            )

    def close(self) -> None:
        for session in self._references.values():
            session.close()
        self._references.clear()
        for name in self.shapes:
            with suppress(JudgeFault):  # a verifier that is gone holds nothing
                self._ask("forget", name)
        self.shapes.clear()
        self._folder.close()

    def _start_reference(
        self, variant: str, warm_up_lease: AbstractContextManager[None] | None = None
    ) -> ChildSession:
        """`warm_up_lease` is for a caller that does not hold the device already."""
        session = self.start_child(wall_s=_REFERENCE_LIFE_S, names=(REFERENCE,))
        program = Program(
            "module",
            class_name=_REFERENCE_CLASS[variant],
            source=self.task.source + _COMPILED,
            is_trusted=True,
        )
        try:
            session.load(program, self.settings.device, self.settings.load_timeout_s)
            session.configure(REFERENCE, self.shapes[REFERENCE], program, self.settings.load_timeout_s)
            with warm_up_lease or nullcontext():
                self.run(session, REFERENCE, self.fills(REFERENCE, 2, "normal"), self.settings.load_timeout_s)
        except (ChildFault, CandidateProblem) as error:
            session.close()
            raise JudgeFault(
                f"the reference of {self.task.name} ({variant}) does not run: {error}"
            ) from error
        self._references[variant] = session
        return session

    def _prepare(self, name: str, overrides: dict[str, int], num_sets: int) -> None:
        path = self._arena_path(name)
        path.touch()
        job = ShapeJob(
            key=self._key(name),
            task=self.task.name,
            source=self.task.source,
            overrides=overrides,
            device=self.settings.device,
            gpu_index=self.config.gpu_index,
            arena_path=str(path),
            num_sets=max(num_sets, 2),
            flush_bytes=self.settings.flush_bytes,
            relative=self.task.tolerance.relative,
            absolute=self.task.tolerance.absolute,
            seed=self._seed(),
        )
        with self.lease(shared=True):
            facts = self._verifier.call(_VERIFIER + "prepare", job, timeout_s=_PREPARE_TIMEOUT_S)
        if isinstance(facts, TaskUnusable):
            raise (DeviceFull if facts.for_now else UserError)(facts.words)
        self.shapes[name] = facts

    def _ask(self, function: str, name: str, *arguments: object) -> tuple[SetReport, ...]:
        answer: tuple[SetReport, ...] = self._verifier.call(
            _VERIFIER + function, self._key(name), *arguments, timeout_s=_VERIFY_TIMEOUT_S
        )
        return answer

    def _key(self, name: str) -> str:
        return f"{id(self)} {name}"

    def _arena_path(self, name: str) -> Path:
        return self._folder.path / name.replace(" ", "-")

    def _seed(self) -> int:
        return self._random.getrandbits(62)


_REFERENCE_CLASS = {"eager": "Model", "torch.compile": "CompiledModel"}
_COMPILED = """

class CompiledModel(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.compile()
"""
