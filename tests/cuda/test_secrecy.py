"""What a candidate cannot know is fresh in every judgement, or follows from a secret and the code."""

from __future__ import annotations

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.secrecy import Secrets, repeatable
from coding_framework.data.tasks import get_task
from coding_framework.records import Candidate, Evaluation

HISTOGRAM = get_task("histogram")
"""Its counts, and so its modelled time, depend on the numbers that it is given."""
PLAIN = Candidate(source=HISTOGRAM.baseline)
SAME_CODE = Candidate(source="// other words, the same code\n" + HISTOGRAM.baseline)


def judge_anew(secret: str | None, candidate: Candidate = PLAIN) -> Evaluation:
    judge = Judge(JudgeConfig(workers=1, secret=secret))
    try:
        return judge.judge(HISTOGRAM, candidate)
    finally:
        judge.close()


def what_was_seen(evaluation: Evaluation) -> tuple[object, ...]:
    assert evaluation.passed, evaluation.message
    assert evaluation.timing is not None
    return (
        [(check.dimensions, check.max_error_ratio) for check in evaluation.checks],
        evaluation.timing.median_us,
        evaluation.timing.reference_median_us,
        evaluation.message,
    )


@pytest.fixture(scope="module")
def with_a_secret() -> tuple[object, ...]:
    return what_was_seen(judge_anew("run 17"))


def test_the_same_code_is_judged_on_the_same_numbers_in_every_process(
    with_a_secret: tuple[object, ...],
) -> None:
    assert what_was_seen(judge_anew("run 17")) == with_a_secret
    assert what_was_seen(judge_anew("run 17", SAME_CODE)) == with_a_secret


def test_another_secret_and_none_at_all_give_other_numbers(with_a_secret: tuple[object, ...]) -> None:
    seen = [with_a_secret[0], what_was_seen(judge_anew("run 18"))[0], what_was_seen(judge_anew(None))[0]]
    assert all(one != other for place, one in enumerate(seen) for other in seen[:place])


def test_a_stream_never_gives_the_same_number_twice_and_repeats_with_its_key() -> None:
    first, again, fresh = Secrets("key"), Secrets("key"), Secrets()
    drawn = [first.bits(63) for _ in range(100)]
    assert len(set(drawn)) == 100
    assert drawn == [again.bits(63) for _ in range(100)]
    assert {fresh.bits(63) for _ in range(100)}.isdisjoint(drawn)
    assert all(0 <= first.below(7) < 7 for _ in range(50))


def test_only_a_judge_without_a_clock_is_made_repeatable_and_a_given_secret_stays() -> None:
    assert repeatable(JudgeConfig(executor="emulator"), 17).secret == "run 17"
    assert repeatable(JudgeConfig(secret="mine"), 17).secret == "mine"
    assert repeatable(JudgeConfig(executor="gpu"), 17).secret is None
