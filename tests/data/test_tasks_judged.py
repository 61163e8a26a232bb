"""Every kernel shipped in the catalogue passes the judge on every shape; wrong ones do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import all_tasks, get_task, kernels, variants
from coding_framework.records import Candidate, Evaluation, Task, Verdict

KERNELS = [
    pytest.param(task, kernel.source, id=f"{task.name}-{kernel.name}")
    for task in all_tasks()
    for kernel in kernels(task.name)
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> dict[str, Evaluation]:
    """Every kernel that was asked for, by its source, judged side by side: there are some 200 of them."""
    chosen = [item.callspec.params for item in request.session.items if _judges_a_kernel(item)]
    questions = [(params["task"], Candidate(source=params["source"])) for params in chosen]
    with JudgePool(JudgeConfig(executor="emulator", workers=2)) as pool:
        answers = pool.judge_many(questions)
    return {candidate.source: answer for (_, candidate), answer in zip(questions, answers, strict=True)}


def _judges_a_kernel(item: pytest.Item) -> bool:
    wanted = test_a_kernel_of_the_catalogue_passes_on_every_shape.__name__
    return isinstance(item, pytest.Function) and item.originalname == wanted


@pytest.mark.parametrize(("task", "source"), KERNELS)
def test_a_kernel_of_the_catalogue_passes_on_every_shape(
    verdicts: dict[str, Evaluation], task: Task, source: str
) -> None:
    evaluation = verdicts[source]
    assert evaluation.task == task.name
    assert evaluation.verdict is Verdict.PASSED, evaluation.message
    assert evaluation.pass_rate == 1.0
    assert {tuple(check.dimensions.items()) for check in evaluation.checks} >= {
        tuple(shape.items()) for shape in (*task.visible_shapes, *task.hidden_shapes, task.timing_shape)
    }


@pytest.mark.parametrize(
    "name",
    ["row_sum", "row_argmax", "matvec", "matvec_half", "prefix_sum", "softmax", "layer_norm", "rms_norm"],
)
def test_a_warp_per_row_is_modelled_as_faster_than_a_thread_per_row(judge: Judge, name: str) -> None:
    source = next(v.source for v in variants(name) if v.name == "warp_shuffle")
    evaluation = judge.judge(get_task(name), Candidate(source=source))
    assert evaluation.speedup is not None
    assert evaluation.speedup > 1.5


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("column_sum", "split_rows"),
        ("histogram", "shared_bins"),
        ("min_max", "two_launches"),
        ("prefix_sum_int32", "three_launches"),
        ("row_sum_int32", "warp_reduce"),
    ],
)
def test_work_spread_over_more_blocks_is_modelled_as_faster(judge: Judge, name: str, variant: str) -> None:
    source = next(v.source for v in variants(name) if v.name == variant)
    evaluation = judge.judge(get_task(name), Candidate(source=source))
    assert evaluation.speedup is not None
    assert evaluation.speedup > 1.3


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
        ("clamp", "v = 1.25f", "v = 1.24f"),
        ("edge_pad", "max(c - 1, 0)", "max(c, 0)"),
        ("exclusive_sum", "total[r] = before;", ""),
        ("gather_rows", " + vocabulary) % vocabulary", ")"),
        ("hard_swish", "/ 6.0f", "/ 6.0001f"),
        ("histogram", "& 63) == blockIdx.x", "% 64) == blockIdx.x"),
        ("lerp", "(b[i] - a[i])", "(a[i] - b[i])"),
        ("matvec_half", "total += __half2float", "total = __half2float(__float2half(total)) + __half2float"),
        ("min_max", "half = 512", "half = 256"),
        ("rotate_rows", "(c + r)", "(c + 1)"),
        ("row_argmax", "> best", ">= best"),
        ("row_mean", "/ cols", "/ (cols + 1)"),
        ("running_max", "largest = x[r * cols]", "largest = 0.0f"),
        ("select_by_sign", "> 0.0f", ">= 0.0f"),
        ("softplus", "fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)))", "logf(1.0f + expf(v))"),
        ("squared_difference", "= difference * difference", "= a[i]*a[i] - 2.0f*a[i]*b[i] + b[i]*b[i]"),
        ("mix_bits", "unsigned int v", "int v"),
    ],
)
def test_a_small_mistake_is_noticed(judge: Judge, name: str, right: str, wrong: str) -> None:
    task = get_task(name)
    assert right in task.baseline
    evaluation = judge.judge(task, Candidate(source=task.baseline.replace(right, wrong)))
    assert evaluation.verdict in (Verdict.WRONG_RESULT, Verdict.OUT_OF_BOUNDS)
