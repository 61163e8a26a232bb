"""Runs a `kernel` candidate on planned inputs and compares: the part that both executors share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

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
from coding_framework.cuda.contract import ContractViolation, resolve_launches
from coding_framework.cuda.executors.base import (
    BlockOrder,
    Buffer,
    ExecutionOutcome,
    ExecutionRequest,
    Executor,
)
from coding_framework.cuda.float_atomics import adds_floats_atomically
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.rejection import Progress, Rejected
from coding_framework.cuda.run_findings import run_findings
from coding_framework.cuda.secrecy import Secrets
from coding_framework.cuda.verdicts import (
    idle_source_words,
    shape_words,
    without_sizes,
    wrong_result_words,
)
from coding_framework.records import CompilationResult, LaunchPlan, Task, Verdict

CHECK_INSTRUCTION_LIMIT = 200_000_000
"""Thread instructions after which a run on a small shape counts as endless; baselines need under 1 %."""


@dataclass(frozen=True)
class Subject:
    """A candidate that compiled, with its plan."""

    task: Task
    plan: LaunchPlan
    compilation: CompilationResult
    secrets: Secrets = field(default_factory=Secrets)
    """What this judgement is made of and the candidate does not know."""

    @property
    def ptx(self) -> str:
        assert self.compilation.ptx is not None
        return self.compilation.ptx

    def cubin(self) -> bytes:
        assert self.compilation.binary_path is not None
        return self.compilation.binary_path.read_bytes()

    @property
    def adds_floats_atomically(self) -> bool:
        """Whether the order of threads may show in the last bits of an honest answer."""
        return adds_floats_atomically(self.ptx)


def both_orders(secrets: Secrets) -> tuple[BlockOrder, BlockOrder]:
    """A secret order of blocks, there and back, where an executor can choose it.

    Apart from the poison, which a kernel can read.
    """
    secret = secrets.bits(63)
    return BlockOrder(secret, is_backwards=False), BlockOrder(secret, is_backwards=True)


@dataclass
class Leftovers:
    """Older runs by shape, for what they left in memory."""

    _by_shape: dict[tuple[int, ...], ExecutionOutcome] = field(default_factory=dict)
    are_met: bool = False
    """Whether the newest run began with what an older one left."""

    def add(self, check: PlannedCheck, outcome: ExecutionOutcome) -> None:
        """A run that came out right."""
        self._by_shape[tuple(check.dimensions.values())] = outcome

    def of(self, check: PlannedCheck, order: BlockOrder) -> ExecutionOutcome | None:
        """None for a first run, and nothing at all if there was no older one."""
        if not order.is_backwards:
            return None
        found = self._by_shape.get(tuple(check.dimensions.values()))
        self.are_met = found is not None
        return found or ExecutionOutcome(None, {}, ())


class CheckRunner:
    """Draws, runs, compares; a failure is raised as `Rejected`."""

    def __init__(self, config: JudgeConfig, executor: Executor, *, run_timeout_s: float) -> None:
        self._config = config
        self._executor = executor
        self._run_timeout_s = run_timeout_s

    def check_all(self, subject: Subject, progress: Progress) -> None:
        """Every planned check, twice each.

        The second time scratch and `__device__` variables are as an older check of the same shape left them,
        so that flags and counters that happen to be there are met; scratch is zero before there was one, as
        memory is that nobody has used yet. Only an executor that runs one request after the other meets what
        an older one left; with one that wants all at once (a GPU) the timed calls do.
        """
        checks, left = plan_checks(subject.task, subject.secrets), Leftovers()
        progress.num_checks_planned = len(checks) + 1
        drawn = [self.draw(subject, check) for check in checks]
        cubin = subject.cubin()
        requests = (
            self.request(subject, check, inputs, cubin=cubin, order=order, left=left.of(check, order))
            for check, inputs in zip(checks, drawn, strict=True)
            for order in both_orders(subject.secrets)
        )
        outcomes = self._executor.run_many(requests, timeout_s=self._run_timeout_s)
        for check, inputs in zip(checks, drawn, strict=True):
            self._check(subject, check, inputs, outcomes, left, progress)
        progress.checking = None

    def _check(
        self,
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        outcomes: Iterator[ExecutionOutcome],
        left: Leftovers,
        progress: Progress,
    ) -> None:
        """The next two outcomes: both right, and the same."""
        progress.checking = "hidden" if check.hidden else "visible"
        first = self._sound(subject, check, next(outcomes), progress)
        self.compare(subject.task, check, inputs, first, progress)
        second = self._sound(subject, check, next(outcomes), progress)
        unstable = differing_output(subject.task, first.buffers, second.buffers)
        if unstable:
            self._require_rounding(subject, check, inputs, second, unstable, left)
        left.add(check, first)

    @staticmethod
    def _require_rounding(
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        second: ExecutionOutcome,
        unstable: str,
        left: Leftovers,
    ) -> None:
        """Sums by atomics of floats may differ in the last bits; the second answer must be right too."""
        expected = expected_outputs(subject.task, inputs, check.dimensions)
        is_right = compare_outputs(subject.task, check, second.buffers, expected).passed
        if is_right and subject.adds_floats_atomically:
            return
        where = shape_words(subject.task, check.dimensions, hidden=check.hidden)
        if left.are_met and not is_right:
            raise Rejected(
                Verdict.WRONG_RESULT,
                f"`{unstable}` was right in one call and wrong in another, for {where}: in the second, "
                "scratch and `__device__` variables held what an older call had left there. Set what a call "
                "relies on before it is read, in every call",
            )
        raise Rejected(
            Verdict.NOT_DETERMINISTIC,
            f"two runs on the same inputs gave different `{unstable}` for {where}: it depends on memory "
            "that was never written, or on the order of threads (also a sum of floats that is rounded in "
            f"another order){idle_source_words(second.idle_sources)}",
        )

    @staticmethod
    def draw(subject: Subject, check: PlannedCheck) -> dict[str, Buffer]:
        """Inputs from a secret seed."""
        return draw_inputs(subject.task, check.dimensions, check.distribution, subject.secrets.bits(63))

    def compare(
        self,
        task: Task,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        outcome: ExecutionOutcome,
        progress: Progress,
    ) -> None:
        """Every output element, and every input byte."""
        expected = expected_outputs(task, inputs, check.dimensions)
        result = compare_outputs(task, check, outcome.buffers, expected, poison=outcome.poison)
        progress.checks.append(result)
        if not result.passed:
            raise Rejected(Verdict.WRONG_RESULT, wrong_result_words(task, result, outcome.idle_sources))
        changed = changed_input(task, inputs, outcome.buffers)
        if changed:
            raise Rejected(
                Verdict.INPUT_CHANGED, f"the kernel wrote to its input `{changed}`; inputs are read-only"
            )

    def run(
        self,
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        progress: Progress,
    ) -> ExecutionOutcome:
        """One run whose work is counted; the kernel's fault is raised as `Rejected`."""
        return self._run(subject, check, self.request(subject, check, inputs, counts_work=True), progress)

    def run_again(
        self,
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        progress: Progress,
        *,
        order: BlockOrder | None,
        left: ExecutionOutcome,
    ) -> ExecutionOutcome:
        """One run whose answer alone counts, with scratch and variables as an older one left them."""
        request = self.request(subject, check, inputs, order=order, left=left)
        return self._run(subject, check, request, progress)

    def _run(
        self, subject: Subject, check: PlannedCheck, request: ExecutionRequest, progress: Progress
    ) -> ExecutionOutcome:
        left_s = max(progress.deadline - time.monotonic(), 0.0)
        outcome = self._executor.run(request, timeout_s=max(min(self._run_timeout_s, left_s), 1e-3))
        return self._sound(subject, check, outcome, progress)

    def _sound(
        self, subject: Subject, check: PlannedCheck, outcome: ExecutionOutcome, progress: Progress
    ) -> ExecutionOutcome:
        """The same outcome if it has no fault and came in time."""
        progress.add_findings(run_findings(outcome, hidden=check.hidden))
        if outcome.fault is not None:
            where = shape_words(subject.task, check.dimensions, hidden=check.hidden)
            words = without_sizes(outcome.fault.message) if check.hidden else outcome.fault.message
            raise Rejected(
                Verdict(outcome.fault.kind.value), f"{words} (running on {where})", outcome.fault.source_line
            )
        if time.monotonic() > progress.deadline:
            raise Rejected(
                Verdict.TIMEOUT,
                f"all runs together took over {self._config.total_timeout_s:g} s: too much work a thread",
            )
        return outcome

    @staticmethod
    def request(
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        *,
        cubin: bytes = b"",
        order: BlockOrder | None = None,
        left: ExecutionOutcome | None = None,
        counts_work: bool = False,
    ) -> ExecutionRequest:
        """What the executor needs for one run; unwritten memory looks different in each."""
        large = check.dimensions == subject.task.timing_shape
        secret = subject.secrets.bits(64)
        try:
            return ExecutionRequest(
                ptx=subject.ptx,
                cubin=cubin,
                launches=resolve_launches(subject.plan, subject.task, check.dimensions),
                buffers=poisoned_buffers(subject.task, subject.plan, check.dimensions, inputs, secret, left),
                registers=subject.compilation.registers,
                order=order,
                counts_work=counts_work,
                variables={} if left is None else left.variables,
                poison=secret,
                instruction_limit=CHECK_INSTRUCTION_LIMIT * (10 if large else 1),
            )
        except ContractViolation as violation:
            words = without_sizes(str(violation)) if check.hidden else str(violation)
            raise Rejected(Verdict.BAD_LAUNCH_PLAN, words, violation.line) from None
