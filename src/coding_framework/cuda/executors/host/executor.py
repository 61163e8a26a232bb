"""Judging candidates with host code: `HostExecutor.judge_host(task, candidate) -> HostOutcome`.

Four processes: this one (the clock and the verdict), the verifier (the truth, in torch), the
candidate's child in a sandbox, and the reference's child in another. See `clocks.py` for why the time
cannot be talked down and `verifier/service.py` for why the answer cannot be known.

Guarantees: a candidate sees inputs, weights and room for outputs, nothing else; every call, timed or
not, is on fresh secret contents and is checked; checks and timed blocks alternate in one child; a
candidate that hangs, crashes or poisons its context costs its child alone. What fails on our side
raises `JudgeFault` and is no verdict.

It does not judge static safety, and it measures on a GPU only: `device="cpu"` runs the same protocol
for tests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import TracebackType

import structlog

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.gpu.lease import gpu_room, gpu_room_alone
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.coverage import check_own_kernels, require_kernels
from coding_framework.cuda.executors.host.outcome import HostOutcome, HostSettings, HostTiming
from coding_framework.cuda.executors.host.programs import ProgramBuilder
from coding_framework.cuda.executors.host.rejection import speaks_of_memory
from coding_framework.cuda.executors.host.session import Program
from coding_framework.cuda.executors.host.timing import ClocksDisagree, time_candidate
from coding_framework.cuda.executors.host.trial import Trial
from coding_framework.cuda.extension.records import ExtensionBuild
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.sandbox.base import Sandbox
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.cuda.worker import Worker
from coding_framework.errors import DeviceFull, JudgeFault, NotAvailableError
from coding_framework.records import MAX_SOURCE_BYTES, Candidate, ModuleTask, Verdict

_log = structlog.get_logger(__name__)
MAX_MEMORY_SHARE = 0.3
"""Of the device, which nobody holds by mistake: torch gives a candidate an eighth, or what its task needs."""
MAX_HEARINGS = 3
"""How often a candidate whose clocks disagree is heard, each time in a fresh process: what a busy machine
adds changes from one to the next, what is hidden from the clock does not."""


@dataclass
class _Stages:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass
class _Case:
    """One candidate before the judge, in however many hearings."""

    program: Program
    candidate: Candidate
    bench: TaskBench
    trial: Trial
    stages: _Stages
    is_covered: bool = False
    """Whether its kernels have been looked at; what is true of a program need not be found out again."""
    share: float | None = None


class HostExecutor:
    """Judges one candidate at a time; keeps the verifier and the last task's bench between them."""

    def __init__(
        self, config: JudgeConfig, sandbox: Sandbox | None = None, settings: HostSettings | None = None
    ) -> None:
        self.config = config
        self.settings = settings or HostSettings()
        self._require_device()
        self._sandbox = sandbox if sandbox is not None else _configured_sandbox(config)
        self._verifier = Worker(memory_limit_bytes=None, name="verifier")
        self._programs = ProgramBuilder(config)
        self._candidate_build: ExtensionBuild | None = None
        self._bench: TaskBench | None = None

    def judge_host(self, task: ModuleTask, candidate: Candidate) -> HostOutcome:
        """Everything there is to know about this candidate; raises only for faults of ours.

        Whatever goes wrong where others have the device's memory is no verdict: it is judged again when
        nobody else judges host code there.
        """
        with self._room(alone=False):
            try:
                return self._judge(task, candidate, alone=False)
            except JudgeFault as fault:
                if not isinstance(fault, DeviceFull) and not speaks_of_memory(str(fault)):
                    raise
                _log.info("judged_again_alone", task=task.name, reason=str(fault)[-500:])
        self._drop_bench()
        with self._room(alone=True):
            return self._judge(task, candidate, alone=True)

    def _room(self, *, alone: bool) -> AbstractContextManager[None]:
        """The device's memory. Who must wait for it gives back what it keeps for the next candidate."""
        if self.settings.device == "cpu":
            return nullcontext()
        if alone:
            return gpu_room_alone(self.config.gpu_index)
        return gpu_room(self.config.gpu_index, before_waiting=self._drop_bench)

    def _judge(self, task: ModuleTask, candidate: Candidate, *, alone: bool) -> HostOutcome:
        stages = _Stages()
        with stages.stage("prepare"):
            bench = self._bench_for(task)
        bench.is_alone = alone
        trial = Trial(bench)
        self._programs.last_build = self._candidate_build = None
        timing: HostTiming | None = None
        try:
            program = self._build(candidate, bench, stages)
            timing = self._hear(_Case(program, candidate, bench, trial, stages))
            verdict, message = Verdict.PASSED, passed_words(timing)
        except Rejected as rejection:
            verdict, message = rejection.verdict, str(rejection)
        except JudgeFault:
            taken_bytes = self._given_back_by(trial, bench)
            self._drop_bench()  # whatever it was, the next candidate starts afresh
            if taken_bytes is None:
                raise
            verdict = Verdict.CRASHED
            message = (
                f"it held {taken_bytes / 2**30:.0f} GiB of the device's memory, so that nothing was left to "
                "judge it with: give back what a call does not need any more"
            )
        finally:
            trial.close()
        self._rest(bench)
        return HostOutcome(
            verdict=verdict,
            message=message,
            checks=tuple(trial.checks),
            num_checks_planned=trial.num_planned,
            timing=timing,
            build=self._candidate_build,
            notes=tuple(trial.notes),
            gate_seconds=stages.seconds,
        )

    def close(self) -> None:
        """End every process."""
        self._drop_bench()
        self._verifier.close()
        self._programs.close()

    def __enter__(self) -> HostExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _build(self, candidate: Candidate, bench: TaskBench, stages: _Stages) -> Program:
        _require_source(candidate)
        if candidate.contract == "extension" and self.settings.require_own_kernels:
            require_kernels(candidate)
        with stages.stage("compile"):
            try:
                return self._programs.build(candidate, bench.base)
            finally:
                self._candidate_build = self._programs.last_build

    def _hear(self, case: _Case) -> HostTiming:
        for hearing in range(1, MAX_HEARINGS):
            try:
                return self._pass(case, is_last=False)
            except ClocksDisagree as doubt:
                _log.info("heard_again", task=case.bench.task.name, hearing=hearing, reason=str(doubt))
                case.trial.start_over()
        return self._pass(case, is_last=True)

    def _pass(self, case: _Case, *, is_last: bool) -> HostTiming:
        bench, trial, stages = case.bench, case.trial, case.stages
        with stages.stage("load"):
            bench.warm_reference()
            trial.load(case.program)
        with stages.stage("check"), bench.lease(shared=True):
            trial.check_shapes()
            trial.settle()
        with stages.stage("time"), bench.lease():
            patience_s = self.settings.patience_s if is_last else 0.0
            blocks, references = trial.time_blocks(patience_s=patience_s)
        trial.close()
        if not case.is_covered:
            with stages.stage("coverage"):
                case.share = check_own_kernels(case.candidate, case.program, bench, self._programs)
            case.is_covered = True
        with stages.stage("time"), bench.lease():
            return time_candidate(bench, self.settings, blocks, references, case.share)

    def _bench_for(self, task: ModuleTask) -> TaskBench:
        if self._bench is not None and self._bench.task != task:
            self._drop_bench()
        if self._bench is None:
            self._bench = TaskBench(task, self.config, self.settings, self._sandbox, self._verifier)
        return self._bench

    def _rest(self, bench: TaskBench) -> None:
        """A verifier that fails here costs the bench, and not the verdict that there is."""
        try:
            bench.rest()
        except JudgeFault as fault:
            _log.warning("bench_dropped", task=bench.task.name, reason=str(fault))
            self._drop_bench()

    def _given_back_by(self, trial: Trial, bench: TaskBench) -> int | None:
        """What ending a candidate frees of the device, if that is so much that it broke the judge."""
        try:
            before, total = bench.memory_bytes()
            trial.close()
            after, _ = bench.memory_bytes()
        except JudgeFault:  # the verifier is gone, and nobody can tell
            return None
        return after - before if after - before > MAX_MEMORY_SHARE * total else None

    def _drop_bench(self) -> None:
        bench, self._bench = self._bench, None
        if bench is not None:
            bench.close()

    def _require_device(self) -> None:
        if self.settings.device == "cpu":
            return
        _, gpus, reason = find_gpus()
        if self.config.gpu_index >= len(gpus):
            raise NotAvailableError(
                "candidates with host code (contracts `extension` and `module`) need an NVIDIA GPU: "
                f"{reason or f'there is no device {self.config.gpu_index}'}. Without one, use the contract "
                "`kernel`, which the emulator judges"
            )


def _require_source(candidate: Candidate) -> None:
    if not candidate.source.strip():
        raise Rejected(Verdict.NO_CANDIDATE, "the source is empty")
    if len(candidate.source.encode()) > MAX_SOURCE_BYTES:
        raise Rejected(Verdict.NO_CANDIDATE, f"the source is longer than {MAX_SOURCE_BYTES:,} bytes")


def passed_words(timing: HostTiming) -> str:
    """How fast it is, beside what."""
    share = timing.own_kernel_share
    own = f", {share:.0%} of its device time in kernels of its own" if share is not None else ""
    speedup = timing.reference_median_us / timing.median_us
    return (
        f"correct. measured time {timing.median_us:.1f} us, {speedup:.2f}x the speed of the module in eager "
        f"PyTorch ({timing.reference_median_us:.1f} us){own}"
    )


def _configured_sandbox(config: JudgeConfig) -> Sandbox:
    from coding_framework.cuda.safety_wrapper import SafetyWrapper  # its analysers take long to load

    return SafetyWrapper(config).sandbox
