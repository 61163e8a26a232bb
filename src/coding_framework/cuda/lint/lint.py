"""`lint_task(task) -> TaskLint`: is the task sound enough to pay rewards for?

Guarantees: every adversary answers exactly the checks that the judge plans, the timing shape
included, on several seeds, and is compared as a kernel's outputs are; one that passes them all on
any seed is a defect of the task. It does not prove that no cheat exists, only that these do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coding_framework.cuda.checking import PlannedCheck, compare_outputs, fixed_checks
from coding_framework.cuda.elements import encode_elements
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.lint.adversaries import Adversary, Answers, adversaries_for
from coding_framework.cuda.lint.records import AdversaryResult, TaskDefect, TaskLint
from coding_framework.cuda.lint.rules import baseline_defects, broken_rules
from coding_framework.cuda.lint.situation import Situation
from coding_framework.records import ShapeCheck, Task

DEFAULT_SEEDS = (1, 2, 3)
"""A candidate sees fresh inputs every time; an adversary that is lucky on one of three is too lucky."""


@dataclass(frozen=True)
class _Round:
    """What one adversary did on one seed."""

    checks_passed: int
    worst_ratio: float


def lint_task(task: Task, judge: Judge | None = None, seeds: tuple[int, ...] = DEFAULT_SEEDS) -> TaskLint:
    """Everything that is wrong with a task; the baseline is judged where a judge is given."""
    with np.errstate(all="ignore"):
        found = [(adversary, _attack(task, adversary, seeds)) for adversary in adversaries_for(task)]
    defects = [*broken_rules(task), *(baseline_defects(task, judge) if judge else ())]
    defects += [_defect(task, adversary) for adversary, result in found if result.passed]
    return TaskLint(task=task.name, adversaries=tuple(r for _, r in found), defects=tuple(defects))


def _attack(task: Task, adversary: Adversary, seeds: tuple[int, ...]) -> AdversaryResult:
    rounds = [_play(task, adversary, seed) for seed in seeds]
    best = max(rounds, key=lambda played: (played.checks_passed, -played.worst_ratio))
    return AdversaryResult(
        adversary=adversary.name,
        checks_passed=best.checks_passed,
        num_checks=len(fixed_checks(task)) + 1,
        least_error_ratio=min(played.worst_ratio for played in rounds),
    )


def _play(task: Task, adversary: Adversary, seed: int) -> _Round:
    """All checks on small shapes; the large one only for an adversary that passed them."""
    results = [_answer(task, adversary, check, seed) for check in fixed_checks(task)]
    if all(result.passed for result in results):
        timed = PlannedCheck(task.timing_shape, task.distributions[0], hidden=True)
        results.append(_answer(task, adversary, timed, seed))
    return _Round(
        checks_passed=sum(result.passed for result in results),
        worst_ratio=max(result.max_error_ratio or 0.0 for result in results),
    )


def _answer(task: Task, adversary: Adversary, check: PlannedCheck, seed: int) -> ShapeCheck:
    situation = Situation.draw(task, check, seed)
    truth = {name: array.reshape(-1) for name, array in situation.solve(situation.inputs).items()}
    answers: Answers = adversary.strategy(situation)
    written = {
        spec.name: encode_elements(np.asarray(answers[spec.name], dtype=np.float64).reshape(-1), spec.dtype)
        for spec in task.outputs
    }
    return compare_outputs(task, check, written, truth)


def _defect(task: Task, adversary: Adversary) -> TaskDefect:
    budget = f"{task.tolerance.absolute:g} + {task.tolerance.relative:g} * |expected|"
    return TaskDefect(
        rule="adversary",
        words=f"a kernel that {adversary.name} passes every check (budget {budget}): {adversary.remedy}",
    )
