"""Rules that a task must keep whatever its kernel does: sizes, words and compulsory traffic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coding_framework.cuda.elements import ELEMENT_BYTES
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lint.records import TaskDefect
from coding_framework.records import Candidate, Task

WARP = 32
VECTOR = 4
SMALLEST_TELLING_SIZE = 5
"""Sizes below this stand in every text; a prompt that holds them gives nothing away."""
MAX_BUDGET_SHARE = 0.6
"""What the naive kernel may use of its error budget: rounding to 16 bits takes half of it, always; sums
vary from one draw to the next."""
_WHOLE_NUMBER = re.compile(r"(?<![\w.])(?<!\de[-+])\d+(?![\w.]*\w)")


def broken_rules(task: Task) -> Iterator[TaskDefect]:
    """Every rule that the task breaks; none of them runs a kernel."""
    yield from _hidden_shapes(task)
    yield from _prompt(task)
    yield from _compulsory_bytes(task)


def baseline_defects(task: Task, judge: Judge) -> Iterator[TaskDefect]:
    """The naive kernel must pass the judge, and not by luck, or no speedup has a base."""
    evaluation = judge.judge(task, Candidate(source=task.baseline))
    if not evaluation.passed:
        yield TaskDefect(
            rule="baseline",
            words=f"the baseline is rejected ({evaluation.verdict.value}): {evaluation.message}",
        )
        return
    worst = max(evaluation.checks, key=lambda check: check.max_error_ratio or 0.0)
    if (worst.max_error_ratio or 0.0) > MAX_BUDGET_SHARE:
        yield TaskDefect(
            rule="tight-budget",
            words=f"the baseline uses {worst.max_error_ratio:.0%} of the error budget ({worst.distribution} "
            f"inputs, {worst.dimensions}): another draw may reject it; widen the budget or shorten the sums",
        )


def _hidden_shapes(task: Task) -> Iterator[TaskDefect]:
    sizes = [tuple(shape.values()) for shape in task.hidden_shapes]
    if not any(max(shape) == 1 for shape in sizes):
        yield TaskDefect(rule="tiny-shape", words="no hidden shape has one element: add one")
    if not any(size > WARP and size % VECTOR for shape in sizes for size in shape):
        yield TaskDefect(
            rule="unaligned-shape",
            words=f"no hidden size above {WARP} is unaligned: add one that {VECTOR} does not divide",
        )
    for shape in task.hidden_shapes:
        if shape in task.visible_shapes:
            yield TaskDefect(rule="visible-shape", words=f"the hidden shape {shape} is also visible")


def _prompt(task: Task) -> Iterator[TaskDefect]:
    named = {int(number) for number in _WHOLE_NUMBER.findall(task.prompt)}
    hidden = {size for shape in task.hidden_shapes for size in shape.values()}
    for size in sorted(named & hidden):
        if size >= SMALLEST_TELLING_SIZE:
            yield TaskDefect(
                rule="prompt", words=f"the prompt names {size}, a hidden size: change one or the other"
            )


def _compulsory_bytes(task: Task) -> Iterator[TaskDefect]:
    for shape in (*task.visible_shapes, *task.hidden_shapes, task.timing_shape, task.measured_shape):
        arrays = (*task.inputs, *task.outputs)
        total = sum(ELEMENT_BYTES[spec.dtype] * spec.num_elements(shape) for spec in arrays)
        stated = task.bytes_moved.evaluate(shape)
        if stated != total:
            yield TaskDefect(
                rule="compulsory-bytes",
                words=f"bytes_moved is {stated:,} for {shape}, but the arrays hold {total:,} bytes",
            )
            return
