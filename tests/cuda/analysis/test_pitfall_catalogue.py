"""The detector on the catalogue: no error, and no warning but the true ones listed here."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest

from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.cuda.checking import poisoned_buffers
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.cuda.executors.base import ExecutionRequest, LaunchCounters
from coding_framework.cuda.executors.emulator.execute import execute
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.pairs.mistakes import no_bounds_check
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.data.templates.signature import PLAIN
from coding_framework.data.templates.synthetic import draw_synthetic_task
from coding_framework.evaluation.bench.kernels import BENCH_TASKS
from coding_framework.records import Task
from coding_framework.records.finding import Finding

SPREAD = "uncoalesced-access"
EXPECTED_WARNINGS = {
    "row_sum.naive": [(SPREAD, 7)],
    "transpose.naive": [(SPREAD, 6)],
    "matvec.naive": [(SPREAD, 7)],
    "matmul.register_blocked": [("bank-conflict", 14), ("bank-conflict", 15)],
    "softmax.naive": [(SPREAD, 5), (SPREAD, 7), (SPREAD, 11), (SPREAD, 14)],
    "layer_norm.naive": [(SPREAD, 8), (SPREAD, 13), (SPREAD, 18)],
    "residual_layer_norm.naive": [(SPREAD, 8), (SPREAD, 13), (SPREAD, 18), (SPREAD, 19)],
    "rms_norm.naive": [(SPREAD, 7), (SPREAD, 11)],
}
"""Each was read beside its kernel: a thread for each row, a store by columns, and in the blocked
product the stores of both tiles, where the two rows of a warp of a 16 x 16 block meet in one bank."""


def kernels(tasks: Iterable[Task] | None = None) -> Iterator[tuple[str, Task, str]]:
    """Those that were read one by one; or of all these tasks."""
    for task in tasks or [get_task(name) for name in BENCH_TASKS]:
        yield f"{task.name}.naive", task, task.baseline
        for variant in variants(task.name):
            yield f"{task.name}.{variant.name}", task, variant.source


def findings_of(task: Task, source: str) -> tuple[Finding, ...]:
    return CUDAPitfallDetector().detect(source, plan=parse_launch_plan(source, task))


def test_no_kernel_of_the_catalogue_has_an_error() -> None:
    for name, task, source in kernels(all_tasks()):
        errors = [f for f in findings_of(task, source) if f.severity in ("error", "critical")]
        assert not errors, name


def test_kernels_that_were_read_have_exactly_the_expected_warnings() -> None:
    found = {}
    for name, task, source in kernels():
        findings = findings_of(task, source)
        assert not [f for f in findings if f.severity in ("error", "critical")], name
        warnings = [(f.rule, f.line) for f in findings if f.severity == "warning"]
        if warnings:
            found[name] = warnings
    assert found == EXPECTED_WARNINGS


def test_the_source_alone_gives_the_same_warnings_as_the_plan() -> None:
    for name, task, source in kernels():
        alone = [(f.rule, f.line) for f in CUDAPitfallDetector().detect(source) if f.severity == "warning"]
        assert alone == EXPECTED_WARNINGS.get(name, []), task.name


def counters_of(compiler: CUDACompiler, task: Task, source: str) -> tuple[LaunchCounters, ...]:
    ptx = compiler.compile(source).ptx
    assert ptx is not None
    plan = parse_launch_plan(source, task)
    inputs = draw_inputs(task, task.timing_shape, task.distributions[0], seed=1)
    outcome = execute(
        ExecutionRequest(
            ptx=ptx,
            launches=resolve_launches(plan, task, task.timing_shape),
            buffers=poisoned_buffers(task, plan, task.timing_shape, inputs, 0),
            instruction_limit=10**12,
            detect_races=False,
        )
    )
    assert outcome.fault is None
    return outcome.counters


def test_warnings_agree_with_what_the_emulator_counts_on_the_timed_shape() -> None:
    """Spread accesses show as more than 8 sectors a request (16-byte loads apart, which need 16)."""
    with CUDACompiler() as compiler:
        for name, task, source in kernels():
            warned = {rule for rule, _ in EXPECTED_WARNINGS.get(name, [])}
            for counters in counters_of(compiler, task, source):
                sectors = counters.global_sectors / counters.global_requests
                assert (sectors > 8 and "float4" not in source) == (SPREAD in warned), (name, sectors)
                extra = counters.shared_passes - counters.shared_accesses
                assert (extra > 0) == ("bank-conflict" in warned), (name, extra)


@pytest.mark.parametrize(("array", "line"), [("tile_a", 14), ("tile_b", 15)])
def test_the_padding_that_is_suggested_removes_the_conflicts(array: str, line: int) -> None:
    task = get_task("matmul")
    (source,) = [variant.source for variant in variants("matmul") if variant.name == "register_blocked"]
    (finding,) = [f for f in findings_of(task, source) if (f.rule, f.line) == ("bank-conflict", line)]
    declared = finding.suggestion.split("`")[-2]
    before = next(row for row in source.splitlines() if f"__shared__ float {array}[" in row)
    padded = source.replace(before, f"    __shared__ float {array}{declared};")
    assert padded != source
    with CUDACompiler() as compiler:
        extra = [
            sum(c.shared_passes - c.shared_accesses for c in counters_of(compiler, task, text))
            for text in (source, padded)
        ]
    assert extra[1] == extra[0] // 2, "the other tile's conflicts remain"
    assert line not in [f.line for f in findings_of(task, padded) if f.rule == "bank-conflict"]


def test_drawn_kernels_give_no_false_alarm_and_a_guard_taken_out_is_always_seen() -> None:
    """Right kernels of drawn tasks get no error and no warning but spread rows; broken ones one error."""
    rng, num_seen = random.Random(3), 0
    for _ in range(80):
        drawn = draw_synthetic_task(rng, ())
        right = [source for source in (drawn.task.baseline, drawn.optimised_kernel(PLAIN)) if source]
        for source in right:
            rules = {f.rule for f in findings_of(drawn.task, source) if f.severity != "info"}
            assert rules <= ({SPREAD} if source is drawn.task.baseline else set()), source
        broken = findings_of(drawn.task, no_bounds_check(drawn.task.baseline)[0])
        assert "missing-bounds-check" in {f.rule for f in broken if f.severity == "error"}
        num_seen += len(right)
    assert num_seen > 120
