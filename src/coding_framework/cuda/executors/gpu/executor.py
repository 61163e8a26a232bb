"""The GPU as the judge sees it: run, measure, verify; each in a process that can be lost.

The candidate runs in one worker process, its answers are verified in another. A worker whose context
was poisoned, or that hung, is ended and replaced. Whatever touches the device holds its lease.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from coding_framework.cuda.executors.base import (
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
)
from coding_framework.cuda.executors.gpu.launch_costs import MAX_CONTEXTS, LaunchCosts
from coding_framework.cuda.executors.gpu.layout import arena_bytes
from coding_framework.cuda.executors.gpu.lease import gpu_lease
from coding_framework.cuda.executors.gpu.messages import (
    DeviceFacts,
    MeasureOutcome,
    MeasureRequest,
    RunAnswer,
    SetResult,
    TorchBaselineRequest,
    VerifyRequest,
)
from coding_framework.cuda.worker import Worker, once_more
from coding_framework.errors import JudgeFault, WorkerDied, WorkerNotStarted, WorkerTimeout

_RUNNER = "coding_framework.cuda.executors.gpu.runner"
_CONTEXT = "coding_framework.cuda.executors.gpu.context"
_MEASUREMENT = "coding_framework.cuda.executors.gpu.measurement"
_VERIFIER = "coding_framework.cuda.executors.gpu.verifier"
_TORCH = "coding_framework.cuda.executors.gpu.torch_baselines:time_torch"
_START_TIMEOUT_S = 120.0
_TORCH_TIMEOUT_S = 300.0
_OWN_TIMEOUT_S = 60.0
"""For steps that run nothing of the candidate's and share the device with those who may."""
_PATIENCE = 0.5
"""Share of the limit after which runs beside others are given up, to be made alone."""
_FIRST_RUN_S = 0.5
"""Limit of a first run that is made alone: small, so that an honest one takes microseconds."""


class GpuExecutor:
    """One candidate at a time on one device."""

    def __init__(self, *, device_index: int, harness_cubin: bytes) -> None:
        self._device_index = device_index
        self._harness_cubin = harness_cubin
        self._worker = Worker(memory_limit_bytes=None, name="gpu")
        self._facts: DeviceFacts | None = None
        self._is_warm = self._times_truly = False
        self._arena = b""
        self._arena_capacity = 0
        self._stale = b""
        self._holds_memory = self._keeps_memory = False

    @property
    def _ours(self) -> tuple[int, bytes]:
        """What a worker needs to find or make our session."""
        return self._device_index, self._harness_cubin

    @property
    def facts(self) -> DeviceFacts:
        """What card this is."""
        if self._facts is None:
            self._facts = self._worker.call(
                f"{_RUNNER}:describe", self._device_index, timeout_s=_START_TIMEOUT_S
            )
        return self._facts

    def run(self, request: ExecutionRequest, *, timeout_s: float) -> ExecutionOutcome:
        """One run with fresh module state; shared memory is dirtied differently each time."""
        return next(self.run_many([request], timeout_s=timeout_s))

    def run_many(
        self, requests: Iterable[ExecutionRequest], *, timeout_s: float
    ) -> Iterator[ExecutionOutcome]:
        """All runs under one lease, because every change of process costs the device time.

        What travels between processes travels without it. Whoever takes long beside others is asked again
        alone: the device serves a neighbour's endless loop in turn with everybody's work, and the limit is on
        a candidate's own. Most that hang do so in their first run, which is tried by itself before, because
        everybody waits for who is alone.
        """
        runs = tuple(requests)
        answer = self._run_all(runs, _PATIENCE * timeout_s, shared=True)
        if answer.timed_out:
            answer = self._run_alone(runs, timeout_s)
        yield from answer.outcomes

    def _run_alone(self, runs: tuple[ExecutionRequest, ...], timeout_s: float) -> RunAnswer:
        if len(runs) > 1:
            first = self._run_all(runs[:1], min(timeout_s, _FIRST_RUN_S), shared=False)
            if first.timed_out:
                return first
        return self._run_all(runs, timeout_s, shared=False)

    def _run_all(self, runs: tuple[ExecutionRequest, ...], timeout_s: float, *, shared: bool) -> RunAnswer:
        if self._keeps_memory:
            self._replace()  # what an earlier candidate took is for others to use
        try:
            answer = once_more(lambda: self._run_staged(runs, timeout_s, shared=shared))
        except WorkerNotStarted:
            raise
        except WorkerDied as error:
            return _lost_runs(error, timeout_s)
        self._keeps_memory = answer.keeps_memory
        if answer.is_poisoned:
            with gpu_lease(self._device_index, shared=True):
                self._end()
        return answer

    def _run_staged(self, runs: tuple[ExecutionRequest, ...], timeout_s: float, *, shared: bool) -> RunAnswer:
        """Stage, run, collect, in one process."""
        with self._losing_it_if_it_ends():
            self._warm_up()
            self._worker.call(f"{_RUNNER}:stage", runs, timeout_s=_OWN_TIMEOUT_S)
            with gpu_lease(self._device_index, shared=shared):
                try:
                    self._worker.call(f"{_RUNNER}:run_staged", *self._ours, timeout_s=timeout_s)
                except WorkerTimeout as error:
                    self._lose()
                    return _lost_runs(error, timeout_s)
            answer: RunAnswer = self._worker.call(f"{_RUNNER}:collect", timeout_s=_OWN_TIMEOUT_S)
            return answer

    def measure(self, request: MeasureRequest, *, timeout_s: float) -> MeasureOutcome:
        """The calls; the device is held alone for them, and shared before and after."""
        try:
            outcome = once_more(lambda: self._measure(request, timeout_s))
        except WorkerNotStarted:
            raise
        except WorkerDied as error:
            return MeasureOutcome(_lost(error, timeout_s))
        if outcome.is_poisoned:
            self._end()
        elif outcome.arena:
            if outcome.arena != self._arena:  # a fresh process has an arena of its own
                self._drop_arena()
            self._arena, self._arena_capacity = outcome.arena, outcome.arena_capacity
        return outcome

    def _measure(self, request: MeasureRequest, timeout_s: float) -> MeasureOutcome:
        """Prepare, run, collect, in one process; the first that fails is the outcome."""
        with self._losing_it_if_it_ends():
            self._warm_up()
            if not request.is_trial:
                self._choose_context()
            self._holds_memory = True
            failed: MeasureOutcome | None
            with gpu_lease(self._device_index, shared=True):
                failed = self._worker.call(f"{_MEASUREMENT}:prepare", request, timeout_s=_OWN_TIMEOUT_S)
            if failed is not None:
                return failed
            with gpu_lease(self._device_index):
                try:
                    failed = self._worker.call(f"{_MEASUREMENT}:run_prepared", timeout_s=timeout_s)
                except WorkerTimeout as error:
                    self._lose()
                    return MeasureOutcome(_lost(error, timeout_s))
                if failed is not None and failed.is_poisoned:
                    self._end()  # what may be running is over before anybody else begins
            if failed is not None:
                return failed
            with gpu_lease(self._device_index, shared=True):
                outcome: MeasureOutcome = self._worker.call(
                    f"{_MEASUREMENT}:collect", timeout_s=_OWN_TIMEOUT_S
                )
            return outcome

    @contextmanager
    def _losing_it_if_it_ends(self) -> Iterator[None]:
        """Whoever asks again finds a fresh process, not a warm one."""
        try:
            yield
        except (WorkerDied, WorkerTimeout):
            self._lose()
            raise

    def stale_arena(self, request: MeasureRequest | None = None) -> bytes:
        """The handle that nobody may use any more: its process or context is gone, or is about to go for
        `request`, or that outgrows it. Empty where there is none.
        """
        if request is not None and self._arena and self._is_in_the_way_of(request):
            self._drop_arena()
        stale, self._stale = self._stale, b""
        return stale

    def _is_in_the_way_of(self, request: MeasureRequest) -> bool:
        chooses_context = not (request.is_trial or self._times_truly)
        return chooses_context or arena_bytes(request) > self._arena_capacity

    @property
    def holds_memory(self) -> bool:
        """Whether there may be memory of timed calls."""
        return self._holds_memory or self._keeps_memory

    def release(self) -> None:
        """Give the memory of the timed calls back; the caller holds the lease, and nobody has it open."""
        try:
            self._worker.call(f"{_MEASUREMENT}:release", *self._ours, timeout_s=_OWN_TIMEOUT_S)
        except JudgeFault:
            self._replace()  # a process that ends gives it back too
        if self._keeps_memory:
            self._replace()
        self._arena, self._arena_capacity, self._stale, self._holds_memory = b"", 0, b"", False

    def _drop_arena(self) -> None:
        if self._arena:
            self._stale, self._arena, self._arena_capacity = self._arena, b"", 0

    def prepare(self) -> None:
        """Start what takes long, before anyone waits for the lease; and choose what times are taken in."""
        self._warm_up()
        self._choose_context()

    def close(self) -> None:
        self._worker.close()
        self._is_warm = self._times_truly = False

    def _warm_up(self) -> None:
        """A process that ends before it has seen a kernel has not started, whoever it was started for."""
        if self._is_warm:
            return
        try:
            self._worker.call(f"{_RUNNER}:warm_up", *self._ours, timeout_s=_START_TIMEOUT_S)
        except WorkerDied as error:
            raise WorkerNotStarted(str(error)) from error
        self._is_warm = True

    def _choose_context(self) -> None:
        """One of the kind that all times are taken in (`launch_costs`), before the first of them.

        Not before checks: those who are lost in them are many, and each choice holds the device alone.
        """
        if self._times_truly:
            return
        try:
            self._try_contexts()
        except WorkerDied as error:
            raise WorkerNotStarted(str(error)) from error
        self._times_truly = True

    def _try_contexts(self) -> None:
        costs = LaunchCosts(self._device_index)
        for _ in range(MAX_CONTEXTS - 1):
            with gpu_lease(self._device_index):
                cost_us = self._worker.call(
                    f"{_CONTEXT}:launch_cost_us", *self._ours, timeout_s=_START_TIMEOUT_S
                )
                if costs.is_of_the_faster_kind(cost_us):
                    return
            self._worker.call(f"{_CONTEXT}:renew", *self._ours, timeout_s=_START_TIMEOUT_S)

    def _replace(self) -> None:
        self._worker.close()
        self._lose()

    def _end(self) -> None:
        """At once: a context that is lost, or still at work, has nothing to put in order."""
        self._worker.kill()
        self._lose()

    def _lose(self) -> None:
        """The process is gone, and with it the memory that it had."""
        self._is_warm = self._times_truly = self._holds_memory = self._keeps_memory = False
        self._drop_arena()

    def __enter__(self) -> GpuExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _lost_runs(error: Exception, timeout_s: float) -> RunAnswer:
    return RunAnswer((ExecutionOutcome(_lost(error, timeout_s), {}, ()),))


def _lost(error: Exception, timeout_s: float) -> ExecutionFault:
    if isinstance(error, WorkerTimeout):
        return ExecutionFault(
            FaultKind.TIMEOUT,
            f"the kernel did not finish within {timeout_s:g} s; look for a loop that never ends",
        )
    return ExecutionFault(FaultKind.CRASHED, f"the kernel ended its process, twice: {error}")


@dataclass
class GpuVerifier:
    """The process that knows the answers; used under the lease."""

    device_index: int
    _worker: Worker = field(init=False)
    _is_warm: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._worker = Worker(memory_limit_bytes=None, name="gpu verifier")

    def prepare(self) -> None:
        """Load torch; raises a fault of ours where it cannot see the GPU."""
        with self._lock:
            if not self._is_warm:
                self._worker.call(f"{_VERIFIER}:warm_up", self.device_index, timeout_s=_START_TIMEOUT_S)
                self._is_warm = True

    def verify(self, request: VerifyRequest, *, timeout_s: float = 60.0) -> tuple[SetResult, ...]:
        results: tuple[SetResult, ...] = self._worker.call(
            f"{_VERIFIER}:verify", request, timeout_s=timeout_s
        )
        return results

    def forget(self, handle: bytes) -> None:
        """Let go of the memory behind a handle; the caller holds the lease."""
        self._worker.call(f"{_VERIFIER}:forget", handle, timeout_s=_START_TIMEOUT_S)

    def release(self) -> None:
        """Let go of all memory but its context's; the caller holds the lease."""
        try:
            self._worker.call(f"{_VERIFIER}:release", timeout_s=_OWN_TIMEOUT_S)
        except JudgeFault:
            self.close()  # a process that ends lets go too

    def time_torch(self, request: TorchBaselineRequest) -> tuple[float, ...]:
        """PyTorch's times for the task; the caller holds the lease."""
        times: tuple[float, ...] = self._worker.call(_TORCH, request, timeout_s=_TORCH_TIMEOUT_S)
        return times

    def close(self) -> None:
        self._worker.close()
        self._is_warm = False
