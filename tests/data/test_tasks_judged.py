"""Every kernel shipped in the catalogue passes the judge on every shape; wrong ones do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.records import Candidate, Task, Verdict

KERNELS = [
    pytest.param(task, source, id=f"{task.name}-{name}")
    for task in all_tasks()
    for name, source in (("naive", task.baseline), *((v.name, v.source) for v in variants(task.name)))
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.mark.parametrize(("task", "source"), KERNELS)
def test_a_kernel_of_the_catalogue_passes_on_every_shape(judge: Judge, task: Task, source: str) -> None:
    evaluation = judge.judge(task, Candidate(source=source))
    assert evaluation.verdict is Verdict.PASSED, evaluation.message
    assert evaluation.pass_rate == 1.0
    assert {tuple(check.dimensions.items()) for check in evaluation.checks} >= {
        tuple(shape.items()) for shape in (*task.visible_shapes, *task.hidden_shapes, task.timing_shape)
    }


@pytest.mark.parametrize("name", ["row_sum", "matvec", "softmax", "layer_norm", "rms_norm"])
def test_a_warp_per_row_is_modelled_as_faster_than_a_thread_per_row(judge: Judge, name: str) -> None:
    source = next(v.source for v in variants(name) if v.name == "warp_shuffle")
    evaluation = judge.judge(get_task(name), Candidate(source=source))
    assert evaluation.speedup is not None
    assert evaluation.speedup > 1.5


def test_a_baseline_is_as_fast_as_itself(judge: Judge) -> None:
    evaluation = judge.judge(get_task("row_sum"), Candidate(source=get_task("row_sum").baseline))
    assert evaluation.speedup == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("gelu", "0.044715f", "0.05f"),
        ("scale", "2.5f", "2.4999f"),
        ("softmax", "- largest)", ")"),
        ("layer_norm", "1e-5f", "1e-6f"),
        ("matmul", "p < k", "p < k - 1"),
        ("row_sum", "c = 0", "c = 1"),
        ("bias_relu", "% cols", "% rows"),
    ],
)
def test_a_small_mistake_is_noticed(judge: Judge, name: str, right: str, wrong: str) -> None:
    task = get_task(name)
    assert right in task.baseline
    evaluation = judge.judge(task, Candidate(source=task.baseline.replace(right, wrong)))
    assert evaluation.verdict in (Verdict.WRONG_RESULT, Verdict.OUT_OF_BOUNDS)
