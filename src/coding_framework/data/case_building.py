"""Test cases of a task, made from the task itself: the judge's fixed checks and the baseline's launches."""

from __future__ import annotations

from coding_framework.cuda.checking import fixed_checks
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.data.training_records import LaunchShape, TestCase
from coding_framework.records import Task


def build_test_cases(task: Task) -> tuple[TestCase, ...]:
    """One for each run that every candidate of the task goes through, with grid and block dimensions."""
    plan = parse_launch_plan(task.baseline, task)
    cases = []
    for check in fixed_checks(task):
        launches = resolve_launches(plan, task, check.dimensions)
        cases.append(
            TestCase(
                dimensions=dict(check.dimensions),
                distribution=check.distribution,
                hidden=check.hidden,
                launches=tuple(
                    LaunchShape(
                        kernel=launch.kernel,
                        grid=launch.grid,
                        block=launch.block,
                        shared_bytes=launch.shared_bytes,
                    )
                    for launch in launches
                ),
            )
        )
    return tuple(cases)
