"""The single door: `judge(task, candidate) -> Evaluation`.

Gates in order: contract → static safety → compile → run and check on visible and hidden shapes → time
and profile. The first failure ends it with a verdict that names the gate and says why. Guarantees:

- the candidate's process sees its inputs only: seeds are drawn after the candidate is known, and
  expected outputs, tolerances and the clock stay outside of it;
- a candidate that hangs, crashes, eats memory or poisons a GPU context costs one worker;
- a kernel's failure is a value; a failure of ours raises `JudgeFault` and is never a reward;
- times on the emulator are modelled from exact counts and labelled so in every record.

Contract `kernel` runs on the emulator or on a GPU. Contracts `extension` and `module` hold host code:
they need a `ModuleTask`, a GPU and a sandbox (`cuda/executors/host/`).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import NoReturn

from coding_framework.config import JudgeConfig
from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.cuda.analysis.signature import kernel_signatures, no_number_words
from coding_framework.cuda.backend import open_backend
from coding_framework.cuda.check_runner import Subject
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.contract import ContractViolation, buffer_names, parse_launch_plan
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.rejection import Progress, Rejected
from coding_framework.cuda.secrecy import secrets_of
from coding_framework.cuda.task_identity import code_digest
from coding_framework.cuda.verdicts import (
    compile_error_words,
    contract_words,
    passed_words,
    unsafe_words,
    without_sizes,
)
from coding_framework.records import (
    MAX_SOURCE_BYTES,
    Candidate,
    CompilationResult,
    Evaluation,
    Finding,
    Gate,
    KernelTiming,
    LaunchPlan,
    ModuleTask,
    ProfileReport,
    Task,
    Verdict,
)

_GATE_OF_STAGE = {"prepare": Gate.CONTRACT, "compile": Gate.COMPILE, "load": Gate.RUN, "time": Gate.TIME}


class Judge:
    """Judges one candidate at a time with one compiler and one executor of its own."""

    def __init__(
        self,
        config: JudgeConfig | None = None,
        *,
        compiler: CUDACompiler | None = None,
        device: DeviceModel = H200,
    ) -> None:
        self.config = config or JudgeConfig()
        self._compiler = compiler or CUDACompiler(CompilerSettings.for_judge(self.config))
        self._backend = open_backend(self.config, self._compiler, device)
        self._host: HostExecutor | None = None
        self._security = SecurityValidator()
        self._safety = CUDASafetyAnalyzer()

    def judge(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        """Everything there is to know about this candidate; raises only for faults of ours."""
        progress = Progress()
        try:
            timing, profile = self._pass_gates(task, candidate, progress)
        except Rejected as rejection:
            return _evaluation(
                task, candidate, progress, rejection.verdict, str(rejection), source_line=rejection.line
            )
        except ContractViolation as violation:  # a plan that has no value for the shape that is timed
            return _evaluation(
                task,
                candidate,
                progress,
                Verdict.BAD_LAUNCH_PLAN,
                without_sizes(str(violation)),
                source_line=violation.line,
            )
        message = passed_words(timing, profile)
        return _evaluation(task, candidate, progress, Verdict.PASSED, message, timing=timing, profile=profile)

    def findings(self, candidate: Candidate) -> tuple[Finding, ...]:
        """What is said of this text whether it runs or not."""
        security, safety = self._findings(candidate)
        return (*security, *safety)

    def close(self) -> None:
        """End the worker processes."""
        self._compiler.close()
        self._backend.close()
        if self._host is not None:
            self._host.close()

    def _pass_gates(
        self, task: Task | ModuleTask, candidate: Candidate, progress: Progress
    ) -> tuple[KernelTiming, ProfileReport | None]:
        with progress.gate(Gate.CONTRACT):
            _check_size(candidate)
        with progress.gate(Gate.SAFETY):
            self._analyse(candidate, progress)
        if isinstance(task, ModuleTask) or candidate.contract != "kernel":
            return self._judge_host_code(task, candidate, progress)
        return self._judge_kernel(task, candidate, progress)

    def _judge_kernel(
        self, task: Task, candidate: Candidate, progress: Progress
    ) -> tuple[KernelTiming, ProfileReport | None]:
        with progress.gate(Gate.CONTRACT):
            plan = _read_plan(task, candidate)
        with progress.gate(Gate.COMPILE):
            progress.compilation = self._compiler.compile(candidate.source)
            if not progress.compilation.success:
                _reject_uncompiled(progress.compilation, candidate.source)
        secrets = secrets_of(self.config.secret, code_digest(task, plan, progress.compilation))
        subject = Subject(task, plan, progress.compilation, secrets)
        progress.deadline = time.monotonic() + self._backend.total_timeout_s
        with progress.gate(Gate.CHECK):
            self._backend.runner.check_all(subject, progress)
        with progress.gate(Gate.TIME):
            return self._backend.timer.time(subject, progress)

    def _judge_host_code(
        self, task: Task | ModuleTask, candidate: Candidate, progress: Progress
    ) -> tuple[KernelTiming, ProfileReport | None]:
        if not isinstance(task, ModuleTask) or candidate.contract == "kernel":
            raise Rejected(Verdict.BAD_LAUNCH_PLAN, contract_words(task, candidate.contract))
        self._host = self._host or HostExecutor(self.config)
        self._backend.release()
        outcome = self._host.judge_host(task, candidate)
        progress.checks = list(outcome.checks)
        progress.num_checks_planned = outcome.num_checks_planned
        if outcome.checks and not outcome.checks[-1].passed:
            progress.checking = "hidden" if outcome.checks[-1].hidden else "visible"
        for stage, seconds in outcome.gate_seconds.items():
            gate = _GATE_OF_STAGE.get(stage, Gate.CHECK)
            progress.gate_seconds[gate] = progress.gate_seconds.get(gate, 0.0) + seconds
        if outcome.timing is None:
            raise Rejected(outcome.verdict, outcome.message)
        return outcome.timing.as_kernel_timing(), None

    def _findings(self, candidate: Candidate) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        security = self._security.validate(candidate.source, contract=candidate.contract)
        safety = self._safety.analyze(candidate.source, contract=candidate.contract)
        return tuple(security.findings), tuple(safety.findings)

    def _analyse(self, candidate: Candidate, progress: Progress) -> None:
        """Static analysis is the first filter, not the defence: the gates behind it assume the worst."""
        security, safety = self._findings(candidate)
        progress.findings = (*security, *safety)
        worst = next((finding for finding in security if finding.severity == "critical"), None)
        if worst is not None:
            raise Rejected(Verdict.UNSAFE, unsafe_words(worst), worst.line)


def _evaluation(
    task: Task | ModuleTask,
    candidate: Candidate,
    progress: Progress,
    verdict: Verdict,
    message: str,
    *,
    source_line: int | None = None,
    timing: KernelTiming | None = None,
    profile: ProfileReport | None = None,
) -> Evaluation:
    return Evaluation(
        task=task.name,
        candidate=candidate,
        verdict=verdict,
        message=message,
        source_line=source_line,
        compilation=progress.compilation,
        checks=tuple(progress.checks),
        num_checks_planned=progress.num_checks_planned,
        failed_on=progress.failed_on(verdict),
        timing=timing,
        profile=profile,
        findings=progress.findings,
        gate_seconds=progress.gate_seconds,
    )


def _check_size(candidate: Candidate) -> None:
    if not candidate.source.strip():
        raise Rejected(Verdict.NO_CANDIDATE, "the source is empty")
    try:
        num_bytes = len(candidate.source.encode())
    except UnicodeEncodeError as error:
        raise Rejected(
            Verdict.NO_CANDIDATE,
            f"the source is not valid Unicode: half a surrogate pair at character {error.start + 1}",
        ) from None
    if num_bytes > MAX_SOURCE_BYTES:
        raise Rejected(Verdict.NO_CANDIDATE, f"the source is longer than {MAX_SOURCE_BYTES:,} bytes")


def _read_plan(task: Task, candidate: Candidate) -> LaunchPlan:
    try:
        plan = parse_launch_plan(candidate.source, task)
        _require_buffers_for_pointers(plan, task, candidate.source)
    except ContractViolation as violation:
        raise Rejected(Verdict.BAD_LAUNCH_PLAN, str(violation), violation.line) from None
    return plan


def _require_buffers_for_pointers(plan: LaunchPlan, task: Task, source: str) -> None:
    """A number as a pointer is an address of the candidate's choice: nothing honest needs one."""
    signatures = kernel_signatures(source)
    buffers = buffer_names(plan, task)
    for launch in plan.launches:
        own = [signature for signature in signatures if signature.name == launch.kernel]
        for position, argument in enumerate(launch.arguments):
            words = "" if argument.text in buffers else no_number_words(own, position)
            if words:
                raise ContractViolation(
                    f"line {launch.line}: `{launch.kernel}` {words} but gets `{argument.text}`; name a "
                    f"buffer: {', '.join(sorted(buffers))}",
                    launch.line,
                )


def _reject_uncompiled(compilation: CompilationResult, source: str) -> NoReturn:
    if compilation.timed_out:
        raise Rejected(Verdict.COMPILE_TIMEOUT, "the compiler did not finish in time: simplify the code")
    line = compilation.errors[0].line if compilation.errors else None
    raise Rejected(Verdict.COMPILE_ERROR, compile_error_words(compilation, source), line)


@lru_cache(maxsize=1)
def default_judge() -> Judge:
    """One judge with default settings, shared by the process."""
    return Judge()


def judge(task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
    """Judge with the default settings. For many candidates at once see `cuda/pool.py`."""
    return default_judge().judge(task, candidate)
