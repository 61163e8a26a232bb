"""The tester's step: shapes and inputs of its own choice, and the judge's verdict on them.

Guarantees: the tester decides where to look and never what is right: what does not fit the task is
refused, and what passes or fails is the judge's to say. A tester's shapes are no secret, so the feedback
may name them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from coding_framework.agents.test_cases import ExtraCase, parse_test_cases
from coding_framework.records import (
    Candidate,
    Evaluation,
    Generation,
    GenerationRequest,
    ModuleTask,
    Task,
    TesterReport,
)

_Judge = Callable[[Task | ModuleTask, Candidate], Awaitable[Evaluation]]


async def tester_report(
    task: Task, candidate: Candidate, request: GenerationRequest, generation: Generation, judge: _Judge
) -> TesterReport:
    """Judge the candidate on what the tester asked for."""
    parsed = parse_test_cases(generation, task)
    if not parsed.cases:
        reason = "; ".join(parsed.reasons)
        return TesterReport(messages=request.messages, generation=generation, reason=reason)
    probe = probing_task(task, parsed.cases)
    evaluation = await judge(probe, candidate)
    return TesterReport(
        messages=request.messages,
        generation=generation,
        shapes=probe.visible_shapes,
        distributions=probe.distributions,
        evaluation=evaluation,
    )


def probing_task(task: Task, cases: Sequence[ExtraCase]) -> Task:
    """The same task with the tester's cases in place of the visible shapes.

    The judge goes through shapes and distributions in step, so equal lengths give each shape the inputs that
    were asked for.
    """
    known = task.distributions
    drawn = tuple(case.distribution if case.distribution in known else known[0] for case in cases)
    shapes = tuple(dict(case.dimensions) for case in cases)
    return task.model_copy(update={"visible_shapes": shapes, "distributions": drawn})
