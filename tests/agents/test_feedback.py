"""Feedback on what the real judge said: short, true, placed in the source, silent about hidden shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.agents.feedback import MAX_FEEDBACK_CHARS, feedback, shorten, speedup_interval
from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import get_task, variants
from coding_framework.records import (
    Candidate,
    Diagnostic,
    Evaluation,
    Finding,
    KernelTiming,
    ModuleTask,
    ShapeCheck,
    Task,
    Verdict,
    WrongElement,
)
from tests_support import EvaluationFactory

HEAD = "// launch: vector_add grid=(ceil_div(n, 256)) block=(256)\n"
SIGNATURE = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {\n'
INDEX = "    int i = blockIdx.x * 256 + threadIdx.x;\n"
ADD = "    if (i < n) y[i] = a[i] + b[i];\n}\n"
RACY = """// launch: row_sum grid=(rows) block=(128)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float s[128];
    float t = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) t += x[blockIdx.x * cols + c];
    s[threadIdx.x] = t;
    for (int h = 64; h > 0; h /= 2) {
        if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    one = Judge(JudgeConfig(executor="emulator", run_timeout_s=60, total_timeout_s=120))
    yield one
    one.close()


@pytest.fixture
def vector_add() -> Task:
    return get_task("vector_add")


def judged(judge: Judge, task: Task, source: str, verdict: Verdict) -> tuple[Evaluation, str]:
    evaluation = judge.judge(task, Candidate(source=source))
    assert evaluation.verdict is verdict, evaluation.message
    words = feedback(task, evaluation)
    assert words == feedback(task, evaluation)
    assert len(words) <= MAX_FEEDBACK_CHARS
    return evaluation, words


def test_a_compile_error_is_shown_under_its_source_line(judge: Judge, vector_add: Task) -> None:
    source = HEAD + SIGNATURE + INDEX.replace("blockIdx", "blockidx") + ADD.replace("];\n}", "]\n}")
    _, words = judged(judge, vector_add, source, Verdict.COMPILE_ERROR)
    lines = words.splitlines()
    assert lines[0] == "It does not compile."
    assert lines[1] == 'line 3: error: identifier "blockidx" is undefined'
    assert lines[2][lines[3].index("^") :].startswith("blockidx.x")
    assert lines[4] == 'line 5: error: expected a ";"'
    assert lines[5].strip() == "if (i < n) y[i] = a[i] + b[i]"  # where it is missing


def test_further_errors_are_counted(judge: Judge, vector_add: Task) -> None:
    source = HEAD + SIGNATURE + INDEX + "    p = 1;\n    q = 1;\n    r = 1;\n    s = 1;\n" + ADD
    _, words = judged(judge, vector_add, source, Verdict.COMPILE_ERROR)
    assert words.count(": error:") == 2
    assert words.endswith("(2 more errors after that.)")


def test_a_bad_launch_plan_is_quoted_with_what_is_expected(judge: Judge, vector_add: Task) -> None:
    source = HEAD.replace("ceil_div(n, 256)", "n / ") + SIGNATURE + INDEX + ADD
    _, words = judged(judge, vector_add, source, Verdict.BAD_LAUNCH_PLAN)
    assert words.startswith("Line 1: `// launch: vector_add grid=(n / ) block=(256)`")
    assert "ceil_div(a, b)" in words


def test_a_block_that_is_too_large_names_the_limit(judge: Judge, vector_add: Task) -> None:
    source = HEAD.replace("block=(256)", "block=(2048)") + SIGNATURE + INDEX + ADD
    _, words = judged(judge, vector_add, source, Verdict.INVALID_LAUNCH)
    assert "2048" in words
    assert "1024" in words


def test_an_access_out_of_bounds_shows_its_line(judge: Judge, vector_add: Task) -> None:
    _, words = judged(
        judge, vector_add, HEAD + SIGNATURE + INDEX + "    y[i] = a[i] + b[i];\n}\n", Verdict.OUT_OF_BOUNDS
    )
    assert words.startswith("Out-of-bounds read: element 1000 of `a`")
    assert "line 4: y[i] = a[i] + b[i];" in words


def test_a_wrong_result_shows_the_first_wrong_elements_with_what_was_expected(
    judge: Judge, vector_add: Task
) -> None:
    evaluation, words = judged(
        judge, vector_add, HEAD + SIGNATURE + INDEX + ADD.replace("+", "-"), Verdict.WRONG_RESULT
    )
    elements = re.findall(r"y\[(\d+)\]: expected (\S+), got (\S+)", words)
    assert [index for index, _, _ in elements] == ["0", "1", "2"]
    first = evaluation.checks[-1].wrong_elements[0]
    assert float(elements[0][1]) == pytest.approx(first.expected, rel=1e-5)
    assert float(elements[0][2]) == pytest.approx(first.actual, rel=1e-5)
    assert "n=1000" in words
    assert "1000 of 1000 elements are wrong" in words


def test_elements_that_were_never_written_are_called_so(judge: Judge, vector_add: Task) -> None:
    source = HEAD.replace("ceil_div(n, 256)", "n / 256") + SIGNATURE + INDEX + ADD
    _, words = judged(judge, vector_add, source, Verdict.WRONG_RESULT)
    assert "y[768]: expected" in words
    assert "never written" in words


def test_of_a_hidden_shape_neither_sizes_nor_values_are_told(judge: Judge, vector_add: Task) -> None:
    source = "// launch: grid=(max(1, n / 8)) block=(8)\n" + SIGNATURE + INDEX.replace("256", "8") + ADD
    evaluation, words = judged(judge, vector_add, source, Verdict.WRONG_RESULT)
    check = evaluation.checks[-1]
    assert check.hidden
    assert words.startswith("Wrong result for a hidden shape")
    assert "never written" in words
    told = set(re.findall(r"\d+", words)) - {"32"}  # "not a multiple of 32"
    assert not told, words


def test_a_race_names_both_lines_and_the_barrier_once(judge: Judge) -> None:
    _, words = judged(judge, get_task("row_sum"), RACY, Verdict.DATA_RACE)
    assert "line 6" in words
    assert "line 8: if (threadIdx.x < h)" in words
    assert words.count("__syncthreads()") == 1


def test_a_kernel_that_never_ends_is_told_which_loop(judge: Judge, vector_add: Task) -> None:
    source = HEAD + SIGNATURE + INDEX + "    while (i >= 0) { if (i < n) y[i] = a[i] + b[i]; }\n}\n"
    _, words = judged(judge, vector_add, source, Verdict.TIMEOUT)
    assert "endless loop" in words
    assert "line 4: while (i >= 0)" in words
    assert "Advice: line 4: nothing in the loop changes `i >= 0`" in words


def test_a_slow_kernel_is_told_its_bottleneck_with_counters_and_the_line(judge: Judge) -> None:
    task = get_task("transpose")
    evaluation, words = judged(judge, task, task.baseline, Verdict.PASSED)
    assert words.startswith("Correct, and 1.00x the speed of the naive baseline (modelled):")
    assert evaluation.profile is not None
    assert evaluation.profile.bottleneck in words
    assert len(re.findall(r"\d+(?:\.\d+)?", evaluation.profile.bottleneck)) >= 2
    assert re.search(r"Advice: line \d+: the store of `y\[", words)


def test_a_fast_kernel_is_not_bothered_with_advice_that_its_counters_refute(
    judge: Judge, vector_add: Task
) -> None:
    source = next(variant.source for variant in variants("vector_add") if variant.name == "vectorized")
    evaluation, words = judged(judge, vector_add, source, Verdict.PASSED)
    assert f"{evaluation.speedup:.2f}x" in words
    assert "Bound by memory traffic" in words
    assert "Advice" not in words


def test_an_unsafe_source_is_told_what_to_remove(judge: Judge, vector_add: Task) -> None:
    source = HEAD + '#include "/etc/passwd"\n' + SIGNATURE + INDEX + ADD
    _, words = judged(judge, vector_add, source, Verdict.UNSAFE)
    assert words.startswith("Refused before compiling. line 2:")
    assert "Advice" not in words


def test_a_measured_speedup_comes_with_its_interval(evaluations: EvaluationFactory) -> None:
    timing = KernelTiming(
        kind="measured",
        device="H200",
        dimensions={"n": 4},
        median_us=5.0,
        interval_us=(4.0, 6.0),
        reference_median_us=10.0,
        reference_interval_us=(9.0, 12.0),
        num_samples=50,
        floor_us=1.0,
        bandwidth_share=0.5,
        operations_share=0.1,
    )
    assert speedup_interval(timing) == (1.5, 3.0)
    measured = evaluations.passed(2.0).model_copy(update={"timing": timing, "profile": None})
    words = feedback(get_task("scale"), measured)
    assert "2.00x" in words
    assert "measured, 95 % interval 1.50x to 3.00x" in words
    assert "50% of the card's memory bandwidth" in words


def test_spilled_registers_are_mentioned(evaluations: EvaluationFactory) -> None:
    words = feedback(get_task("scale"), evaluations.passed(1.0, spill_store_bytes=40, spill_load_bytes=24))
    assert "spill 64 bytes" in words


def test_at_most_two_findings_one_of_a_kind_the_gravest_first(evaluations: EvaluationFactory) -> None:
    def finding(rule: str, severity: str, line: int) -> Finding:
        return Finding.model_validate(
            {
                "rule": rule,
                "category": "safety",
                "severity": severity,
                "line": line,
                "reason": f"{rule} seen.",
                "suggestion": "Change it.",
            }
        )

    found = (
        finding("mild", "warning", 2),
        finding("note", "info", 3),
        finding("grave", "error", 9),
        finding("grave", "error", 10),
        finding("late", "warning", 11),
    )
    words = feedback(get_task("scale"), evaluations.passed(1.0).model_copy(update={"findings": found}))
    advice = [line for line in words.splitlines() if line.startswith("Advice")]
    assert advice == ["Advice: line 9: grave seen. Change it.", "Advice: line 2: mild seen. Change it."]


def test_a_wrong_element_of_a_module_is_told_in_the_judges_words(evaluations: EvaluationFactory) -> None:
    element = WrongElement(output="0", index=(1,), expected=1.0, actual=2.0)
    check = ShapeCheck(
        dimensions={},
        distribution="normal",
        hidden=False,
        passed=False,
        wrong_elements=(element,),
        num_wrong=1,
    )
    failed = evaluations.failed(Verdict.WRONG_RESULT).model_copy(update={"checks": (check,)})
    assert feedback(ModuleTask(name="m", source=""), failed) == "It is wrong_result"


def compile_error(evaluations: EvaluationFactory, **diagnostic: Any) -> str:
    failed = evaluations.failed(Verdict.COMPILE_ERROR)
    assert failed.compilation is not None
    error = Diagnostic(severity="error", line=3, **diagnostic)
    compilation = failed.compilation.model_copy(update={"diagnostics": (error,)})
    return feedback(get_task("scale"), failed.model_copy(update={"compilation": compilation}))


def test_without_a_column_the_caret_stands_under_the_word_that_the_compiler_names(
    evaluations: EvaluationFactory,
) -> None:
    words = compile_error(evaluations, message='identifier "foo" is undefined', source_line="  x = foo(y);")
    assert words.splitlines()[2:] == ["    x = foo(y);", "        ^"]
    plain = compile_error(evaluations, message="syntax error", source_line="  x = foo(y);")
    assert plain.splitlines()[2:] == ["    x = foo(y);"]


def test_of_a_long_line_the_part_around_the_error_is_shown(evaluations: EvaluationFactory) -> None:
    code = "    y = " + " + ".join(f"x{i}" for i in range(100)) + " + wrong;"
    words = compile_error(evaluations, message="undefined", column=code.index("wrong") + 1, source_line=code)
    shown, caret = words.splitlines()[2:]
    assert len(shown) <= 130
    assert shown[caret.index("^") :] == "wrong;"


@given(st.integers(1, 400), st.text(max_size=300))
def test_feedback_keeps_to_its_limit(max_chars: int, message: str) -> None:
    failed = EvaluationFactory().failed(Verdict.CRASHED).model_copy(update={"message": message})
    assert len(feedback(get_task("scale"), failed, max_chars=max_chars)) <= max_chars


def test_long_words_are_cut_at_a_word() -> None:
    assert shorten("one two three", 100) == "one two three"
    assert shorten("one two three four", 12) == "one two …"
    assert len(shorten("x" * 50, 12)) <= 12
