"""The single door: `judge(task, candidate) -> Evaluation`.

Gates in order: contract → compile → run and check on visible and hidden shapes → time and profile.
The first failure ends it with a verdict that names the gate and says why. Guarantees:

- the candidate's process sees its inputs only: seeds are drawn after the candidate is known, and
  expected outputs, tolerances and the clock stay in this process;
- a candidate that hangs, crashes or eats memory costs one worker, which is replaced;
- a kernel's failure is a value; a failure of ours raises `JudgeFault` and is never a reward;
- times on the emulator are modelled from exact counts and labelled so in every record.

It does not judge host code (contracts `extension` and `module`), nor measure on a GPU.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

from coding_framework.config import JudgeConfig
from coding_framework.cuda.checking import (
    PlannedCheck,
    changed_input,
    compare_outputs,
    differing_output,
    expected_outputs,
    plan_checks,
    poisoned_buffers,
)
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.contract import ContractViolation, parse_launch_plan, resolve_launches
from coding_framework.cuda.executors.base import (
    Buffer,
    ExecutionOutcome,
    ExecutionRequest,
    Executor,
)
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.emulator.time_model import profile_from_counters
from coding_framework.cuda.executors.isolated import EmulatorExecutor
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.verdicts import (
    compile_error_words,
    passed_words,
    shape_words,
    without_sizes,
    wrong_result_words,
)
from coding_framework.errors import JudgeFault
from coding_framework.records import (
    MAX_SOURCE_BYTES,
    Candidate,
    CompilationResult,
    Evaluation,
    Gate,
    KernelTiming,
    LaunchPlan,
    ProfileReport,
    ShapeCheck,
    Task,
    Verdict,
)

CHECK_INSTRUCTION_LIMIT = 200_000_000
"""Thread instructions after which a run on a small shape counts as endless; baselines need under 1 %."""
FLOOR_SLACK = 0.9
"""A time below this share of the speed-of-light floor is impossible."""


class _Rejected(Exception):
    """Carries a verdict up to `Judge.judge`; never leaves this module."""

    def __init__(self, verdict: Verdict, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.line = line


@dataclass
class _Progress:
    """What is known so far about the candidate being judged."""

    compilation: CompilationResult | None = None
    checks: list[ShapeCheck] = field(default_factory=list)
    num_checks_planned: int = 0
    gate_seconds: dict[Gate, float] = field(default_factory=dict)
    deadline: float = 0.0

    @contextmanager
    def gate(self, gate: Gate) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.gate_seconds[gate] = self.gate_seconds.get(gate, 0.0) + elapsed


class Judge:
    """Judges one candidate at a time with one compiler and one executor of its own."""

    def __init__(
        self,
        config: JudgeConfig | None = None,
        *,
        compiler: CUDACompiler | None = None,
        executor: Executor | None = None,
        device: DeviceModel = H200,
    ) -> None:
        self.config = config or JudgeConfig()
        self._compiler = compiler or CUDACompiler(
            CompilerSettings(
                architecture=self.config.architecture,
                timeout_s=self.config.compile_timeout_s,
                memory_limit_bytes=self.config.compile_memory_bytes,
                workers=1,
            )
        )
        self._executor = executor or EmulatorExecutor(memory_limit_bytes=self.config.run_memory_bytes)
        self._device = device
        self._baseline_us: dict[str, float] = {}

    def judge(self, task: Task, candidate: Candidate) -> Evaluation:
        """Everything there is to know about this candidate; raises only for faults of ours."""
        progress = _Progress()
        try:
            timing, profile = self._pass_gates(task, candidate, progress)
        except _Rejected as rejection:
            return self._evaluation(
                task, candidate, progress, rejection.verdict, str(rejection), source_line=rejection.line
            )
        message = passed_words(timing, profile)
        return self._evaluation(
            task, candidate, progress, Verdict.PASSED, message, timing=timing, profile=profile
        )

    def close(self) -> None:
        """End the worker processes."""
        self._compiler.close()
        if isinstance(self._executor, EmulatorExecutor):
            self._executor.close()

    def _evaluation(
        self,
        task: Task,
        candidate: Candidate,
        progress: _Progress,
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
            timing=timing,
            profile=profile,
            gate_seconds=progress.gate_seconds,
        )

    def _pass_gates(
        self, task: Task, candidate: Candidate, progress: _Progress
    ) -> tuple[KernelTiming, ProfileReport]:
        with progress.gate(Gate.CONTRACT):
            plan = _read_plan(task, candidate)
        with progress.gate(Gate.COMPILE):
            progress.compilation = self._compiler.compile(candidate.source)
        progress.deadline = time.monotonic() + self.config.total_timeout_s
        with progress.gate(Gate.CHECK):
            self._check_all(task, plan, progress)
        with progress.gate(Gate.TIME):
            return self._time(task, plan, progress)

    def _check_all(self, task: Task, plan: LaunchPlan, progress: _Progress) -> None:
        compilation = progress.compilation
        assert compilation is not None
        if not compilation.success:
            _reject_uncompiled(compilation)
        checks = plan_checks(task)
        progress.num_checks_planned = len(checks) + 1
        for check in checks:
            self._check(task, plan, check, progress)

    def _check(self, task: Task, plan: LaunchPlan, check: PlannedCheck, progress: _Progress) -> None:
        inputs = self._draw(task, check)
        first = self._run(task, plan, check, inputs, progress, repeat=0)
        self._compare(task, check, inputs, first.buffers, progress)
        second = self._run(task, plan, check, inputs, progress, repeat=1)
        unstable = differing_output(task, first.buffers, second.buffers)
        if unstable:
            where = shape_words(task, check.dimensions, hidden=check.hidden)
            raise _Rejected(
                Verdict.NOT_DETERMINISTIC,
                f"two runs on the same inputs gave different `{unstable}` for {where}: it depends on memory "
                "that was never written, or on the order of threads",
            )

    def _compare(
        self,
        task: Task,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        outputs: dict[str, Buffer],
        progress: _Progress,
    ) -> None:
        result = compare_outputs(task, check, outputs, expected_outputs(task, inputs, check.dimensions))
        progress.checks.append(result)
        if not result.passed:
            raise _Rejected(Verdict.WRONG_RESULT, wrong_result_words(task, result))
        changed = changed_input(task, inputs, outputs)
        if changed:
            raise _Rejected(
                Verdict.INPUT_CHANGED, f"the kernel wrote to its input `{changed}`; inputs are read-only"
            )

    def _time(self, task: Task, plan: LaunchPlan, progress: _Progress) -> tuple[KernelTiming, ProfileReport]:
        check = PlannedCheck(task.timing_shape, task.distributions[0], hidden=True)
        inputs = self._draw(task, check)
        outcome = self._run(task, plan, check, inputs, progress, repeat=0)
        self._compare(task, check, inputs, outcome.buffers, progress)
        assert progress.compilation is not None
        median_us, profile = profile_from_counters(
            outcome.counters, progress.compilation.resources, self._device
        )
        floor_us = self._floor_us(task)
        if median_us < FLOOR_SLACK * floor_us:
            raise _Rejected(
                Verdict.TOO_FAST,
                f"{median_us:.2f} us is less than the {floor_us:.2f} us in which the {self._device.name} can "
                "move the task's bytes: work is missing",
            )
        timing = KernelTiming(
            kind="modelled",
            device=self._device.name,
            dimensions=task.timing_shape,
            median_us=median_us,
            reference_median_us=self._baseline_time(task),
            floor_us=floor_us,
        )
        return timing, profile

    def _baseline_time(self, task: Task) -> float:
        """The naive kernel under the same protocol, modelled once for each task."""
        if task.baseline not in self._baseline_us:
            compilation = self._compiler.compile(task.baseline)
            plan = parse_launch_plan(task.baseline, task)
            check = PlannedCheck(task.timing_shape, task.distributions[0], hidden=False)
            progress = _Progress(compilation, deadline=time.monotonic() + self.config.total_timeout_s)
            if not compilation.success:
                raise JudgeFault(f"the baseline of {task.name} does not compile: {compilation.errors}")
            try:
                outcome = self._run(task, plan, check, self._draw(task, check), progress, repeat=0)
            except _Rejected as rejection:
                raise JudgeFault(f"the baseline of {task.name} was rejected: {rejection}") from None
            self._baseline_us[task.baseline] = profile_from_counters(
                outcome.counters, compilation.resources, self._device
            )[0]
        return self._baseline_us[task.baseline]

    def _floor_us(self, task: Task) -> float:
        return self._device.floor_us(
            bytes_moved=task.bytes_moved.evaluate(task.timing_shape),
            operations=task.operations.evaluate(task.timing_shape),
        )

    def _draw(self, task: Task, check: PlannedCheck) -> dict[str, Buffer]:
        secret = self.config.secret
        seed = secrets.randbits(63) if secret is None else int.from_bytes(secret.encode()[-7:], "big")
        return draw_inputs(task, check.dimensions, check.distribution, seed)

    def _run(
        self,
        task: Task,
        plan: LaunchPlan,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        progress: _Progress,
        *,
        repeat: int,
    ) -> ExecutionOutcome:
        assert progress.compilation is not None
        assert progress.compilation.ptx is not None
        limit = CHECK_INSTRUCTION_LIMIT * (10 if check.dimensions == task.timing_shape else 1)
        try:
            request = ExecutionRequest(
                ptx=progress.compilation.ptx,
                launches=resolve_launches(plan, task, check.dimensions),
                buffers=poisoned_buffers(task, plan, check.dimensions, inputs, repeat),
                instruction_limit=limit,
            )
        except ContractViolation as violation:
            raise _Rejected(Verdict.BAD_LAUNCH_PLAN, str(violation), violation.line) from None
        left_s = progress.deadline - time.monotonic()
        if left_s <= 0:
            raise _Rejected(
                Verdict.TIMEOUT,
                f"all runs together took over {self.config.total_timeout_s:g} s: too much work a thread",
            )
        outcome = self._executor.run(request, timeout_s=min(self.config.run_timeout_s, left_s))
        if outcome.fault is not None:
            where = shape_words(task, check.dimensions, hidden=check.hidden)
            words = without_sizes(outcome.fault.message) if check.hidden else outcome.fault.message
            raise _Rejected(
                Verdict(outcome.fault.kind.value), f"{words} (running on {where})", outcome.fault.source_line
            )
        return outcome


def _read_plan(task: Task, candidate: Candidate) -> LaunchPlan:
    if candidate.contract != "kernel":
        raise _Rejected(
            Verdict.BAD_LAUNCH_PLAN,
            f"contract `{candidate.contract}` runs host code; the emulator judges `kernel`",
        )
    if not candidate.source.strip():
        raise _Rejected(Verdict.NO_CANDIDATE, "the source is empty")
    if len(candidate.source.encode()) > MAX_SOURCE_BYTES:
        raise _Rejected(Verdict.NO_CANDIDATE, f"the source is longer than {MAX_SOURCE_BYTES:,} bytes")
    try:
        return parse_launch_plan(candidate.source, task)
    except ContractViolation as violation:
        raise _Rejected(Verdict.BAD_LAUNCH_PLAN, str(violation), violation.line) from None


def _reject_uncompiled(compilation: CompilationResult) -> NoReturn:
    if compilation.timed_out:
        raise _Rejected(Verdict.COMPILE_TIMEOUT, "the compiler did not finish in time: simplify the code")
    line = compilation.errors[0].line if compilation.errors else None
    raise _Rejected(Verdict.COMPILE_ERROR, compile_error_words(compilation), line)


@lru_cache(maxsize=1)
def default_judge() -> Judge:
    """One judge with default settings, shared by the process."""
    return Judge()


def judge(task: Task, candidate: Candidate) -> Evaluation:
    """Judge with the default settings. For many candidates at once see `cuda/pool.py`."""
    return default_judge().judge(task, candidate)
