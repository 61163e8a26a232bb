"""Tasks that differ in anything that decides a verdict are two; in words alone, one."""

from __future__ import annotations

from typing import Any

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.pool import JudgePool
from coding_framework.cuda.task_identity import task_digest
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.records import Candidate, ModuleTask, Task, Tolerance, Verdict

TASK = get_task("row_sum")
SUM = get_task("vector_add")
MODULE = ModuleTask(name="m", source="x = 1")
WORDS = {"name": "another", "title": "Another", "tier": 3, "family": "other", "prompt": "Do it."}


def _negative(xp: Any, inputs: Any, dimensions: Any) -> dict[str, Any]:
    return {name: -value for name, value in TASK.oracle(xp, inputs, dimensions).items()}


def _right_on_ordinary_numbers(xp: Any, inputs: Any, dimensions: Any) -> dict[str, Any]:
    outputs = SUM.oracle(xp, inputs, dimensions)
    return {name: xp.where(xp.abs(value) < 100, value, 0 * value) for name, value in outputs.items()}


OTHER: dict[str, Any] = {
    "dimensions": tuple(reversed(TASK.dimensions)),
    "inputs": tuple(spec.model_copy(update={"dtype": "float16"}) for spec in TASK.inputs),
    "outputs": tuple(spec.model_copy(update={"dtype": "bfloat16"}) for spec in TASK.outputs),
    "scalars": {"scale": 2.0},
    "visible_shapes": TASK.visible_shapes[:1],
    "hidden_shapes": TASK.hidden_shapes[:1],
    "timing_shape": TASK.visible_shapes[0],
    "gpu_timing_shape": TASK.visible_shapes[0],
    "distributions": ("normal",),
    "drawn_as": {"normal": {TASK.inputs[0].name: "large"}},
    "tolerance": Tolerance(relative=0.5),
    "bytes_moved": TASK.operations,
    "operations": TASK.bytes_moved,
    "baseline": TASK.baseline + "\n",
    "oracle": _negative,
}
OTHER_MODULE: dict[str, Any] = {
    "source": "x = 2",
    "tolerance": Tolerance(relative=0.5),
    "hidden_constants": ({"x": 3},),
    "bytes_moved": 1,
    "operations": 1,
    "contract": "extension",
}


def test_every_field_is_looked_at() -> None:
    assert set(OTHER) | set(WORDS) == set(Task.model_fields)
    assert set(OTHER_MODULE) | set(WORDS) - {"title", "prompt"} == set(ModuleTask.model_fields)


@pytest.mark.parametrize("field", OTHER)
def test_whatever_decides_a_verdict_changes_the_digest(field: str) -> None:
    assert task_digest(TASK.model_copy(update={field: OTHER[field]})) != task_digest(TASK)


@pytest.mark.parametrize("field", OTHER_MODULE)
def test_and_that_of_a_module(field: str) -> None:
    assert task_digest(MODULE.model_copy(update={field: OTHER_MODULE[field]})) != task_digest(MODULE)


def test_words_do_not() -> None:
    assert task_digest(TASK.model_copy(update=WORDS)) == task_digest(TASK)
    assert len({task_digest(task) for task in all_tasks()}) == len(all_tasks())


def test_an_oracle_is_asked_on_every_kind_of_input() -> None:
    assert SUM.distributions[0] != "large"
    assert task_digest(SUM.model_copy(update={"oracle": _right_on_ordinary_numbers})) != task_digest(SUM)


def test_a_digest_is_made_once_for_an_object_and_not_taken_along_by_a_copy() -> None:
    asked: list[int] = []

    def counting(xp: Any, inputs: Any, dimensions: Any) -> Any:
        asked.append(1)
        return TASK.oracle(xp, inputs, dimensions)

    task = TASK.model_copy(update={"oracle": counting})
    digest = task_digest(task)
    times = len(asked)
    assert task_digest(task) == digest
    assert len(asked) == times
    assert task_digest(task.model_copy(update={"tolerance": Tolerance(relative=0.5)})) != digest


def test_two_tasks_of_one_name_share_no_verdict() -> None:
    candidate = Candidate(source=TASK.baseline)
    opposite = TASK.model_copy(update={"oracle": _negative})
    with JudgePool(JudgeConfig(executor="emulator", workers=1)) as pool:
        assert pool.judge(TASK, candidate).passed
        assert pool.judge(opposite, candidate).verdict is Verdict.WRONG_RESULT
        assert pool.judge(TASK, Candidate(source="// again\n" + TASK.baseline)).passed
        assert pool.num_judged == 2
        assert pool.num_shared == 1


def test_two_tasks_of_one_name_share_no_time() -> None:
    small = {name: max(1, extent // 4) for name, extent in TASK.timing_shape.items()}
    smaller = TASK.model_copy(update={"timing_shape": small})
    with JudgePool(JudgeConfig(executor="emulator", workers=1)) as pool:
        for task in (TASK, smaller):
            timing = pool.judge(task, Candidate(source=task.baseline)).timing
            assert timing is not None
            assert timing.reference_median_us == pytest.approx(timing.median_us, rel=0.01)


def test_a_judge_of_its_own_forgets_no_difference_either() -> None:
    judge = Judge(JudgeConfig(executor="emulator"))
    try:
        small = TASK.model_copy(update={"timing_shape": TASK.visible_shapes[0]})
        times = [judge.judge(task, Candidate(source=task.baseline)).timing for task in (TASK, small)]
        assert all(time is not None and time.speedup == pytest.approx(1, rel=0.01) for time in times)
    finally:
        judge.close()
