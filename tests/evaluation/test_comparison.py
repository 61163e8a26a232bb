"""Two models: what is paired, what is refused, and how a page shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coding_framework.errors import UserError
from coding_framework.evaluation.comparability import alike
from coding_framework.evaluation.comparison import compare
from coding_framework.evaluation.comparison_page import comparison_page
from coding_framework.evaluation.comparison_records import Comparison, Difference
from evaluation_support import SETTINGS, Outcomes, failed, passed, task, write

TASKS = [task(f"task{number}", tier=number % 2) for number in range(8)]
MEASURED = {"settings": SETTINGS.model_copy(update={"executor": "gpu"})}


def outcomes(num_passed: int, speedup: float = 1.0, tasks: list = TASKS) -> Outcomes:  # type: ignore[type-arg]
    """Of four samples of each task so many pass, one more of every other task."""
    return {
        one: [[passed(speedup)] if index < num_passed + number % 2 else [failed()] for index in range(4)]
        for number, one in enumerate(tasks)
    }


def two(tmp_path: Path, before: Outcomes, after: Outcomes, **others: object) -> Comparison:
    write(tmp_path / "before", before, "before")
    write(tmp_path / "after", after, "after", **others)
    return compare([tmp_path / "before", tmp_path / "after"])


def figure(comparison: Comparison, name: str) -> Difference:
    return next(one for one in comparison.pairs[0].differences if one.figure == name)


def test_a_difference_is_paired_by_task(tmp_path: Path) -> None:
    comparison = two(tmp_path, outcomes(1, 1.0), outcomes(3, 1.3))
    one = figure(comparison, "pass@1")
    assert (one.before, one.after, one.tasks) == (0.375, 0.875, 8)
    assert one.difference.value == 0.5
    assert (one.better, one.worse, one.p_value) == (8, 0, 2 / 2**8)
    assert one.is_clear
    speed = figure(comparison, "speedup")
    assert speed.difference.value == pytest.approx(1.3)


def test_a_difference_between_tasks_that_go_both_ways_is_not_clear(tmp_path: Path) -> None:
    before, after = outcomes(1), outcomes(1)
    for number, one in enumerate(TASKS[:6]):
        after[one] = [[passed()] if index < 4 * (number % 2) else [failed()] for index in range(4)]
    one = figure(two(tmp_path, before, after), "pass@1")
    assert one.difference.low < 0 < one.difference.high
    assert not one.is_clear


def test_the_same_model_twice_shows_no_difference(tmp_path: Path) -> None:
    comparison = two(tmp_path, outcomes(2), outcomes(2), weights="before")
    assert not any(one.is_clear for one in comparison.pairs[0].differences)
    assert any("same weights" in note for note in comparison.pairs[0].notes)


def test_modelled_and_measured_speeds_are_not_compared_but_passes_are(tmp_path: Path) -> None:
    after = {one: [[passed(2.0, "measured", "NVIDIA H200")]] * 4 for one in TASKS}
    comparison = two(tmp_path, outcomes(2), after, **MEASURED)
    assert {one.figure for one in comparison.pairs[0].differences} == {"compiles", "pass@1", "pass@4"}
    assert any("measured on NVIDIA H200" in note for note in comparison.pairs[0].notes)
    assert [len(group) for group in alike([one.figures for one in comparison.models])] == [1, 1]


def test_models_under_other_settings_are_not_compared_at_all(tmp_path: Path) -> None:
    warm = SETTINGS.model_copy(update={"temperature": 1.0})
    comparison = two(tmp_path, outcomes(1), outcomes(3), settings=warm)
    assert comparison.pairs[0].differences == ()
    assert comparison.pairs[0].tasks == ()
    assert "temperature (0.6 and 1.0)" in comparison.pairs[0].notes[0]


def test_another_engine_is_told_and_compared(tmp_path: Path) -> None:
    other = SETTINGS.model_copy(update={"engine": "vllm"})
    comparison = two(tmp_path, outcomes(1), outcomes(3), settings=other)
    assert "engine: transformers and vllm" in comparison.pairs[0].notes
    assert figure(comparison, "pass@1").difference.value == 0.5


def test_only_tasks_that_both_were_asked_alike_are_paired(tmp_path: Path) -> None:
    moved = task("task1", tier=1, split="trained")
    restated = task("task2", digest="another")
    after = outcomes(3, tasks=[*TASKS[:1], moved, restated, task("new")])
    comparison = two(tmp_path, outcomes(1), after)
    assert [one.task.name for one in comparison.pairs[0].tasks] == ["task0"]
    notes = "\n".join(comparison.pairs[0].notes)
    assert "only after was asked: new" in notes
    assert "stated or judged in another way: task2" in notes
    assert "trained on in one and not in the other: task1" in notes
    assert figure(comparison, "pass@1").difference.method == "newcombe", (
        "one task: its samples are what varies"
    )


def test_a_run_is_compared_within_itself(tmp_path: Path) -> None:
    for label, count in (("base", 0), ("sft", 1), ("rl", 3)):
        write(tmp_path / "evaluation" / label, outcomes(count), label)
    comparison = compare([tmp_path])
    assert [(one.before, one.after) for one in comparison.pairs] == [
        ("base", "sft"),
        ("base", "rl"),
        ("sft", "rl"),
    ]


def test_an_evaluation_that_is_not_finished_is_left_out_and_said(tmp_path: Path) -> None:
    for label in ("base", "sft", "rl"):
        write(tmp_path / "evaluation" / label, outcomes(1), label)
    samples = tmp_path / "evaluation" / "rl" / "samples.jsonl"
    samples.write_text("".join(samples.read_text().splitlines(keepends=True)[:5]))
    comparison = compare([tmp_path])
    assert [one.name for one in comparison.models] == ["base", "sft"]
    assert "5 of 32 samples" in comparison.notes[0]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "one", outcomes(1))
    with pytest.raises(UserError, match="needs two"):
        compare([tmp_path / "one"])
    with pytest.raises(UserError, match="named twice"):
        compare([tmp_path / "one", tmp_path / "one"])
    with pytest.raises(UserError, match="holds no evaluation"):
        compare([tmp_path / "one", tmp_path])


def test_two_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / folder / "result", outcomes(1), folder)
    comparison = compare([tmp_path / "a" / "result", tmp_path / "b" / "result"])
    assert len({one.name for one in comparison.models}) == 2


def test_the_page_is_one_file_that_loads_nothing_and_shows_what_was_found(tmp_path: Path) -> None:
    hostile = task("<script>alert(1)</script>")
    after = {**outcomes(3, 1.3), hostile: [[passed()]] * 4}
    before = {**outcomes(1), hostile: [[failed()]] * 4}
    text = comparison_page(two(tmp_path, before, after))
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(| src=", text)
    assert "default-src 'none'" in text
    assert "before → after" in text
    assert "<strong>+56" in text
    assert text.count("<circle") == 9
