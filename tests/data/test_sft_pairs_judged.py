"""Drafts of every kind pass the real judge and become pairs that can be trained on."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from coding_framework.cuda.judge import Judge
from coding_framework.data.sft_pairs import generate_optimizer_pairs, generate_pairs, judge_pairs
from coding_framework.data.tasks import get_task
from coding_framework.data.templates.mistakes import MISTAKES, Mistake
from coding_framework.data.templates.operations import ROW_OPERATIONS, VECTOR_OPERATIONS
from coding_framework.data.templates.synthetic import make_synthetic_task
from coding_framework.records import Candidate, Evaluation, Message, Task

HELD_OUT = ("scale", "gelu", "bias_relu", "row_sum")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


def prompt(task: Task) -> tuple[Message, ...]:
    return (Message(role="user", content=task.prompt),)


def optimizer_prompt(task: Task, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return (Message(role="user", content=f"{task.prompt}\n{source}\n{evaluation.message}"),)


def test_every_generator_draft_passes(judge: Judge) -> None:
    report = judge_pairs(generate_pairs((), 12, 5, HELD_OUT, prompt), judge.judge)
    assert report.rejected == ()
    assert len(report.pairs) == 12
    assert report.judged_per_minute > 0


def test_optimizer_drafts_are_faster_or_repair_a_failure(judge: Judge) -> None:
    tasks = (get_task("rms_norm"), get_task("row_sum"))
    drafts = list(generate_optimizer_pairs(tasks, 5, 3, HELD_OUT, judge.judge, optimizer_prompt))
    assert [draft.repairs for draft in drafts] == [False, False, True, False, True]
    assert drafts[0].task.name == "rms_norm"
    report = judge_pairs(drafts, judge.judge)
    assert set(report.reasons) <= {"not faster"}
    assert report.pairs[0].task == "rms_norm"
    assert report.pairs[0].speedup > 1.5


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
@pytest.mark.parametrize("operation", [VECTOR_OPERATIONS[0], ROW_OPERATIONS[2]], ids=lambda o: o.name)
def test_a_kernel_with_a_mistake_in_it_is_rejected(judge: Judge, operation: object, mistake: Mistake) -> None:
    task = make_synthetic_task(random.Random(1), operation).task  # type: ignore[arg-type]
    assert not judge.judge(task, Candidate(source=mistake(task.baseline))).passed
