"""Nothing that is held out occurs in a pair: not by family, task, formula, function, code or PTX."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.pair_records import RejectedDraft
from coding_framework.data.pairs.contamination import HeldOut, computes_the_same
from coding_framework.data.pairs.drafts import CatalogueDraft, draft_pairs, families
from coding_framework.data.pairs.normal_code import normal_code
from coding_framework.data.pairs.restyle import DressedKernel
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.data.pairs.short_drafts import FirstKernels, Improvements
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task
from coding_framework.data.templates.operations import VECTOR_OPERATIONS
from coding_framework.data.templates.synthetic import make_synthetic_task
from coding_framework.records import Candidate, Evaluation, Message, Task

EXCLUDED = ("scale", "gelu", "row_sum", "bias_relu")
SEEDS = (1, 2, 3)
DRAFTS_A_SEED = 1000


def prompt(task: Task) -> tuple[Message, ...]:
    return (Message(role="user", content=task.prompt),)


def optimizer_prompt(task: Task, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return (Message(role="user", content=f"{task.prompt}\n{source}\n{evaluation.message}"),)


def never(task: Task, candidate: Candidate) -> Evaluation:
    raise AssertionError("a contaminated draft must not reach the judge")


class NoJudge:
    judge = staticmethod(never)


@pytest.fixture(scope="module")
def held_out() -> Iterator[HeldOut]:
    with CUDACompiler() as compiler:
        yield HeldOut(EXCLUDED, compiler.compile)


@pytest.fixture(scope="module")
def many(held_out: HeldOut) -> list[CatalogueDraft]:
    chosen = families(all_tasks(), held_out=held_out)
    return [draft for seed in SEEDS for draft in islice(draft_pairs(chosen, seed), DRAFTS_A_SEED)]


def test_drafts_reach_all_tiers_all_kinds_and_every_family_that_may_be_trained_on(
    many: list[CatalogueDraft], held_out: HeldOut
) -> None:
    assert {draft.original.tier for draft in many} == {0, 1, 2, 3}
    assert {draft.kind for draft in many} == {"write", "repair", "optimise"}
    trainable = {task.family for task in all_tasks() if task not in held_out.tasks}
    assert trainable - {draft.original.family for draft in many} <= {"scaling"}  # its formula is excluded


def test_no_draft_is_of_a_held_out_family_task_or_formula(many: list[CatalogueDraft]) -> None:
    assert len(many) == len(SEEDS) * DRAFTS_A_SEED
    held_out = HeldOut(EXCLUDED)
    for draft in many:
        assert draft.original.family not in HELD_OUT_FAMILIES
        assert draft.task.family not in HELD_OUT_FAMILIES
        assert draft.original.name not in EXCLUDED
        assert draft.formula not in held_out.keys


def test_no_draft_computes_what_a_held_out_task_computes(
    many: list[CatalogueDraft], held_out: HeldOut
) -> None:
    originals = {draft.original.name: draft.original for draft in many}
    assert len(originals) > 100
    for task in originals.values():
        assert not [other.name for other in held_out.tasks if computes_the_same(task, other)], task.name


def test_no_answer_and_no_shown_kernel_has_the_code_of_a_held_out_kernel(
    many: list[CatalogueDraft], held_out: HeldOut
) -> None:
    assert len(held_out.codes) > 20
    for draft in many[:: len(SEEDS)]:
        assert normal_code(draft.answer.kept) not in held_out.codes, draft.task.name
        assert normal_code(draft.answer.judged) not in held_out.codes


@pytest.mark.parametrize("source", [FirstKernels, Improvements])
def test_short_drafts_hold_nothing_of_a_held_out_family(
    held_out: HeldOut, source: type[FirstKernels] | type[Improvements]
) -> None:
    short = source(all_tasks(), HeldOut(EXCLUDED))
    number = 0
    for seed in SEEDS:
        for cluster in range(300):
            for draft in short.cluster(seed, cluster):
                number += 1
                assert draft.task.family not in HELD_OUT_FAMILIES
                assert held_out.why_not_task(draft.task, draft.formula) is None
                assert held_out.why_not_code(draft.answer.kept) is None
    assert number > 600


def clean_draft(held_out: HeldOut) -> CatalogueDraft:
    chosen = families([get_task("transpose")], held_out=held_out)
    family = next(family for family in chosen if family.name == "transpose")
    return next(draft for draft in draft_pairs([family], 1) if draft.kind == "write")


def settler(held_out: HeldOut, judges: object = NoJudge) -> PairSettler:
    assert held_out._compile is not None
    return PairSettler(judges, held_out._compile, prompt, optimizer_prompt, held_out)  # type: ignore[arg-type]


def reason(outcome: object) -> tuple[str, str]:
    assert isinstance(outcome, RejectedDraft)
    return outcome.reason, outcome.message


def test_an_injected_draft_of_a_held_out_family_is_dropped(held_out: HeldOut) -> None:
    blend = next(task for task in all_tasks() if task.family == "blend")
    kernel = DressedKernel(kept=blend.baseline, judged=blend.baseline, kernels={})
    injected = replace(clean_draft(held_out), original=blend, task=blend, answer=kernel)
    assert reason(settler(held_out).settle(injected)) == (
        "held out",
        f"task {blend.name} of family blend is held out",
    )


def test_an_injected_draft_of_a_task_held_out_by_name_is_dropped(held_out: HeldOut) -> None:
    injected = replace(clean_draft(held_out), original=get_task("row_sum"))
    assert reason(settler(held_out).settle(injected))[0] == "held out"


def test_an_injected_draft_that_computes_a_held_out_task_is_dropped(held_out: HeldOut) -> None:
    """Whatever it is called and whatever key it claims."""
    blend = next(operation for operation in VECTOR_OPERATIONS if operation.name == "blend")
    task = make_synthetic_task(random.Random(1), blend).task.model_copy(update={"family": "innocent"})
    injected = replace(clean_draft(held_out), original=task, task=task, formula="map:innocent")
    found, message = reason(settler(held_out).settle(injected))
    assert found == "held out"
    assert "computes what" in message


def test_an_injected_kernel_of_a_held_out_task_under_other_names_is_dropped(held_out: HeldOut) -> None:
    source = get_task("row_sum").baseline.replace("total", "acc").replace("row_sum", "innocent")
    source = source.replace("    ", "\t").replace("{\n", "{  // a remark\n", 1)
    draft = clean_draft(held_out)
    injected = replace(draft, answer=DressedKernel(kept=source, judged=source, kernels={}))
    found, message = reason(settler(held_out).settle(injected))
    assert found == "held out"
    assert "code is that of a kernel of row_sum" in message


def test_an_injected_kernel_with_the_ptx_of_a_held_out_one_is_dropped(held_out: HeldOut) -> None:
    """Written in another way, compiled to the same."""
    source = get_task("row_sum").baseline.replace("total +=", "total = total +").replace("++c", "c += 1")
    source = source.replace("row_sum", "innocent")
    assert held_out.why_not_code(source) is None
    assert held_out._compile is not None
    ptx = held_out._compile(source).ptx
    assert ptx is not None
    assert held_out.why_not_ptx(ptx) == "its PTX is that of a kernel of row_sum, which is held out"
    assert held_out.why_not_ptx(ptx.replace("add.f32", "sub.f32")) is None


def test_holding_out_a_task_leaves_no_draft_of_it_and_not_holding_it_out_does() -> None:
    """The checks above can fail."""
    with_it = families(all_tasks())
    without = families(all_tasks(), exclude=("matmul",))

    def names(chosen: object) -> set[str]:
        return {m.name for family in chosen for m in family.members if isinstance(m, Task)}  # type: ignore[attr-defined]

    assert "matmul" in names(with_it)
    assert "matmul" not in names(without)
