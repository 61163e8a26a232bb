"""Drafts of every kind through the real judge, and what is shared between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.data.pair_records import RejectedDraft, SFTPair
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.making import in_order
from coding_framework.data.pairs.restyle import DressedKernel
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.data.pairs.workshop import Workshop, open_workshop
from coding_framework.data.tasks import get_task
from coding_framework.errors import JudgeFault
from coding_framework.records import Candidate, Evaluation, Message, Task

CONFIG = JudgeConfig(workers=1, executor="emulator")


def prompt(task: Task) -> tuple[Message, ...]:
    return (Message(role="user", content=task.prompt),)


def optimizer_prompt(task: Task, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    assert evaluation.task == task.name
    assert evaluation.candidate is not None
    assert evaluation.candidate.source == source
    return (Message(role="user", content=f"{task.prompt}\n{source}\n{evaluation.message}"),)


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    tasks = [get_task("matvec"), get_task("transpose")]
    with open_workshop(CONFIG, tasks, ("scale",), 7, prompt, optimizer_prompt) as opened:
        yield opened


@pytest.fixture(scope="module")
def drafts(workshop: Workshop) -> list[CatalogueDraft]:
    family = next(family for family in workshop.families if family.name == "transpose")
    return list(family.cluster(7, 1))


@pytest.fixture(scope="module")
def outcomes(workshop: Workshop, drafts: list[CatalogueDraft]) -> list[SFTPair | RejectedDraft]:
    return [workshop.settler.settle(draft) for draft in drafts]


def kept(outcomes: list[SFTPair | RejectedDraft], kind: str) -> list[SFTPair]:
    return [pair for pair in outcomes if isinstance(pair, SFTPair) and pair.kind == kind]


def test_a_cluster_gives_pairs_of_every_kind(outcomes: list[SFTPair | RejectedDraft]) -> None:
    assert len(kept(outcomes, "write")) == 5
    assert kept(outcomes, "repair")
    assert len(kept(outcomes, "optimise")) == 2
    reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, RejectedDraft)}
    assert reasons <= {"mistake passes"}


def test_kernels_of_one_structure_share_a_verdict(
    workshop: Workshop, outcomes: list[SFTPair | RejectedDraft]
) -> None:
    rates = workshop.hit_rates
    assert rates.shared >= 5
    assert 0 < rates.shared_rate < 1
    assert rates.compiled > len(outcomes)


def test_every_kept_answer_passes_again_under_its_own_task_without_any_sharing(
    workshop: Workshop, drafts: list[CatalogueDraft], outcomes: list[SFTPair | RejectedDraft]
) -> None:
    """The text that is trained on, judged in full under the names that its prompt uses."""
    renamed = [
        (draft, pair)
        for draft, pair in zip(drafts, outcomes, strict=True)
        if isinstance(pair, SFTPair) and draft.answer.kept != draft.answer.judged
    ]
    assert renamed
    for draft, pair in renamed[:3]:
        evaluation = workshop.pool.judge(draft.task, Candidate(source=pair.source))
        assert evaluation.passed, evaluation.message
        assert evaluation.speedup == pytest.approx(pair.speedup, rel=0.02)


def test_a_repair_shows_a_kernel_that_fails_with_the_judges_own_words(
    workshop: Workshop, drafts: list[CatalogueDraft], outcomes: list[SFTPair | RejectedDraft]
) -> None:
    for draft, pair in zip(drafts, outcomes, strict=True):
        if isinstance(pair, SFTPair) and pair.kind == "repair":
            assert draft.shown is not None
            evaluation = workshop.pool.judge(draft.task, Candidate(source=draft.shown.kept))
            assert not evaluation.passed
            assert evaluation.message in pair.messages[0].content
            assert pair.mistake == draft.mistake != ""


def test_an_optimisation_starts_from_a_profile_and_ends_faster(
    outcomes: list[SFTPair | RejectedDraft],
) -> None:
    for pair in kept(outcomes, "optimise"):
        assert "correct. modelled time" in pair.messages[0].content
        assert pair.speedup > 1.02
        assert pair.agent == "optimizer"
        assert pair.time_kind == "modelled"


def test_the_same_draft_again_is_a_duplicate_however_many_are_settled_at_a_time(
    workshop: Workshop, drafts: list[CatalogueDraft]
) -> None:
    twice = [("a", draft) for draft in (drafts[0], drafts[2], drafts[0])]
    for workers in (1, 3):
        found = [outcome for _, outcome in in_order(iter(twice), workshop.settler.settle, workers)]
        assert [isinstance(outcome, SFTPair) for outcome in found] == [True, True, False]
        assert isinstance(found[2], RejectedDraft)
        assert found[2].reason == "duplicate"


def test_a_wrong_answer_is_dropped_and_its_structure_is_not_tried_again(
    workshop: Workshop, drafts: list[CatalogueDraft]
) -> None:
    wrong = drafts[0].answer.kept.replace("=(ceil_div(", "=(1 + 0 * ceil_div(")
    judged = drafts[0].answer.judged.replace("=(ceil_div(", "=(1 + 0 * ceil_div(")
    answer = DressedKernel(kept=wrong, judged=judged, kernels=drafts[0].answer.kernels)
    draft = replace(drafts[0], answer=answer, structure="short grid")
    before = workshop.pool.num_judged
    first, second = workshop.settler.settle(draft), workshop.settler.settle(draft)
    assert isinstance(first, RejectedDraft)
    assert first.reason == "wrong_result"
    assert isinstance(second, RejectedDraft)
    assert second.reason == "structure rejected"
    assert workshop.pool.num_judged == before + 1


def test_a_kept_text_that_is_another_program_than_the_judged_one_is_dropped(
    workshop: Workshop, drafts: list[CatalogueDraft]
) -> None:
    answer = replace(drafts[0].answer, kept=drafts[0].answer.kept.replace("] = ", "] = 2.0f * ", 1))
    outcome = workshop.settler.settle(replace(drafts[0], answer=answer, structure="another"))
    assert isinstance(outcome, RejectedDraft)
    assert outcome.reason == "not the same program"


class Faulty:
    def judge(self, task: Task, candidate: Candidate) -> Evaluation:
        raise JudgeFault("the worker died")


def test_a_fault_of_the_judge_is_counted_as_one(workshop: Workshop, drafts: list[CatalogueDraft]) -> None:
    held_out = workshop.settler.held_out
    settler = PairSettler(Faulty(), workshop.settler.compile_source, prompt, optimizer_prompt, held_out)
    outcome = settler.settle(drafts[0])
    assert isinstance(outcome, RejectedDraft)
    assert outcome.reason == "judge fault"
