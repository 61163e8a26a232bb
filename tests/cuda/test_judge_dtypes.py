"""Tasks in bfloat16, float16 and int32, judged end to end: drawn, compiled, run, compared and timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.checking import PlannedCheck, compare_outputs, expected_outputs
from coding_framework.cuda.elements import decode_elements, encode_elements, poison
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lint import lint_task
from coding_framework.data.tasks import get_task
from coding_framework.data.tasks.build import make_task
from coding_framework.records import Candidate, Dimensions, DType, Task, Tolerance, Verdict

C_TYPES = {"bfloat16": "__nv_bfloat16", "float16": "half", "int32": "int"}
INCLUDES = {"bfloat16": "#include <cuda_bf16.h>\n", "float16": "#include <cuda_fp16.h>\n", "int32": ""}
ADD = """// launch: add grid=(ceil_div(n, 128)) block=(128)
extern "C" __global__ void add(const T* a, const T* b, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
}
"""
ADD_PAIRS = """// launch: add grid=(ceil_div(n, 256)) block=(128)
extern "C" __global__ void add(const T* a, const T* b, T* y, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n) {
        *(T2*)(y + i) = __hadd2(*(const T2*)(a + i), *(const T2*)(b + i));
    } else if (i < n) {
        y[i] = a[i] + b[i];
    }
}
"""
ROW_SUM = """// launch: row_sum grid=(rows) block=(32)
extern "C" __global__ void row_sum(const T* x, float* y, int rows, int cols) {
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) total += (float)x[blockIdx.x * cols + c];
    for (int d = 16; d > 0; d /= 2) total += __shfl_xor_sync(0xffffffffu, total, d);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
"""
ROW_SUM_IN_TYPE = ROW_SUM.replace("float total = 0.0f", "T total = 0.0f").replace("(float)x[", "x[")
CHECK = PlannedCheck({"n": 100}, "large", hidden=False)


def source(body: str, dtype: str) -> str:
    pair = {"bfloat16": "__nv_bfloat162", "float16": "half2"}.get(dtype, "int2")
    return f"{INCLUDES[dtype]}typedef {C_TYPES[dtype]} T;\ntypedef {pair} T2;\n{body}"


def _sum(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": inputs["a"] + inputs["b"]}


def _row_sum(xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    return {"y": xp.sum(inputs["x"], axis=1)}


def add_task(dtype: DType) -> Task:
    return make_task(
        name="add",
        title="Add",
        tier=0,
        family="addition",
        description="y[i] = a[i] + b[i].",
        dimensions=("n",),
        inputs={"a": ("n",), "b": ("n",)},
        outputs={"y": ("n",)},
        dtypes=dict.fromkeys("aby", dtype),
        visible_shapes=({"n": 100},),
        hidden_shapes=({"n": 1}, {"n": 129}),
        timing_shape={"n": 4096},
        distributions=("large", "integers", "normal"),
        operations="n",
        baseline=source(ADD, dtype),
        oracle=_sum,
    )


def row_sum_task(dtype: DType) -> Task:
    """16-bit in, float32 out: the usual mixed precision."""
    return make_task(
        name="row_sum",
        title="Row sum",
        tier=1,
        family="row_reduction",
        description="y[r] = sum over c of x[r * cols + c].",
        dimensions=("rows", "cols"),
        inputs={"x": ("rows", "cols")},
        outputs={"y": ("rows",)},
        dtypes={"x": dtype},
        visible_shapes=({"rows": 8, "cols": 64},),
        hidden_shapes=({"rows": 1, "cols": 1}, {"rows": 5, "cols": 131}),
        timing_shape={"rows": 64, "cols": 128},
        distributions=("normal", "uniform", "constant_rows"),
        tolerance=Tolerance(relative=5e-5, absolute=1e-4),
        operations="rows*cols",
        baseline=source(ROW_SUM, dtype),
        oracle=_row_sum,
    )


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="emulator", run_timeout_s=20, total_timeout_s=40))
    yield made
    made.close()


@pytest.mark.parametrize("dtype", C_TYPES)
def test_the_baseline_passes_and_half_as_many_bytes_are_counted(judge: Judge, dtype: DType) -> None:
    task = add_task(dtype)
    evaluation = judge.judge(task, Candidate(source=task.baseline))
    assert evaluation.verdict is Verdict.PASSED, evaluation.message
    assert task.bytes_moved.evaluate({"n": 100}) == (1200 if dtype == "int32" else 600)
    assert all((check.max_error_ratio or 0.0) <= 1.0 for check in evaluation.checks)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_kernel_on_pairs_passes(judge: Judge, dtype: DType) -> None:
    evaluation = judge.judge(add_task(dtype), Candidate(source=source(ADD_PAIRS, dtype)))
    assert evaluation.verdict is Verdict.PASSED, evaluation.message


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_sum_must_be_kept_in_float32_where_the_budget_says_so(judge: Judge, dtype: DType) -> None:
    task = row_sum_task(dtype)
    right = judge.judge(task, Candidate(source=task.baseline))
    assert right.verdict is Verdict.PASSED, right.message
    wrong = judge.judge(task, Candidate(source=source(ROW_SUM_IN_TYPE, dtype)))
    assert wrong.verdict is Verdict.WRONG_RESULT
    assert wrong.checks[0].wrong_elements[0].actual != wrong.checks[0].wrong_elements[0].expected


@pytest.mark.parametrize("dtype", C_TYPES)
def test_an_element_that_was_never_written_is_said_to_be_nan(judge: Judge, dtype: DType) -> None:
    evaluation = judge.judge(
        add_task(dtype), Candidate(source=source(ADD.replace("i < n)", "i < n - 1)"), dtype))
    )
    assert evaluation.verdict is Verdict.WRONG_RESULT
    assert "were never written, the first wrong one is" in evaluation.message


def test_an_integer_that_is_off_by_one_is_wrong_whatever_the_tolerance(judge: Judge) -> None:
    task = add_task("int32").model_copy(update={"tolerance": Tolerance(relative=1.0, absolute=10.0)})
    evaluation = judge.judge(
        task, Candidate(source=source(ADD.replace("+ b[i]", "+ b[i] + (i == 7)"), "int32"))
    )
    assert evaluation.verdict is Verdict.WRONG_RESULT
    first = evaluation.checks[0].wrong_elements[0]
    assert (first.index, first.actual - first.expected) == ((7,), 1.0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_bit_pattern_read_as_another_type_is_wrong(dtype: DType) -> None:
    """The check decodes what the memory holds; the other 16-bit type's bits are other numbers."""
    task, other = add_task(dtype), "float16" if dtype == "bfloat16" else "bfloat16"
    inputs = draw_inputs(task, CHECK.dimensions, CHECK.distribution, seed=1)
    expected = expected_outputs(task, inputs, CHECK.dimensions)
    right = compare_outputs(task, CHECK, {"y": encode_elements(expected["y"], dtype)}, expected)
    wrong = compare_outputs(task, CHECK, {"y": encode_elements(expected["y"], other)}, expected)
    assert right.passed
    assert (right.max_error_ratio or 0) <= 0.5
    assert wrong.num_wrong > 90


@pytest.mark.parametrize("dtype", C_TYPES)
def test_inputs_hold_values_of_their_type(dtype: DType) -> None:
    drawn = draw_inputs(add_task(dtype), {"n": 1000}, "large", seed=3)["a"]
    assert drawn.dtype == {"bfloat16": np.uint16, "float16": np.float16, "int32": np.int32}[dtype]
    assert 80 < decode_elements(drawn, dtype).std() < 120


def test_poison_that_is_the_right_integer_is_right() -> None:
    task = add_task("int32")
    poisoned = poison("int32", 100, 7, "y")
    result = compare_outputs(task, CHECK, {"y": poisoned}, {"y": poisoned.astype(np.float64)}, poison=7)
    assert result.passed


def test_an_integer_that_was_never_written_is_told_by_its_own_poison() -> None:
    task, right = add_task("int32"), np.arange(100)
    actual = right.astype(np.int32)
    actual[[3, 50]] = poison("int32", 100, 7, "y")[[3, 51]]  # the second is another element's
    result = compare_outputs(task, CHECK, {"y": actual}, {"y": right.astype(np.float64)}, poison=7)
    assert [bool(np.isnan(wrong.actual)) for wrong in result.wrong_elements] == [True, False]


@pytest.mark.parametrize("dtype", C_TYPES)
def test_the_lint_knows_the_types(dtype: DType) -> None:
    assert lint_task(add_task(dtype), seeds=(1,)).passed


def test_the_prompt_names_type_and_header() -> None:
    prompt = add_task("bfloat16").prompt
    assert "Include <cuda_bf16.h>." in prompt
    assert prompt.endswith(
        "void add(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, int n)"
    )


def test_a_type_for_an_array_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="names z, which is neither an input nor an output"):
        make_task(
            name="t", title="T", tier=0, family="f", description="", dimensions=("n",), inputs={"x": ("n",)},
            outputs={"y": ("n",)}, dtypes={"z": "int32"}, visible_shapes=({"n": 2},),
            hidden_shapes=({"n": 1},), timing_shape={"n": 4}, operations="n", baseline="", oracle=_sum,
        )  # fmt: skip


HOLES = """// launch: vector_add grid=(ceil_div(n, 256)) block=(128)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
}
"""
OVERFLOW = """// launch: softmax grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float total = 0.0f;
    for (int c = 0; c < cols; ++c) total += expf(x[r * cols + c]);
    for (int c = 0; c < cols; ++c) y[r * cols + c] = expf(x[r * cols + c]) / total;
}
"""


HALF_FILLED = HOLES.replace("a[i] + b[i]", "i < 3 ? 0.0f : a[i] + b[i]")
EMPTY = HOLES.replace("block=(128)", "block=(256)").replace("i < n)", "i < 0)")


@pytest.mark.parametrize(
    ("task", "source", "words"),
    [
        ("vector_add", HOLES, "and were never written, the first wrong one is y[128]. Check that the grid"),
        ("vector_add", HALF_FILLED, "of these were never written, the first wrong one is y[0]"),
        ("vector_add", EMPTY, "and were never written, the first wrong one is y[0]"),
        ("softmax", OVERFLOW, "is NaN, which the kernel computed: an overflow"),
    ],
)
def test_a_hole_in_the_grid_is_told_from_a_nan_that_was_computed(
    judge: Judge, task: str, source: str, words: str
) -> None:
    evaluation = judge.judge(get_task(task), Candidate(source=source))
    assert evaluation.verdict is Verdict.WRONG_RESULT
    assert words in evaluation.message
    assert (evaluation.checks[-1].num_unwritten == 0) == (source is OVERFLOW)
