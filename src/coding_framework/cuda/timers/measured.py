"""Time on a GPU: cold L2, fresh contents, the reference in turn, every timed output verified.

The order of things: one call on the timed shape, verified, so that what hangs or is wrong there keeps nobody
waiting; then the candidate's process, alone on the device, runs all timed calls and leaves its outputs in
memory; the verifier's process draws the same inputs, computes the answers in float64 and compares every
element of every call; only then are the times looked at. docs/judge_measurements.md says why each
step is there.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import sleep

import numpy as np

from coding_framework.config import JudgeConfig
from coding_framework.cuda.check_runner import Subject
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import resolve_launches, resolve_scratch
from coding_framework.cuda.elements import fresh_poison
from coding_framework.cuda.executors.base import ExecutionFault, FaultKind
from coding_framework.cuda.executors.gpu.executor import GpuExecutor, GpuVerifier
from coding_framework.cuda.executors.gpu.layout import arena_bytes
from coding_framework.cuda.executors.gpu.lease import gpu_lease
from coding_framework.cuda.executors.gpu.messages import (
    REFERENCE_EVERY,
    Array,
    DeviceFacts,
    InputSet,
    MeasureOutcome,
    MeasureRequest,
    Program,
    SetResult,
    TorchBaselineRequest,
    VerifyRequest,
)
from coding_framework.cuda.executors.gpu.statistics import clocks_agree, middle_interval
from coding_framework.cuda.inputs import input_distribution, mixed_kinds, plain_kinds
from coding_framework.cuda.rejection import Progress, Rejected
from coding_framework.cuda.task_identity import task_digest
from coding_framework.cuda.timers.base import FLOOR_SLACK, floor_words
from coding_framework.cuda.timers.modelled import baseline_subject
from coding_framework.cuda.timers.ncu_profile import profile_with_ncu
from coding_framework.cuda.verdicts import shape_words, without_sizes, wrong_result_words
from coding_framework.records import (
    Dimensions,
    Distribution,
    KernelTiming,
    ProfileReport,
    ShapeCheck,
    Task,
    TensorSpec,
    Verdict,
    WrongElement,
)

WARM_UPS = 3
"""First calls of a module load its code and raise the clocks; they are verified and not timed."""
_ENOUGH_SHARE = 0.25
"""Of the limit, after which a slow kernel is not called more often than it must be."""
_WHOLE_SHARE = 2.0
"""Of the limit of its calls: with the reference's, and what is drawn, flushed and summed up beside them."""
PAUSES_S = (0.0, 0.5, 4.0)
"""Before each measurement of a candidate whose clocks disagree: a host too busy to look at its clock in time
is so for a while, what is hidden from the device's clock is so always."""
Turns = tuple[int, ...]
"""Of each call, in order."""
_TRIAL: Turns = (0,)
_TORCH_NAMES = {"eager": "pytorch eager", "compile": "torch.compile"}
NUMS_OF_SLOTS = (13, 7, 5, 4, 2)
"""How many places buffers take in turn, the first for which there is memory: a time depends on where they
lie, by some percent for kernels that stride through them or wait for a few bytes. No multiples of
`REFERENCE_EVERY`, so that the reference meets every place too."""
_MAX_ARENA_SHARE = 0.05
"""Share of the card's memory for the outputs of one measurement; many lanes share a card."""


class MeasuredTimer:
    """Times on the device of its executor."""

    def __init__(
        self,
        config: JudgeConfig,
        executor: GpuExecutor,
        verifier: GpuVerifier,
        compiler: CUDACompiler,
        harness_cubin: bytes,
    ) -> None:
        self._config = config
        self._executor = executor
        self._verifier = verifier
        self._compiler = compiler
        self._harness_cubin = harness_cubin
        self._baselines: dict[str, Subject] = {}
        self._torch_medians: dict[tuple[str, str], float] = {}

    def time(self, subject: Subject, progress: Progress) -> tuple[KernelTiming, ProfileReport | None]:
        """The measured time beside that of the naive kernel."""
        self._verifier.prepare()
        num_checks = len(progress.checks)
        turns = secret_turns(self._num_sets(subject.task), num_kinds(subject.task))
        self._try(subject, progress)

        def measure() -> MeasureOutcome:
            del progress.checks[num_checks:]  # the timed calls are one check, however often they are made
            return self._measured(subject, turns, progress)

        outcome = until_clocks_agree(measure)
        turns = turns[: len(outcome.candidate_us)]
        others = {str(kind): self._torch_us(subject.task, kind) for kind in self._config.torch_baselines}
        timing = self._timing(subject.task, outcome, turns, others)
        return timing, profile_with_ncu(subject) if self._config.profile else None

    def close(self) -> None:
        """Executor and verifier belong to others."""

    def _try(self, subject: Subject, progress: Progress) -> None:
        """One call, verified: of what hangs or is wrong on the timed shape no more than that is made."""
        request = replace(self._request(subject, _TRIAL), is_trial=True)
        self._verified(subject.task, request, _TRIAL, progress)

    def _measured(self, subject: Subject, turns: Turns, progress: Progress) -> MeasureOutcome:
        """The timed calls, each of them verified."""
        return self._verified(subject.task, self._request(subject, turns), turns, progress)

    def _verified(
        self, task: Task, request: MeasureRequest, turns: Turns, progress: Progress
    ) -> MeasureOutcome:
        """What the calls came to; every one that was made must have been right."""
        stale = self._executor.stale_arena(request)
        if stale:
            with gpu_lease(self._config.gpu_index, shared=True):
                self._verifier.forget(stale)
        outcome = self._executor.measure(request, timeout_s=_WHOLE_SHARE * request.limit_s)
        if outcome.fault is not None:
            raise _rejected(outcome.fault)
        with gpu_lease(self._config.gpu_index, shared=True):
            results = self._verifier.verify(self._verification(task, request, outcome))
        progress.checks.append(_summary(task, turns, results))
        _require_right(task, progress.checks[-1], results)
        return outcome

    def _request(self, subject: Subject, turns: Turns) -> MeasureRequest:
        task, shape = subject.task, subject.task.measured_shape
        digest = task_digest(task)
        if digest not in self._baselines:
            self._baselines[digest] = baseline_subject(task, self._compiler)
        request = MeasureRequest(
            device_index=self._config.gpu_index,
            harness_cubin=self._harness_cubin,
            candidate=program_of(subject, shape),
            reference=program_of(self._baselines[digest], shape),
            inputs=tuple(array_of(spec, shape) for spec in task.inputs),
            outputs=output_arrays(task),
            sets=input_sets(task, turns),
            least_calls=least_calls(task),
            limit_s=self._config.gpu_run_timeout_s,
            enough_s=_ENOUGH_SHARE * self._config.gpu_run_timeout_s,
        )
        return with_slots(request, self._executor.facts.arena_bytes)

    def _num_sets(self, task: Task) -> int:
        """All timed calls, as far as their outputs fit in memory together."""
        output_bytes = max(num_bytes(output_arrays(task)), 1)
        room = int(_MAX_ARENA_SHARE * self._executor.facts.memory_bytes // output_bytes)
        return WARM_UPS + max(10, min(self._config.timed_launches, room))

    def _verification(self, task: Task, request: MeasureRequest, outcome: MeasureOutcome) -> VerifyRequest:
        return VerifyRequest(
            device_index=request.device_index,
            harness_cubin=request.harness_cubin,
            task=task,
            dimensions=task.measured_shape,
            inputs=request.inputs,
            outputs=request.outputs,
            sets=request.sets[: len(outcome.candidate_us)],
            arena=outcome.arena,
            places=outcome.places,
            sums=outcome.sums,
        )

    def _torch_us(self, task: Task, kind: str) -> float:
        """PyTorch's median for this task, once for each."""
        key = task_digest(task), kind
        if key not in self._torch_medians:
            turns = secret_turns(WARM_UPS + self._config.timed_launches)
            request = TorchBaselineRequest(
                device_index=self._config.gpu_index,
                harness_cubin=self._harness_cubin,
                task=task,
                dimensions=task.measured_shape,
                inputs=tuple(array_of(spec, task.measured_shape) for spec in task.inputs),
                sets=input_sets(task, turns),
                flush_bytes=2 * self._executor.facts.l2_bytes,
                compiled=kind == "compile",
            )
            with gpu_lease(self._config.gpu_index):
                times = self._verifier.time_torch(request)
            self._torch_medians[key] = typical_us(task, turns, times)[0]
        return self._torch_medians[key]

    def _timing(
        self, task: Task, outcome: MeasureOutcome, turns: Turns, others: Mapping[str, float]
    ) -> KernelTiming:
        facts, shape = self._executor.facts, task.measured_shape
        counted = turns[::REFERENCE_EVERY]
        median_us, interval_us = typical_us(task, turns, outcome.candidate_us, beside=counted)
        reference_us, reference_interval_us = typical_us(task, counted, outcome.reference_us)
        floor_us = measured_floor_us(task, shape, facts)
        if median_us < FLOOR_SLACK * floor_us:
            raise Rejected(Verdict.TOO_FAST, floor_words(median_us, floor_us, facts.name))
        operations = task.operations.evaluate(shape)
        return KernelTiming(
            kind="measured",
            device=facts.name,
            dimensions=shape,
            median_us=median_us,
            interval_us=interval_us,
            reference_median_us=reference_us,
            reference_interval_us=reference_interval_us,
            num_samples=len(outcome.candidate_us) - WARM_UPS,
            floor_us=floor_us,
            transfer_us=outcome.transfer_us,
            bandwidth_share=task.bytes_moved.evaluate(shape) / median_us / facts.dram_bytes_per_us,
            other_references_us={_TORCH_NAMES[kind]: us for kind, us in others.items()},
            operations_share=operations / median_us / facts.operations_per_us(task.inputs[0].dtype),
        )


def num_bytes(arrays: Iterable[Array]) -> int:
    return sum(array.num_bytes for array in arrays)


def with_slots(request: MeasureRequest, ordinary_bytes: int) -> MeasureRequest:
    """The request with as many places for its buffers as fit into an arena of the ordinary size.

    What needs a larger one takes a quarter more than it must.
    """
    least = arena_bytes(request)
    room = ordinary_bytes if least <= ordinary_bytes else least + least // 4
    tries = (replace(request, num_slots=slots) for slots in NUMS_OF_SLOTS)
    return next((each for each in tries if arena_bytes(each) <= room), request)


def typical_us(
    task: Task, turns: Turns, times_us: Sequence[float], *, beside: Turns | None = None
) -> tuple[float, tuple[float, float]]:
    """The middle over all distributions and its interval; a time for each turn.

    `beside` are the turns of another time that this one is held against: with few calls it may have met
    fewer distributions, and the others do not count.
    """
    met = {distribution_of(task, number) for number in (turns if beside is None else beside)[WARM_UPS:]}
    calls = [(distribution_of(task, number), us) for number, us in zip(turns, times_us, strict=True)]
    kept = [(kind, us) for kind, us in calls[WARM_UPS:] if kind in met]
    return middle_interval([us for _, us in kept], [kind for kind, _ in kept])


def until_clocks_agree(measure: Callable[[], MeasureOutcome]) -> MeasureOutcome:
    """The first outcome in which they do; raises `Rejected` when there is none."""
    for pause_s in PAUSES_S:
        sleep(pause_s)
        outcome = measure()
        if clocks_agree(outcome.span_us[WARM_UPS:], outcome.wall_us[WARM_UPS:]):
            return outcome
    raise Rejected(
        Verdict.CLOCKS_DISAGREE,
        f"the device's events say {np.median(outcome.span_us):.0f} us for a round and the host's clock "
        f"{np.median(outcome.wall_us):.0f} us",
    )


def measured_floor_us(task: Task, shape: Dimensions, facts: DeviceFacts) -> float:
    """The least time that physics allows."""
    written = sum(array_of(spec, shape).num_bytes for spec in task.outputs)
    bytes_us = facts.least_us(moved_bytes=task.bytes_moved.evaluate(shape), written_bytes=written)
    operations_us = task.operations.evaluate(shape) / facts.most_operations_per_us(task.inputs[0].dtype)
    return max(bytes_us, operations_us, 1e-3)


def array_of(spec: TensorSpec, shape: Dimensions) -> Array:
    extents = spec.extents(shape)
    return Array(spec.name, spec.dtype, spec.num_elements(shape), extents[-1] if len(extents) > 1 else 1)


def output_arrays(task: Task) -> tuple[Array, ...]:
    """Of the measured shape."""
    return tuple(array_of(spec, task.measured_shape) for spec in task.outputs)


def program_of(subject: Subject, shape: Dimensions) -> Program:
    scratch = resolve_scratch(subject.plan, subject.task, shape)
    return Program(
        ptx=subject.ptx,
        cubin=subject.cubin(),
        launches=resolve_launches(subject.plan, subject.task, shape),
        scratch=tuple(Array(name, dtype, count) for name, (dtype, count) in scratch.items()),
    )


def input_sets(task: Task, turns: Turns) -> tuple[InputSet, ...]:
    """Of each call; its place in memory, which a kernel sees, tells nothing of its turn."""
    places = secret_turns(len(turns))
    return tuple(_input_set(task, number, place) for number, place in zip(turns, places, strict=True))


def _input_set(task: Task, number: int, place: int) -> InputSet:
    """Secret, independent seeds for the inputs of a call that has this turn."""
    kind = distribution_of(task, number)
    return InputSet(
        place=place,
        distributions=tuple(_drawn_as(task, spec, kind) for spec in task.inputs),
        seeds=tuple(secrets.randbits(64) for _ in task.inputs),
        key=secrets.randbits(64),
        poison=fresh_poison(),
    )


def num_kinds(task: Task) -> int:
    """How many distributions timed calls draw from."""
    return len(plain_kinds(task)) + 1


def least_calls(task: Task) -> int:
    """Of a slow kernel: with these each distribution has had its turn, beside the reference too."""
    return REFERENCE_EVERY * (WARM_UPS + num_kinds(task))


def secret_turns(count: int, kinds: int | None = None) -> Turns:
    """Which turn each call has: in a secret order, because a kernel can count its calls.

    Calls whose reference counts change turns among themselves, so that it always has the same ones. With
    `kinds` of contents they do so a few at a time, of which each has another kind (two each of the other
    calls), so that every kind has had its turn whenever the calls end.
    """
    counted = range(WARM_UPS * REFERENCE_EVERY, count, REFERENCE_EVERY)
    others = [number for number in range(WARM_UPS, count) if number not in counted]
    turns = list(range(count))
    for numbers, each in ((counted, 1), (others, REFERENCE_EVERY - 1)):
        step = each * kinds if kinds else max(len(numbers), 1)
        for few in (numbers[at : at + step] for at in range(0, len(numbers), step)):
            for number, other in zip(few, secrets.SystemRandom().sample(few, len(few)), strict=True):
                turns[number] = other
    return tuple(turns)


def distribution_of(task: Task, number: int) -> Distribution:
    """What a turn draws its inputs from: each of the task's plain ones, and all of these mixed.

    The turns with the reference meet each as often as the others do. The rest, which have a structure to
    look for, are for the warm-ups, which are verified and not timed.
    """
    plain: tuple[Distribution, ...] = (*plain_kinds(task), "mixed")
    structured = [kind for kind in task.distributions if kind not in plain]
    if number < WARM_UPS and structured:
        return structured[number % len(structured)]
    return plain[sum(divmod(number, REFERENCE_EVERY)) % len(plain)]


def _drawn_as(task: Task, spec: TensorSpec, distribution: Distribution) -> str:
    kind = input_distribution(task, spec, distribution)
    return f"mixed:{','.join(mixed_kinds(task, spec))}" if kind == "mixed" else kind


def _summary(task: Task, turns: Turns, results: tuple[SetResult, ...]) -> ShapeCheck:
    """All timed calls as one check."""
    first_bad = next((i for i, result in enumerate(results) if result.num_wrong), None)
    number = 0 if first_bad is None else first_bad
    extents = {spec.name: spec.extents(task.measured_shape) for spec in task.outputs}
    return ShapeCheck(
        dimensions=task.measured_shape,
        distribution=distribution_of(task, turns[number]),
        hidden=True,
        passed=first_bad is None,
        max_error_ratio=max(result.max_error_ratio for result in results),
        num_wrong=results[number].num_wrong,
        wrong_elements=tuple(
            WrongElement(
                output=wrong.output,
                index=tuple(int(i) for i in np.unravel_index(wrong.index, extents[wrong.output])),
                expected=wrong.expected,
                actual=wrong.actual,
            )
            for wrong in results[number].wrong
        ),
    )


def _rejected(fault: ExecutionFault) -> Rejected:
    """In words that tell no hidden size; what took too long tells none."""
    took_long = fault.kind is FaultKind.TIMEOUT
    words = fault.message if took_long else without_sizes(fault.message)
    return Rejected(Verdict(fault.kind.value), f"{words} (in a timed call)")


def _require_right(task: Task, summary: ShapeCheck, results: tuple[SetResult, ...]) -> None:
    if not summary.passed:
        count = sum(bool(result.num_wrong) for result in results)
        words = wrong_result_words(task, summary)
        often = f" (in {count} of {len(results)} timed calls)" if len(results) > 1 else ""
        raise Rejected(Verdict.WRONG_RESULT, words + often)
    late = next((result.late_output for result in results if result.late_output), None)
    if late:
        raise Rejected(
            Verdict.WRONG_RESULT,
            f"`{late}` of a timed call was written after the call had ended: each call must do its own work",
        )
    changed = next((result.changed_input for result in results if result.changed_input), None)
    if changed:
        where = shape_words(task, task.measured_shape, hidden=True)
        raise Rejected(
            Verdict.INPUT_CHANGED,
            f"the kernel wrote to its input `{changed}` on {where}; inputs are read-only",
        )
