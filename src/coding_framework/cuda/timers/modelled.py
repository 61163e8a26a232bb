"""Time on the emulator: modelled from exact counts of a run that is checked as well."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle

from coding_framework.config import JudgeConfig
from coding_framework.cuda.check_runner import CheckRunner, Subject, both_orders
from coding_framework.cuda.checking import PlannedCheck
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan
from coding_framework.cuda.executors.base import BlockOrder, Buffer, ExecutionOutcome
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.emulator.time_model import profile_from_counters
from coding_framework.cuda.rejection import Progress, Rejected
from coding_framework.cuda.secrecy import Secrets, secrets_of
from coding_framework.cuda.task_identity import code_digest, task_digest
from coding_framework.cuda.timers.base import FLOOR_SLACK, floor_words
from coding_framework.errors import JudgeFault
from coding_framework.records import KernelTiming, ProfileReport, Task, Verdict

NUM_ORDERS = 3
"""With one, a block that merged what 127 others found and did not wait was right in 5 judgements of 60: where
it was in one part with the least and the greatest. With two, in 1 of 80."""

AGAIN = (
    "An earlier run on this shape was right: in this one scratch and `__device__` variables held what an "
    "older call had left there, and blocks may have come in another order"
)


class ModelledTimer:
    """Runs the timing shape on the emulator: once, or more often if blocks could have handed data on."""

    def __init__(
        self,
        config: JudgeConfig,
        runner: CheckRunner,
        compiler: CUDACompiler,
        device: DeviceModel = H200,
    ) -> None:
        self._config = config
        self._runner = runner
        self._compiler = compiler
        self._device = device
        self._baseline_us: dict[str, float] = {}

    def time(self, subject: Subject, progress: Progress) -> tuple[KernelTiming, ProfileReport]:
        """The modelled time beside that of the naive kernel."""
        task = subject.task
        check = PlannedCheck(task.timing_shape, "mixed", hidden=True)
        inputs = self._runner.draw(subject, check)
        outcome = self._runner.run(subject, check, inputs, progress)
        self._runner.compare(task, check, inputs, outcome, progress)
        self._try_again(subject, check, inputs, outcome, progress)
        median_us, profile = profile_from_counters(
            outcome.counters, subject.compilation.resources, self._device
        )
        floor_us = self._floor_us(task)
        busy_us = median_us - len(outcome.counters) * self._device.launch_us
        if busy_us < FLOOR_SLACK * floor_us:
            raise Rejected(Verdict.TOO_FAST, floor_words(busy_us, floor_us, self._device.name))
        timing = KernelTiming(
            kind="modelled",
            device=self._device.name,
            dimensions=task.timing_shape,
            median_us=median_us,
            reference_median_us=self._baseline_time(task),
            floor_us=floor_us,
        )
        return timing, profile

    def _try_again(
        self,
        subject: Subject,
        check: PlannedCheck,
        inputs: dict[str, Buffer],
        first: ExecutionOutcome,
        progress: Progress,
    ) -> None:
        """Where the order of blocks could matter, or what an older run, on other inputs, left in memory."""
        if not (subject.plan.scratch or first.variables or first.may_depend_on_order):
            return
        orders = tuple(_orders(subject.secrets)) if first.may_depend_on_order else (None,)
        other, left = self._runner.draw(subject, check), first
        for order, drawn in zip(orders, cycle((other, inputs)), strict=False):
            again = self._runner.run_again(subject, check, drawn, progress, order=order, left=left)
            progress.checks.pop()  # one check, however often it is made
            try:
                self._runner.compare(subject.task, check, drawn, again, progress)
            except Rejected as wrong:
                raise Rejected(wrong.verdict, f"{wrong}. {AGAIN}") from None
            left = again

    def close(self) -> None:
        """Nothing of its own."""

    def _baseline_time(self, task: Task) -> float:
        """The naive kernel under the same protocol, modelled once for each task."""
        digest = task_digest(task)
        if digest not in self._baseline_us:
            subject = baseline_subject(task, self._compiler, self._config.secret)
            check = PlannedCheck(task.timing_shape, task.distributions[0], hidden=False)
            progress = Progress(deadline=time.monotonic() + self._config.total_timeout_s)
            try:
                outcome = self._runner.run(subject, check, self._runner.draw(subject, check), progress)
            except Rejected as rejection:
                raise JudgeFault(f"the baseline of {task.name} was rejected: {rejection}") from None
            self._baseline_us[digest] = profile_from_counters(
                outcome.counters, subject.compilation.resources, self._device
            )[0]
        return self._baseline_us[digest]

    def _floor_us(self, task: Task) -> float:
        return self._device.floor_us(
            bytes_moved=task.bytes_moved.evaluate(task.timing_shape),
            operations=task.operations.evaluate(task.timing_shape),
            dtype=task.inputs[0].dtype,
        )


def _orders(secrets: Secrets) -> Iterator[BlockOrder]:
    """Secret orders of blocks: a cheat for this shape alone meets no others."""
    for _ in range(NUM_ORDERS):
        yield from both_orders(secrets)


def baseline_subject(task: Task, compiler: CUDACompiler, secret: str | None = None) -> Subject:
    """The task's naive kernel, compiled."""
    compilation = compiler.compile(task.baseline)
    if not compilation.success:
        raise JudgeFault(f"the baseline of {task.name} does not compile: {compilation.errors}")
    plan = parse_launch_plan(task.baseline, task)
    return Subject(task, plan, compilation, secrets_of(secret, code_digest(task, plan, compilation)))
