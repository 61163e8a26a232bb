"""What a pool may answer without judging."""

from __future__ import annotations

import pytest

from coding_framework.cuda.lanes import LaneAnswer, compiled_ahead
from coding_framework.cuda.verdict_memory import VerdictMemory, restated
from coding_framework.records import Candidate, Finding, Gate, Verdict
from tests_support import EvaluationFactory


def test_a_text_is_known_for_its_task_alone(evaluations: EvaluationFactory) -> None:
    memory, passed = VerdictMemory(), evaluations.passed()
    memory.keep("task", "digest", "", passed)
    assert memory.by_text("task", "digest") is passed
    assert memory.by_text("another task", "digest") is None
    assert memory.by_text("task", "other") is None


def test_code_is_known_once_it_has_passed(evaluations: EvaluationFactory) -> None:
    memory, passed = VerdictMemory(), evaluations.passed()
    memory.keep("task", "one", "code", passed)
    memory.keep("task", "two", "", passed)
    assert memory.by_code("task", "code") is passed
    assert memory.codes("task") == {"code"}
    assert memory.codes("another task") == frozenset()
    assert memory.by_code("another task", "code") is None


def test_a_rejection_is_never_known_by_its_code(evaluations: EvaluationFactory) -> None:
    memory, failed = VerdictMemory(), evaluations.failed(Verdict.WRONG_RESULT)
    memory.keep("task", "one", "code", failed)
    assert memory.by_code("task", "code") is None
    assert memory.codes("task") == frozenset()


def test_the_least_recently_used_go_first(evaluations: EvaluationFactory) -> None:
    memory, passed = VerdictMemory(limit=2), evaluations.passed()
    memory.keep("task", "one", "code one", passed)
    memory.keep("task", "two", "code two", passed)
    assert memory.by_text("task", "one")
    assert memory.by_code("task", "code one")
    memory.keep("task", "three", "code three", passed)
    assert memory.by_text("task", "two") is None
    assert memory.by_text("task", "one") is not None
    assert memory.codes("task") == {"code one", "code three"}


def test_a_restated_pass_speaks_of_the_new_candidate(evaluations: EvaluationFactory) -> None:
    passed, candidate = evaluations.passed(), Candidate(source="another text")
    compilation = evaluations.compilation()
    said = Finding(
        rule="r", category="safety", severity="warning", line=2, reason="It is.", suggestion="Do not."
    )
    again = restated(passed, candidate, compilation, (said,), 0.25)
    assert (again.candidate, again.compilation, again.source_line) == (candidate, compilation, None)
    assert again.findings == (said,)
    assert again.gate_seconds == {Gate.COMPILE: 0.25}
    assert (again.verdict, again.timing, again.checks) == (passed.verdict, passed.timing, passed.checks)


def test_a_rejection_cannot_be_restated(evaluations: EvaluationFactory) -> None:
    with pytest.raises(ValueError, match="only a pass"):
        restated(
            evaluations.failed(Verdict.WRONG_RESULT),
            Candidate(source="x"),
            evaluations.compilation(),
            (),
            0.1,
        )


def test_what_another_machine_compiled_ahead_counts_as_it_was_there(evaluations: EvaluationFactory) -> None:
    found = LaneAnswer(None, "key", evaluations.compilation().model_copy(update={"from_cache": True}), 0.1)
    told = compiled_ahead(found, evaluations.compilation())
    assert told.compilation == evaluations.compilation()
    assert not told.compilation.from_cache
    assert compiled_ahead(LaneAnswer(None, "", None, 0.1), evaluations.compilation()).compilation is None
