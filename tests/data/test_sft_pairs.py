"""Short drafts are deterministic and never show a held-out formula; pairs survive their file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.pair_files import read_pairs, write_pairs
from coding_framework.data.pair_records import SFTPair, answer_of
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.short_drafts import MAX_ANSWER_CHARS, FirstKernels, short_sources
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.data.templates.catalogue_keys import formula_key, held_out_keys
from coding_framework.errors import StorageError, UnknownTaskError, UserError
from coding_framework.records import AgentRole, Candidate, Message, Task, Verdict

HELD_OUT = ("scale", "gelu", "bias_relu", "row_sum")


def drafts(
    count: int = 40,
    seed: int = 0,
    exclude: tuple[str, ...] = HELD_OUT,
    tasks: Sequence[Task] = all_tasks(),
) -> list[CatalogueDraft]:
    source = FirstKernels(tasks, HeldOut(exclude))
    clusters = (source.cluster(seed, number) for number in itertools.count())
    return list(itertools.islice(itertools.chain.from_iterable(clusters), count))


@pytest.fixture(scope="module")
def many() -> list[CatalogueDraft]:
    return drafts(count=600, seed=11)


def outputs(task: Task) -> tuple[list[np.ndarray], np.ndarray]:
    shape = task.visible_shapes[1]
    inputs = {name: a.astype(np.float64) for name, a in draw_inputs(task, shape, "normal", 1).items()}
    (output,) = task.oracle(np, inputs, shape).values()
    return list(inputs.values()), np.asarray(output)


def is_multiple(values: np.ndarray, of: np.ndarray) -> bool:
    """Whether `values` is `of` times a constant."""
    if values.shape != of.shape:
        return False
    factor = (values * of).sum() / (of * of).sum()
    return float(np.abs(values - factor * of).max()) < 1e-3 * float(np.abs(values).max())


def test_a_seed_gives_the_same_drafts_and_another_seed_others() -> None:
    first, again, other = (drafts(seed=seed, tasks=all_tasks()[:5]) for seed in (1, 1, 2))
    assert first == again
    assert [d.answer for d in first] != [d.answer for d in other]


def test_an_answer_is_one_short_text_with_launch_line_and_kernel(many: list[CatalogueDraft]) -> None:
    for draft in many:
        source = draft.answer.kept
        assert source.startswith(("//", "#include"))
        assert source.strip().endswith("}")
        assert re.search(r"^// launch: \w+ grid=\(", source, re.MULTILINE)
        assert len(source) <= MAX_ANSWER_CHARS
        assert draft.answer.judged == source
        assert draft.task == draft.original


def test_most_answers_of_templates_are_short(many: list[CatalogueDraft]) -> None:
    templates = [draft for draft in many if draft.variant == "template"]
    assert len(templates) > 300
    assert np.median([len(draft.answer.kept) for draft in templates]) < 450


def test_hardly_a_kernel_is_drafted_twice(many: list[CatalogueDraft]) -> None:
    assert len({draft.answer.kept for draft in many}) > 0.95 * len(many)


def test_so_many_pairs_in_all_are_shared_out_among_the_agents() -> None:
    def wanted(*agents: AgentRole) -> dict[str, int]:
        found = short_sources(all_tasks(), HeldOut(HELD_OUT), 240, agents)
        return {source.name: count for source, count in found}

    assert wanted("generator", "optimizer") == {"first kernels": 180, "improvements": 60}
    assert wanted("generator") == {"first kernels": 240}
    assert wanted("optimizer") == {"improvements": 60}


def test_the_training_tasks_of_the_catalogue_are_among_the_drafts(many: list[CatalogueDraft]) -> None:
    names = {draft.task.name for draft in many}
    held_out = HeldOut(HELD_OUT)
    short = {
        task.name
        for task in all_tasks()
        if len(task.baseline) <= MAX_ANSWER_CHARS
        and held_out.allows_kernel(task, formula_key(task.name), task.baseline)
    }
    assert short <= names
    assert {"vector_add", "transpose", "matmul", "softmax"} <= names


def test_the_key_of_a_held_out_task_is_never_drafted(many: list[CatalogueDraft]) -> None:
    assert not {draft.formula for draft in many} & held_out_keys(HELD_OUT)
    assert not {draft.task.name for draft in many} & set(HELD_OUT)


def test_no_draft_computes_a_held_out_task_by_its_numbers(many: list[CatalogueDraft]) -> None:
    """Independent of the keys: outputs are compared with what the held-out tasks would give."""
    gelu = get_task("gelu").oracle
    plain = [draft for draft in many if {spec.dtype for spec in draft.task.inputs} == {"float32"}]
    assert len(plain) > 400
    for draft in plain:
        if len(draft.task.outputs) > 1:
            continue
        inputs, output = outputs(draft.task)
        for array in inputs:
            assert not is_multiple(output, array), draft.task.name  # scale
            if array.shape == output.shape:
                assert not is_multiple(output, np.asarray(gelu(np, {"x": array}, {})["y"])), draft.task.name
            if array.ndim == 2:
                assert not is_multiple(output, array.sum(axis=1)), draft.task.name  # row_sum
        if len(inputs) == 2 and inputs[0].shape == output.shape:
            for sign in (1.0, -1.0):
                total = inputs[0] + sign * inputs[1] if inputs[1].shape[-1] == output.shape[-1] else None
                if total is not None:
                    assert not is_multiple(output, np.maximum(total, 0.0)), draft.task.name  # bias_relu


def test_the_numbers_would_have_shown_a_leak() -> None:
    """The check above can fail: without exclusions the templates do produce all of these."""
    keys = {draft.formula for draft in drafts(count=600, seed=11, exclude=())}
    assert {formula_key(name) for name in ("scale", "bias_relu", "row_sum", "vector_add")} <= keys


def test_holding_out_an_unknown_task_is_refused() -> None:
    with pytest.raises(UnknownTaskError, match="did you mean scale"):
        drafts(exclude=("scales",))


def test_holding_out_everything_still_leaves_other_templates() -> None:
    names = {task.name for task in all_tasks()}
    found = drafts(count=100, exclude=tuple(names))
    assert len(found) == 100
    assert not {draft.task.name for draft in found} & names


def pair(**changes: object) -> SFTPair:
    draft = drafts(count=1)[0]
    fields = {
        "task": draft.task.name,
        "agent": "generator",
        "messages": (Message(role="user", content=draft.task.prompt),),
        "answer": answer_of(draft.answer.kept),
        "source": draft.answer.kept,
        "family": draft.task.family,
        "formula": draft.formula,
        "verdict": Verdict.PASSED,
        "speedup": 1.0,
        "digest": Candidate(source=draft.answer.kept).digest,
    }
    return SFTPair.model_validate(fields | changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"verdict": Verdict.DATA_RACE}, "data_race cannot be trained on"),
        ({"digest": "0" * 16}, "digest does not belong"),
        ({"answer": "```cuda\n```"}, "does not hold the source"),
    ],
)
def test_a_pair_that_was_not_judged_cannot_be_built(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        pair(**changes)


def test_pairs_come_back_from_a_file_as_they_went_in(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "pairs.jsonl"
    assert write_pairs(path, [pair(), pair()]) == 2
    assert read_pairs(path) == (pair(), pair())
    assert [entry.name for entry in path.parent.iterdir()] == ["pairs.jsonl"]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, [pair()])
    path.write_text(path.read_text() + '{"task": "x"}\n')
    with pytest.raises(UserError, match=r"pairs\.jsonl, line 2, is not a training pair"):
        read_pairs(path)


def test_a_file_that_is_not_there_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_pairs(tmp_path / "none.jsonl")


def test_a_failed_write_leaves_no_partial_file(tmp_path: Path) -> None:
    target = tmp_path / "pairs.jsonl"
    target.mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        write_pairs(target, [pair()])
    assert [entry.name for entry in tmp_path.iterdir()] == ["pairs.jsonl"]
