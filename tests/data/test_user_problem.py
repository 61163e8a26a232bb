"""A user's file with a naive kernel becomes a task whose truth is that kernel in float64."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import array_api_compat.numpy as xp
import numpy as np
import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lane_process import travels
from coding_framework.data.problems.header import EXAMPLE, parse_header
from coding_framework.data.problems.oracle import NaiveKernelOracle
from coding_framework.data.problems.shapes import CHECK_INSTRUCTIONS, TIMING_INSTRUCTIONS, derive_shapes
from coding_framework.data.problems.widen import widened
from coding_framework.data.user_problem import build_problem, naive_source, read_problem
from coding_framework.errors import CandidateInputError, UserError
from coding_framework.records import Candidate, Verdict

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "problems").glob("*.cu"))


@pytest.fixture(scope="module")
def compiler() -> Iterator[CUDACompiler]:
    with CUDACompiler(CompilerSettings.for_judge(JudgeConfig(executor="emulator"))) as one:
        yield one


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    one = Judge()
    yield one
    one.close()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_shipped_example_passes_its_own_judge(path: Path, compiler: CUDACompiler, judge: Judge) -> None:
    problem = read_problem(path, compiler)
    assert problem.notes[0] == "truth: the naive kernel computed in float64"
    evaluation = judge.judge(problem.task, Candidate(source=problem.task.baseline))
    assert evaluation.passed, evaluation.message
    assert evaluation.speedup == pytest.approx(1.0)
    assert travels(problem.task)


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_the_truth_is_what_the_kernel_says_in_float64(compiler: CUDACompiler) -> None:
    oracle = read_problem(EXAMPLES[0], compiler).task.oracle
    assert isinstance(oracle, NaiveKernelOracle)
    x = np.random.default_rng(3).standard_normal((5, 1000)) + 1e4
    got = pickle.loads(pickle.dumps(oracle))(xp, {"x": x}, {"rows": 5, "cols": 1000})["y"]
    assert np.abs(got - x.var(axis=1)).max() < 1e-9 * 1e4


def test_a_faster_kernel_passes_and_a_wrong_one_does_not(compiler: CUDACompiler, judge: Judge) -> None:
    task = build_problem(EXAMPLE, compiler).task
    faster = EXAMPLE.replace("block=(256)", "block=(512)").replace("n, 256", "n, 512")
    assert judge.judge(task, Candidate(source=faster)).passed
    off = EXAMPLE.replace("+ 1.0f", "+ 1.001f")
    assert judge.judge(task, Candidate(source=off)).verdict is Verdict.WRONG_RESULT
    late = EXAMPLE.replace("if (i < n)", "if (i < n - 1)")
    assert judge.judge(task, Candidate(source=late)).verdict is Verdict.WRONG_RESULT


BIT_TRICK = """\
// problem: negate
// dims: n=4096
// input: x float32[n]
// output: y float32[n]
// launch: negate grid=(ceil_div(n, 128)) block=(128)
extern "C" __global__ void negate(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __int_as_float(*(const int*)(x + i) ^ 0x80000000);
}
"""


def test_a_kernel_that_has_no_double_form_is_compared_in_float32_and_says_so(
    compiler: CUDACompiler, judge: Judge
) -> None:
    problem = build_problem(BIT_TRICK, compiler)
    assert "in float32, because its double form" in problem.notes[0]
    assert "widened" in problem.notes[0]
    assert problem.task.tolerance.relative == pytest.approx(1.6e-4)
    plain = BIT_TRICK.replace("__int_as_float(*(const int*)(x + i) ^ 0x80000000)", "-x[i]")
    assert judge.judge(problem.task, Candidate(source=plain)).passed


REDUCTION = """\
// problem: dot
// dims: n=65536
// input: x half[n]
// input: k int[n]
// output: y float[1]
// launch: dot grid=(1) block=(128) shared=512
#include <cuda_fp16.h>
extern "C" __global__ void dot(const half* x, const int* k, float* y, int n) {
    extern __shared__ float part[];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 128) sum += __half2float(x[i]) * expf(-fabsf((float)k[i])) * 0.5f;
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step > 0; step >>= 1) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[0] = part[0];
}
"""


def test_half_and_integer_arrays_and_dynamic_shared_memory_work_in_the_double_form(
    compiler: CUDACompiler, judge: Judge
) -> None:
    problem = build_problem(REDUCTION, compiler)
    assert problem.notes[0] == "truth: the naive kernel computed in float64"
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal(300).astype(np.float16).astype(np.float64), "k": np.arange(300.0) % 5}
    got = problem.task.oracle(xp, inputs, {"n": 300})["y"]
    assert got[0] == pytest.approx(float(np.sum(inputs["x"] * np.exp(-inputs["k"]) * 0.5)), rel=1e-12)
    assert judge.judge(problem.task, Candidate(source=REDUCTION)).passed


def test_widening_leaves_comments_and_includes_alone_and_knows_literals() -> None:
    source = (
        '#include "float.h"\n// a float\nfloat4 f = make_float4(1.f, .5e-3f, 0x1F, sqrtf(2)); int flt = 3e2f;'
    )
    wide = widened(source)
    assert wide.startswith(
        '#include "float.h"\n// a float\ndouble4 f = make_double4(1., .5e-3, 0x1F, sqrt(2))'
    )
    assert wide.endswith("int flt = 3e2;")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("// problem: scale_add\n", ""), "it has no line `// problem: …`"),
        (("// dims: n=1048576\n", ""), "it has no line `// dims: …`"),
        (("n=1048576", "n"), "'n' is no dimension"),
        (("n=1048576", "n=0"), "at least 1"),
        (("x float32[n]", "x float64[n]"), "is no array"),
        (("x float32[n]", "x float32[n +]"), "n +"),
        (("// dims", "// dims: n=4\n// dims"), "is given twice"),
        (("// dims", "// tolerance: tight\n// dims"), "is no tolerance"),
        (("// dims", "// values: odd\n// dims"), "cannot be drawn"),
    ],
)
def test_a_header_that_is_wrong_is_refused_with_an_example(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_header(EXAMPLE.replace(*change, 1))
    assert complaint in str(caught.value)
    assert EXAMPLE in str(caught.value)


def test_the_header_takes_short_type_names_and_options() -> None:
    text = EXAMPLE.replace("float32", "float").replace(
        "// dims", "// tolerance: 1e-3 1e-4\n// values: large normal\n// operations: 2*n\n// dims"
    )
    header = parse_header(text)
    assert header.inputs[0].dtype == "float32"
    assert header.distributions == ("normal", "large")
    assert header.tolerance is not None
    assert header.operations is not None
    assert (header.tolerance.absolute, header.operations.text) == (1e-4, "2*n")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("if (i < n) ", ""), "the naive kernel fails for"),
        (("blockIdx.x", "blokIdx.x"), 'identifier "blokIdx" is undefined'),
        (("grid=(ceil_div(n, 256))", "grid=(m)"), "launch plan is wrong"),
        (("// input: x", "// input: y"), "share a name"),
    ],
)
def test_a_naive_kernel_at_fault_is_told_in_words(
    change: tuple[str, str], complaint: str, compiler: CUDACompiler
) -> None:
    with pytest.raises(UserError) as caught:
        build_problem(EXAMPLE.replace(*change, 1), compiler)
    assert complaint in str(caught.value)


def test_a_file_that_cannot_be_read_is_the_users_mistake(tmp_path: Path, compiler: CUDACompiler) -> None:
    with pytest.raises(CandidateInputError):
        read_problem(tmp_path / "none.cu", compiler)
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe")
    with pytest.raises(CandidateInputError, match="UTF-8"):
        read_problem(tmp_path / "binary.cu", compiler)


@pytest.mark.parametrize(
    "stated",
    [{"n": 1 << 24}, {"n": 1}, {"m": 1024, "n": 512, "k": 4096}, {"rows": 8, "cols": 100_000}],
    ids=str,
)
def test_shapes_stay_below_the_stated_one_and_are_affordable(stated: dict[str, int]) -> None:
    def cost(shape: dict[str, int]) -> int:
        return 10 * int(np.prod(list(shape.values())))

    shapes = derive_shapes(stated, cost)
    for shape in (*shapes.visible, *shapes.hidden, shapes.timing):
        assert all(1 <= shape[name] <= stated[name] for name in stated)
    assert all(cost(shape) <= CHECK_INSTRUCTIONS for shape in (*shapes.visible, *shapes.hidden))
    assert cost(shapes.timing) <= TIMING_INSTRUCTIONS
    assert cost(shapes.timing) * 8 > min(TIMING_INSTRUCTIONS, cost(stated))
    assert dict.fromkeys(stated, 1) in shapes.hidden


def test_what_a_model_sees_has_the_kernel_and_no_header(compiler: CUDACompiler) -> None:
    task = build_problem(EXAMPLE, compiler).task
    assert "// problem" not in naive_source(task)
    assert naive_source(task).startswith("// launch: scale_add")
    assert "y[i] = 2.0f * x[i] + 1.0f" in task.prompt
    assert 'Signature: extern "C" __global__ void scale_add(const float* x, float* y, int n)' in task.prompt


def test_a_long_naive_kernel_is_cut_at_a_line_and_the_fence_is_closed(compiler: CUDACompiler) -> None:
    long = EXAMPLE.replace("    if (i < n)", "    // one more line\n" * 200 + "    if (i < n)")
    prompt = build_problem(long, compiler).task.prompt
    assert len(prompt) < 1600
    assert prompt.endswith("// … (the rest is left out)\n```")
