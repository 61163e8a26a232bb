"""Many judgements at once, on this machine or on a cluster: one interface, the same records.

Guarantees: answers come back in the order of the questions; the same candidate for the same task is
judged once, also when it is asked for twice at the same time, and so is the same code under the same
launch plan once it has passed; a lane whose judge faults is closed and replaced, and its question is
asked again on a fresh one, `MAX_ATTEMPTS` times in all, before the fault is raised. A candidate's own
crash is a verdict, not a fault.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol

import structlog
from pydantic import Field

from coding_framework.config import JudgeConfig
from coding_framework.cuda.lane_process import ProcessLane
from coding_framework.cuda.lanes import JudgeLane, Lane, LaneAnswer
from coding_framework.cuda.task_identity import task_digest
from coding_framework.cuda.verdict_memory import VerdictMemory, restated
from coding_framework.errors import JudgeFault
from coding_framework.records import Candidate, CompilationResult, Evaluation, ModuleTask, Record, Task

_log = structlog.get_logger(__name__)

PAUSES_S = (0.0, 1.0, 10.0)
"""Before each attempt at a question: a death from outside hits one of them, and a GPU whose memory somebody
took is full for some seconds."""
MAX_ATTEMPTS = len(PAUSES_S)
"""How often a question is asked before its fault is raised."""


class PoolCounts(Record):
    """What a pool has done."""

    judged: int = Field(default=0, ge=0)
    """Candidates that went through the gates."""
    remembered: int = Field(default=0, ge=0)
    """Questions whose very text had been judged, or was being judged."""
    shared: int = Field(default=0, ge=0)
    """Candidates whose code had passed under another text."""
    faults: int = Field(default=0, ge=0)
    """Answers lost to faults of ours, and asked for again."""
    compiled: int = Field(default=0, ge=0)
    """Candidates that a compiler had to be asked about."""
    compile_cache_hits: int = Field(default=0, ge=0)
    """Those whose compilation lay in the cache."""
    waited_s: float = Field(default=0, ge=0)
    """Time from a question to a free lane, of all questions together."""

    def __add__(self, other: PoolCounts) -> PoolCounts:
        mine, its = self.model_dump(), other.model_dump()
        return PoolCounts(**{name: value + its[name] for name, value in mine.items()})

    def since(self, earlier: PoolCounts) -> PoolCounts:
        """What was added after `earlier`."""
        before = earlier.model_dump()
        return PoolCounts(**{name: value - before[name] for name, value in self.model_dump().items()})


class Lanes(Protocol):
    """Where the questions of a pool are answered."""

    @property
    def width(self) -> int:
        """How many at the same time."""

    def ask(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        """One question, once, on whichever lane is free; raises `JudgeFault`."""

    def close(self) -> None: ...


class LocalLanes:
    """Lanes of this machine, in turn on each of its devices: processes, or for a single one this process."""

    def __init__(self, config: JudgeConfig, make: Callable[[JudgeConfig], Lane] | None = None) -> None:
        heard: set[str] = set()
        self._make = make or (
            lambda one: ProcessLane(one, heard=heard) if config.num_workers > 1 else JudgeLane(one)
        )
        self.width = config.num_workers
        self._idle: queue.LifoQueue[tuple[Lane, JudgeConfig]] = queue.LifoQueue()
        for _, one in zip(range(self.width), cycle(config.by_gpu), strict=False):
            self._idle.put((self._make(one), one))

    def ask(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        """On the lane used last; one that faults is replaced, on the same device."""
        lane, config = self._idle.get()
        try:
            return lane.judge(task, candidate, known)
        except BaseException:  # whatever went wrong, nothing is known of the state of this lane
            lane.close()
            lane = self._make(config)
            raise
        finally:
            self._idle.put((lane, config))

    def close(self) -> None:
        """End every lane that is idle; safe to call twice."""
        while not self._idle.empty():
            self._idle.get_nowait()[0].close()


class JudgePool:
    """`config.num_workers` judges side by side."""

    def __init__(self, config: JudgeConfig | None = None, *, lanes: Lanes | None = None) -> None:
        self.config = config or JudgeConfig()
        self._lanes: Lanes = lanes or LocalLanes(self.config)
        self._threads = ThreadPoolExecutor(max_workers=self._lanes.width, thread_name_prefix="judge")
        self._memory = VerdictMemory()
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, str], Future[Evaluation]] = {}
        self.num_judged = 0
        """Candidates that went through the gates."""
        self.num_remembered = 0
        """Questions whose very text had been judged, or was being judged."""
        self.num_shared = 0
        """Candidates whose code had passed under another text."""
        self.num_faults = 0
        """Answers lost to faults of ours, and asked for again."""
        self._num_compiled = self._num_cache_hits = 0
        self._waited_s = 0.0

    @property
    def counts(self) -> PoolCounts:
        """Everything so far."""
        with self._lock:
            return PoolCounts(
                judged=self.num_judged,
                remembered=self.num_remembered,
                shared=self.num_shared,
                faults=self.num_faults,
                compiled=self._num_compiled,
                compile_cache_hits=self._num_cache_hits,
                waited_s=self._waited_s,
            )

    def judge(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        """One judgement, on the next free lane."""
        key = (f"{task.name} {task_digest(task)}", candidate.digest)
        known = self._memory.by_text(*key)
        if known is not None:
            self._count("num_remembered")
            return known
        with self._lock:
            underway = self._asked.get(key)
            if underway is None:
                mine = self._asked[key] = Future()
        if underway is not None:
            self._count("num_remembered")
            return underway.result()
        return self._settle(key, mine, task, candidate)

    async def judge_async(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        """The same without blocking the event loop."""
        loop, asked = asyncio.get_running_loop(), monotonic()

        def judge() -> Evaluation:
            self._count("_waited_s", monotonic() - asked)
            return self.judge(task, candidate)

        return await loop.run_in_executor(self._threads, judge)

    def judge_many(
        self,
        items: Iterable[tuple[Task | ModuleTask, Candidate]],
        on_done: Callable[[Evaluation], None] | None = None,
    ) -> list[Evaluation]:
        """All of them, in order; `on_done` is called as each is ready."""
        futures = [self._threads.submit(self.judge, task, candidate) for task, candidate in items]
        evaluations = []
        try:
            for future in futures:
                evaluations.append(future.result())
                if on_done:
                    on_done(evaluations[-1])
        finally:
            for future in futures:
                future.cancel()
        return evaluations

    def forget(self) -> None:
        """Judge again what was judged: drop every remembered verdict."""
        self._memory = VerdictMemory()

    def close(self) -> None:
        """End every worker process; safe to call twice."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._lanes.close()

    def _settle(
        self, key: tuple[str, str], mine: Future[Evaluation], task: Task | ModuleTask, candidate: Candidate
    ) -> Evaluation:
        """Judge, remember, and let everybody know who asked for the same meanwhile."""
        try:
            code_key, evaluation = self._judge_anew(key[0], task, candidate)
            self._memory.keep(*key, code_key, evaluation)
            mine.set_result(evaluation)
            return evaluation
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._asked[key]

    def _judge_anew(
        self, known_as: str, task: Task | ModuleTask, candidate: Candidate
    ) -> tuple[str, Evaluation]:
        answer = self._ask(task, candidate, self._memory.codes(known_as))
        self._count_compilation(answer.compilation)
        if answer.evaluation is None:
            passed = self._memory.by_code(known_as, answer.code_key)
            if passed is not None and answer.compilation is not None:
                self._count("num_shared")
                return answer.code_key, restated(
                    passed, candidate, answer.compilation, answer.findings, answer.duration_s
                )
            answer = self._ask(task, candidate, frozenset())  # forgotten while the lane compiled
        assert answer.evaluation is not None
        self._count("num_judged")
        return answer.code_key, answer.evaluation

    def _ask(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        for attempt, pause_s in enumerate(PAUSES_S, start=1):
            sleep(pause_s)
            try:
                return self._lanes.ask(task, candidate, known)
            except JudgeFault as fault:
                self._count("num_faults")
                _log.warning("judgement_lost", task=task.name, attempt=attempt, reason=str(fault)[:500])
                if attempt == MAX_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _count(self, name: str, more: float = 1) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + more)

    def _count_compilation(self, compilation: CompilationResult | None) -> None:
        if compilation is not None:
            self._count("_num_cache_hits" if compilation.from_cache else "_num_compiled")

    def __enter__(self) -> JudgePool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def open_pool(config: JudgeConfig | None = None) -> JudgePool:
    """The pool that the configuration names."""
    chosen = config or JudgeConfig()
    if chosen.pool == "ray":
        from coding_framework.cuda.ray_pool import RayJudgePool

        return RayJudgePool(chosen)
    return JudgePool(chosen)
