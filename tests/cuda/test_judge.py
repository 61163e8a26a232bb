"""The judge, with the real compiler and the real emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.checking import PlannedCheck, compare_outputs, expected_outputs, poisoned_buffers
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.cuda.executors.base import ExecutionRequest
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.execute import execute
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.judge import Judge, default_judge, judge
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.errors import JudgeFault
from coding_framework.records import Candidate, Evaluation, Gate, Task, Verdict

CANDIDATES = Path(__file__).parent / "candidates"
VECTOR_ADD = get_task("vector_add")


@pytest.fixture(scope="module")
def the_judge() -> Iterator[Judge]:
    made = Judge(JudgeConfig(executor="emulator", run_timeout_s=20, total_timeout_s=40))
    yield made
    made.close()


def judged(the_judge: Judge, name: str, task: Task = VECTOR_ADD) -> Evaluation:
    return the_judge.judge(task, Candidate(source=(CANDIDATES / f"{name}.cu").read_text()))


@pytest.mark.parametrize(
    ("name", "verdict", "words", "line"),
    [
        ("right", Verdict.PASSED, "modelled time", None),
        ("wrong", Verdict.WRONG_RESULT, "elements are wrong", None),
        ("out_of_bounds", Verdict.OUT_OF_BOUNDS, "", 4),
        ("missing_barrier", Verdict.DATA_RACE, "", 9),
        ("block_of_2048", Verdict.INVALID_LAUNCH, "1024", None),
        ("endless", Verdict.TIMEOUT, "", None),
        ("does_not_compile", Verdict.COMPILE_ERROR, 'identifier "c" is undefined', 4),
    ],
)
def test_seven_kernels_get_seven_true_verdicts(
    the_judge: Judge, name: str, verdict: Verdict, words: str, line: int | None
) -> None:
    evaluation = judged(the_judge, name)
    assert evaluation.verdict is verdict, evaluation.message
    assert words in evaluation.message
    if line is not None:
        assert evaluation.source_line == line
    assert sum(evaluation.gate_seconds.values()) < the_judge.config.total_timeout_s + 5


@pytest.mark.parametrize(
    ("name", "failed_on"),
    [("right", None), ("does_not_compile", None), ("block_of_2048", "visible"), ("wrong", "visible")],
)
def test_a_failure_says_on_which_kind_of_shape(the_judge: Judge, name: str, failed_on: str | None) -> None:
    assert judged(the_judge, name).failed_on == failed_on


def test_a_fault_on_a_hidden_shape_says_that_the_visible_ones_were_passed(the_judge: Judge) -> None:
    right = (CANDIDATES / "right.cu").read_text()
    source = right.replace("if (i < n)", "if (n < 8) y[n + i] = 0.0f;\n    if (i < n)")
    assert source != right
    evaluation = the_judge.judge(VECTOR_ADD, Candidate(source=source))
    assert (evaluation.verdict, evaluation.failed_on) == (Verdict.OUT_OF_BOUNDS, "hidden")


def test_a_race_names_both_lines(the_judge: Judge) -> None:
    message = judged(the_judge, "missing_barrier").message
    assert "line 6" in message
    assert "line 9" in message


def test_without_the_race_detector_the_missing_barrier_gives_the_right_answer() -> None:
    """Lanes run in step here, so only the detector can tell; that is what it is for."""
    source = (CANDIDATES / "missing_barrier.cu").read_text()
    check = PlannedCheck({"n": 1000}, "normal", hidden=False)
    inputs = draw_inputs(VECTOR_ADD, check.dimensions, check.distribution, seed=1)
    plan = parse_launch_plan(source, VECTOR_ADD)
    with CUDACompiler() as compiler:
        ptx = compiler.compile(source).ptx
    assert ptx is not None
    request = ExecutionRequest(
        ptx=ptx,
        launches=resolve_launches(plan, VECTOR_ADD, check.dimensions),
        buffers=poisoned_buffers(VECTOR_ADD, plan, check.dimensions, inputs, 0x7FC0DEAD),
        detect_races=False,
    )
    outcome = execute(request)
    assert outcome.fault is None
    expected = expected_outputs(VECTOR_ADD, inputs, check.dimensions)
    assert compare_outputs(VECTOR_ADD, check, outcome.buffers, expected).passed


def test_a_passed_kernel_has_a_modelled_time_a_profile_and_every_check(the_judge: Judge) -> None:
    evaluation = judged(the_judge, "right")
    assert evaluation.timing is not None
    assert evaluation.profile is not None
    assert evaluation.timing.kind == "modelled"
    assert evaluation.speedup == pytest.approx(1.0, rel=0.2)
    assert evaluation.pass_rate == 1.0
    assert len(evaluation.checks) == evaluation.num_checks_planned
    assert any(check.hidden for check in evaluation.checks)
    assert {Gate.CONTRACT, Gate.COMPILE, Gate.CHECK, Gate.TIME} <= set(evaluation.gate_seconds)


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("", Verdict.NO_CANDIDATE, "empty"),
        ("x" * 200_001, Verdict.NO_CANDIDATE, "longer than"),
        ("int main() {}", Verdict.BAD_LAUNCH_PLAN, "no `__global__` function"),
        (VECTOR_ADD.baseline.replace("// launch", "// lunch"), Verdict.BAD_LAUNCH_PLAN, "no launch plan"),
        (
            VECTOR_ADD.baseline.replace("ceil_div(n, 256)", "n / (n - n)"),
            Verdict.BAD_LAUNCH_PLAN,
            "divides by zero",
        ),
        (VECTOR_ADD.baseline.replace("ceil_div(n, 256)", "n - n"), Verdict.INVALID_LAUNCH, "grid"),
    ],
)
def test_a_candidate_that_breaks_the_contract_is_told_how(
    the_judge: Judge, source: str, verdict: Verdict, words: str
) -> None:
    evaluation = the_judge.judge(VECTOR_ADD, Candidate(source=source))
    assert evaluation.verdict is verdict, evaluation.message
    assert words in evaluation.message


def test_a_grid_that_does_not_cover_the_data_leaves_nan_and_is_told_so(the_judge: Judge) -> None:
    source = VECTOR_ADD.baseline.replace("ceil_div(n, 256)", "max(1, n / 256)")
    evaluation = the_judge.judge(VECTOR_ADD, Candidate(source=source))
    assert evaluation.verdict is Verdict.WRONG_RESULT
    assert "ever written" in evaluation.message


def test_a_kernel_that_writes_its_input_is_rejected(the_judge: Judge) -> None:
    source = """
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = a[i] + b[i]; a[i] = 0.0f; }
}
"""
    assert the_judge.judge(VECTOR_ADD, Candidate(source=source)).verdict is Verdict.INPUT_CHANGED


def test_a_kernel_that_shows_memory_it_never_wrote_is_not_deterministic(the_judge: Judge) -> None:
    """Scratch garbage differs between the two runs; multiplied away to stay within the budget."""
    source = """
// scratch: junk int32[n]
// launch: vector_add grid=(ceil_div(n, 256)) block=(256) args=(a, b, y, junk, n)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, const int* junk, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = a[i] + b[i];
        y[i] = __int_as_float(__float_as_int(sum) ^ ((junk[i] >> 1) & 1));
    }
}
"""
    evaluation = the_judge.judge(VECTOR_ADD, Candidate(source=source))
    assert evaluation.verdict is Verdict.NOT_DETERMINISTIC
    assert "never written" in evaluation.message
    assert "rounded in another order" in evaluation.message


def test_hidden_shapes_are_described_but_never_told(the_judge: Judge) -> None:
    source = VECTOR_ADD.baseline.replace("i < n", "i < n - n % 2")
    message = the_judge.judge(VECTOR_ADD, Candidate(source=source)).message
    hidden = {str(size) for shape in VECTOR_ADD.hidden_shapes for size in shape.values() if size > 64}
    assert not any(number in message for number in hidden)


def test_a_time_that_the_device_cannot_reach_is_rejected() -> None:
    """The same kernel on a device whose DRAM on paper is far slower than the model believes."""
    slow_on_paper = H200.model_copy(update={"dram_peak_tb_per_s": 0.001})
    one = Judge(device=slow_on_paper)
    evaluation = one.judge(VECTOR_ADD, Candidate(source=VECTOR_ADD.baseline))
    one.close()
    assert evaluation.verdict is Verdict.TOO_FAST
    assert "work is missing" in evaluation.message


def test_the_limit_of_all_runs_together_is_named_as_such() -> None:
    one = Judge(JudgeConfig(executor="emulator", total_timeout_s=1e-6))
    evaluation = one.judge(VECTOR_ADD, Candidate(source=VECTOR_ADD.baseline))
    one.close()
    assert evaluation.verdict is Verdict.TIMEOUT
    assert "all runs together" in evaluation.message


def test_host_code_contracts_are_refused_by_the_emulator(the_judge: Judge) -> None:
    evaluation = the_judge.judge(VECTOR_ADD, Candidate(source="class ModelNew: pass", contract="module"))
    assert "runs host code" in evaluation.message


def test_a_fixed_secret_reproduces_a_verdict() -> None:
    source = VECTOR_ADD.baseline.replace("a[i] + b[i]", "a[i] + b[i] * 1.001f")
    messages = set()
    for _ in range(2):
        one = Judge(JudgeConfig(executor="emulator", secret="again"))
        messages.add(one.judge(VECTOR_ADD, Candidate(source=source)).message)
        one.close()
    assert len(messages) == 1


def test_the_single_door_judges_with_defaults() -> None:
    assert judge(VECTOR_ADD, Candidate(source=VECTOR_ADD.baseline)).passed
    default_judge().close()


@pytest.mark.parametrize(("good", "bad"), [("a[i]", "q[i]"), ("y[i]", "y[i + 1]")])
def test_a_broken_baseline_is_our_fault(the_judge: Judge, good: str, bad: str) -> None:
    broken = VECTOR_ADD.model_copy(update={"baseline": VECTOR_ADD.baseline.replace(good, bad)})
    with pytest.raises(JudgeFault, match="baseline of vector_add"):
        the_judge.judge(broken, Candidate(source=VECTOR_ADD.baseline))


def test_there_are_sixty_tasks_and_a_dozen_in_each_tier() -> None:
    tiers = [task.tier for task in all_tasks()]
    assert len(tiers) >= 60
    assert min(tiers.count(tier) for tier in range(4)) >= 12
