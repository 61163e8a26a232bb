"""A user's own problem on a real GPU: truth and times are measured there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.judge import Judge
from coding_framework.data.user_problem import naive_source, read_problem
from coding_framework.records import Candidate, Verdict

pytestmark = pytest.mark.gpu
PROBLEMS = sorted((Path(__file__).parents[2] / "examples" / "problems").glob("*.cu"))


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_the_naive_kernel_of_an_example_passes_and_a_wrong_one_does_not(path: Path) -> None:
    with CUDACompiler() as compiler:
        problem = read_problem(path, compiler)
    source = naive_source(problem.task)
    with closing(Judge(JudgeConfig(executor="gpu", architecture="auto"))) as judge:
        right = judge.judge(problem.task, Candidate(source=source))
        wrong = judge.judge(problem.task, Candidate(source=source.replace("+", "-", 1)))
    assert right.verdict is Verdict.PASSED, right.message
    assert right.timing is not None
    assert right.timing.kind == "measured"
    assert right.timing.speedup == pytest.approx(1.0, abs=0.1)
    assert wrong.verdict is not Verdict.PASSED
