"""The real tools on a real GPU: a kernel of the catalogue, replayed under each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coding_framework.cuda.checking import poisoned_buffers
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.cuda.executors.base import ExecutionRequest
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.profiler import ComputeSanitizer, NsightCompute, SanitizerReport, ToolUnavailable
from coding_framework.data.tasks import get_task
from coding_framework.records import ProfileReport

pytestmark = pytest.mark.gpu
SHAPE = {"n": 2**22}


def command(folder: Path, source: str) -> list[str]:
    from coding_framework.cuda.executors.gpu.replay import write_request

    task = get_task("vector_add")
    compiler = CUDACompiler()
    try:
        compilation = compiler.compile(source)
    finally:
        compiler.close()
    assert compilation.ptx is not None
    assert compilation.binary_path is not None
    plan = parse_launch_plan(source, task)
    inputs = draw_inputs(task, SHAPE, "normal", seed=1)
    request = ExecutionRequest(
        ptx=compilation.ptx,
        launches=resolve_launches(plan, task, SHAPE),
        buffers=poisoned_buffers(task, plan, SHAPE, inputs, 0x7FC0DEAD),
        cubin=compilation.binary_path.read_bytes(),
    )
    path = folder / "request.pickle"
    write_request(request, path)
    return [sys.executable, "-m", "coding_framework.cuda.executors.gpu.replay", str(path)]


def test_a_vector_add_is_profiled(tmp_path: Path) -> None:
    report = NsightCompute().profile(command(tmp_path, get_task("vector_add").baseline), ["vector_add"], 120)
    if isinstance(report, ToolUnavailable) and report.reason in ("missing", "forbidden"):
        pytest.skip(report.words)
    assert isinstance(report, ProfileReport), report
    assert report.sectors_per_request == pytest.approx(4.0)
    assert report.stall_reasons


@pytest.mark.parametrize(
    ("right", "wrong", "kind"), [("", "", None), ("i < n", "i < n + 4096", "out_of_bounds")]
)
def test_memcheck_finds_a_missing_bound_and_nothing_else(
    tmp_path: Path, right: str, wrong: str, kind: str | None
) -> None:
    source = get_task("vector_add").baseline
    if right:
        assert right in source
        source = source.replace(right, wrong).replace("ceil_div(n, 256)", "ceil_div(n, 256) + 16")
    report = ComputeSanitizer().run(command(tmp_path, source), "memcheck", 120)
    if isinstance(report, ToolUnavailable) and report.reason == "missing":
        pytest.skip(report.words)
    assert isinstance(report, SanitizerReport), report
    assert (report.findings[0].kind if report.findings else None) == kind
