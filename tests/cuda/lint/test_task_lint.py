"""Sound tasks pass the lint; tasks that can be passed unsolved do not, and the words say why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from coding_framework.cli.tasks import _raise_for
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lint import TaskLint, lint_task
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.data.tasks.build import make_task
from coding_framework.errors import TaskLintError
from coding_framework.records import Dimensions, Task, Tolerance, parse_expression


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    made = Judge()
    yield made
    made.close()


def passing(result: TaskLint) -> set[str]:
    return {adversary.adversary for adversary in result.adversaries if adversary.passed}


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_no_adversary_comes_near_a_task_of_the_catalogue(task: Task) -> None:
    result = lint_task(task)
    assert result.passed, result.defects
    has_formats_below = any(spec.dtype == "float32" for spec in task.outputs)
    assert len(result.adversaries) >= (20 if has_formats_below else 17)
    assert result.closest.least_error_ratio > 2.0


def test_the_baseline_is_judged_where_a_judge_is_given(judge: Judge) -> None:
    assert lint_task(get_task("scale"), judge, seeds=(1,)).passed
    broken = get_task("scale").model_copy(update={"baseline": get_task("gelu").baseline})
    result = lint_task(broken, judge, seeds=(1,))
    assert [defect.rule for defect in result.defects] == ["baseline"]
    assert "wrong_result" in result.defects[0].words


def test_a_budget_that_the_baseline_keeps_by_luck_is_found(judge: Judge) -> None:
    tight = get_task("scale").model_copy(update={"tolerance": Tolerance(relative=7e-8)})  # rounding: 6e-8
    result = lint_task(tight, judge, seeds=(1,))
    assert [defect.rule for defect in result.defects] == ["tight-budget"]
    assert "% of the error budget (" in result.defects[0].words


def changed(name: str, **changes: object) -> Task:
    return get_task(name).model_copy(update=changes)


@pytest.mark.parametrize(
    ("task", "adversary", "remedy"),
    [
        (changed("row_sum", tolerance=Tolerance(absolute=1e4)), "writes 0", "tighten the tolerance"),
        (
            changed("row_sum", tolerance=Tolerance(absolute=1e4)),
            "writes the mean of other answers",
            "draw them wider",
        ),
        (
            changed("gelu", distributions=("small",), tolerance=Tolerance(absolute=5e-3)),
            "copies x",
            "draw other inputs",
        ),
        (changed("vector_add", distributions=("integers",)), "rounds inputs to float16", "hides a downcast"),
        (changed("transpose", distributions=("integers",)), "computes in bfloat16", "need more bits"),
        (
            changed("matmul", tolerance=Tolerance(relative=0, absolute=1.0)),
            "rounds inputs to tf32",
            "tighten the tolerance",
        ),
        (
            changed("scale", hidden_shapes=({"n": 64}, {"n": 4096}), visible_shapes=({"n": 32},)),
            "drops the remainder of rows after vectors of 32",
            "not multiples of 32",
        ),
        (
            changed("bias_relu", tolerance=Tolerance(absolute=10.0)),
            "takes bias for 0",
            "too little effect",
        ),
    ],
)
def test_a_task_that_an_adversary_passes_is_unsound(task: Task, adversary: str, remedy: str) -> None:
    result = lint_task(task, seeds=(1,))
    assert adversary in passing(result)
    words = [defect.words for defect in result.defects if f"that {adversary} passes" in defect.words]
    assert len(words) == 1
    assert remedy in words[0]


@pytest.mark.parametrize(
    ("task", "rule", "words"),
    [
        (changed("scale", hidden_shapes=({"n": 33}, {"n": 7})), "tiny-shape", "one element"),
        (changed("scale", hidden_shapes=({"n": 1}, {"n": 64})), "unaligned-shape", "above 32"),
        (changed("scale", visible_shapes=({"n": 33},)), "visible-shape", "also visible"),
        (changed("scale", prompt="Scale 257 values by 2.5."), "prompt", "names 257"),
        (
            changed("scale", bytes_moved=parse_expression("4*n")),
            "compulsory-bytes",
            "the arrays hold 8,000 bytes",
        ),
    ],
)
def test_a_broken_rule_is_named(task: Task, rule: str, words: str) -> None:
    found = {defect.rule: defect.words for defect in lint_task(task, seeds=(1,)).defects}
    assert words in found[rule]


def _whole_sum(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": inputs["a"] + inputs["b"]}


def integer_task(distributions: tuple[Any, ...]) -> Task:
    return make_task(
        name="add_int",
        title="Add",
        tier=0,
        family="addition",
        description="y[i] = a[i] + b[i].",
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        dtypes={"a": "int32", "b": "int32", "y": "int32"},
        visible_shapes=({"n": 100},),
        hidden_shapes=({"n": 1}, {"n": 33}),
        timing_shape={"n": 4096},
        distributions=distributions,
        operations="n",
        baseline="",
        oracle=_whole_sum,
    )


def test_small_integers_let_eight_bits_pass_and_large_ones_do_not() -> None:
    assert "rounds inputs to int8" in passing(lint_task(integer_task(("integers",)), seeds=(1,)))
    assert lint_task(integer_task(("large", "integers")), seeds=(1,)).passed


def test_an_unsound_task_is_an_error_with_all_its_defects() -> None:
    sound = lint_task(get_task("scale"), seeds=(1,))
    _raise_for([sound])
    unsound = lint_task(changed("scale", prompt="Scale 257 values."), seeds=(1,))
    with pytest.raises(TaskLintError, match=r"1 of 2 tasks are unsound\nscale: the prompt names 257"):
        _raise_for([sound, unsound])
