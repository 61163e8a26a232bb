"""Samples in a folder: each once, of one evaluation, and none lost to a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.errors import StorageError, UserError
from coding_framework.monitoring.evaluation_folder import EvaluationFolder, evaluation_folders
from evaluation_support import SETTINGS, failed, head, passed, sample, task

A, B = task("a"), task("b")
HEAD = head([A, B], 2)


@pytest.fixture
def folder(tmp_path: Path) -> EvaluationFolder:
    folder = EvaluationFolder(tmp_path / "evaluation")
    assert folder.begin(HEAD) == []
    return folder


def test_what_is_stored_is_found_again_and_completes_the_evaluation(folder: EvaluationFolder) -> None:
    ones = [sample(of, number, passed()) for of in (A, B) for number in (0, 1)]
    for one in ones[:3]:
        folder.append(one)
    assert folder.begin(HEAD) == ones[:3]
    assert not folder.is_complete(HEAD)
    folder.append(ones[3])
    assert folder.is_complete(HEAD)
    assert folder.head().created_at == HEAD.created_at


def test_a_line_that_a_kill_cut_off_goes_and_the_next_one_stands_alone(folder: EvaluationFolder) -> None:
    folder.append(sample(A, 0, passed()))
    with (folder.path / "samples.jsonl").open("ab") as file:
        file.write(b'{"model":"model","task":"a","tier')
    with pytest.raises(StorageError, match=r"1 line\(s\)"):
        folder.samples()
    assert [one.key for one in folder.begin(HEAD)] == [("a", 0)]
    folder.append(sample(A, 1, failed()))
    assert [one.key for one in folder.samples()] == [("a", 0), ("a", 1)]


def test_a_sample_that_was_written_twice_counts_once(folder: EvaluationFolder) -> None:
    for speedup in (1.0, 2.0):
        folder.append(sample(A, 0, passed(speedup)))
    folder.append(sample(B, 1, passed(3.0)))
    assert [one.best_turn.speedup for one in folder.begin(HEAD)] == [1.0, 3.0]


def test_more_samples_of_each_task_go_on_in_the_same_folder(folder: EvaluationFolder) -> None:
    folder.append(sample(A, 0, passed()))
    assert len(folder.begin(head([A, B], 8))) == 1
    assert folder.head().samples_per_task == 8


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"weights": "other"}, "weights"),
        ({"settings": SETTINGS.model_copy(update={"temperature": 1.0})}, r"temperature \(0.6 / 1.0\)"),
        ({"tasks": (A, task("b", digest="another"))}, "tasks"),
    ],
)
def test_another_evaluation_is_refused_and_in_a_run_replaces_the_first(
    folder: EvaluationFolder, changed: dict[str, object], words: str
) -> None:
    folder.append(sample(A, 0, passed()))
    other = head([A, B], 2, **changed)
    with pytest.raises(UserError, match=words):
        folder.begin(other)
    assert len(folder.samples()) == 1
    assert folder.begin(other, start_anew=True) == []


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="holds other files"):
        EvaluationFolder(tmp_path).begin(HEAD)


def test_two_evaluations_do_not_fill_one_folder_at_once(folder: EvaluationFolder) -> None:
    with folder.alone(), pytest.raises(UserError, match="in use by another"), folder.alone():
        pass
    with folder.alone():
        assert folder.begin(HEAD) == []


def test_a_run_has_its_models_in_the_order_of_training(tmp_path: Path) -> None:
    for label in ("rl", "base"):
        EvaluationFolder(tmp_path / "evaluation" / label).begin(HEAD)
    assert [one.path.name for one in evaluation_folders(tmp_path)] == ["base", "rl"]
    assert [one.path.name for one in evaluation_folders(tmp_path / "evaluation" / "rl")] == ["rl"]
    assert evaluation_folders(tmp_path / "nowhere") == []


def test_a_task_that_is_asked_twice_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="twice"):
        head([A, A], 1)
