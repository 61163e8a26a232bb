"""A maximum that begins at 0 is right for nearly all rows, and always found out; so is such a minimum."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.records import Candidate, Verdict

JUDGEMENTS = 3
BY_LUCK = {
    "attention": "scores are products of two inputs, and neither may be shifted far",
    "attention_decode": "the same",
    "causal_attention": "the same",
    "cross_entropy": "the budget has no room for logits far from zero, which the task multiplies by 32",
}
"""Tasks that also take a maximum, and on which only luck finds out where it began."""
NAMED = {"row_argmax": ("best",), "min_max": ("high", "low"), "kl_divergence": ("x_largest", "z_largest")}
"""What the naive kernels call it; the others say `largest`."""
TASKS = [task.name for task in all_tasks() if "far_below" in task.distributions]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="emulator"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "variable"), [(name, variable) for name in TASKS for variable in NAMED.get(name, ("largest",))]
)
def test_an_extremum_from_zero_is_rejected_whatever_is_drawn(judge: Judge, name: str, variable: str) -> None:
    task = get_task(name)
    source, count = re.subn(rf"(\b{variable} = )[^;,]+", r"\g<1>0.0f", task.baseline, count=1)
    assert count == 1
    verdicts = {judge.judge(task, Candidate(source=source)).verdict for _ in range(JUDGEMENTS)}
    assert verdicts == {Verdict.WRONG_RESULT}, source


def test_every_task_that_takes_a_maximum_is_here_or_says_why_not() -> None:
    takers = {task.name for task in all_tasks() if re.search(r"\b\w*largest = |\bbest = ", task.baseline)}
    assert takers - set(TASKS) - {"quantize_rows"} == set(BY_LUCK), "of magnitudes 0 is the right start"
