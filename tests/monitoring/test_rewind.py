"""What a killed run recorded beyond its last checkpoint goes before it continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.monitoring import MetricPoint, RunFolder
from coding_framework.monitoring.rewind import rewind, rewind_evaluation
from coding_framework.monitoring.run_state import MetricPhase
from coding_framework.monitoring.storage import append_line, keep_lines
from coding_framework.records import (
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    RewardComponents,
    Verdict,
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    return RunFolder.create(tmp_path, "run", "{}")


def metric(phase: MetricPhase, step: int) -> MetricPoint:
    return MetricPoint(phase=phase, step=step, values={"loss": 1.0}, elapsed_s=1)


def conversation(step: int | None) -> Conversation:
    turn = ConversationTurn(
        index=0,
        agent="generator",
        messages=(Message(role="user", content="Write."),),
        generation=Generation(text="No."),
        evaluation=Evaluation(task="scale", candidate=None, verdict=Verdict.NO_CANDIDATE, message="no code"),
        reward=RewardComponents(preset="gated", parts={"gate": 0.0}, total=0.0, explanation="no code"),
    )
    return Conversation(
        conversation_id=f"c{step}",
        task="scale",
        turns=(turn,),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=1,
        step=step,
        phase="evaluation" if step is None else "train",
    )


def test_only_steps_beyond_the_checkpoint_go_and_only_of_that_phase(run: RunFolder) -> None:
    for phase in ("sft", "rl"):
        for step in (1, 2, 3):
            run.append_metric(metric(phase, step))
    for at in (1, 2, 3, None):
        run.append_conversation(conversation(at))
    assert rewind(run, "rl", 2) == 2
    left = [(point.phase, point.step) for point in run.read_metrics()]
    assert left == [("sft", 1), ("sft", 2), ("sft", 3), ("rl", 1), ("rl", 2)]
    assert [one.step for one in run.read_conversations()] == [1, 2, None]
    assert rewind(run, "sft", 0) == 3
    assert [one.step for one in run.read_conversations()] == [1, 2, None], "SFT has no conversations"


def test_a_line_that_a_kill_cut_off_goes_too(run: RunFolder) -> None:
    run.append_metric(metric("sft", 1))
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"phase":"sft","st')
    assert rewind(run, "sft", 1) == 1
    run.append_metric(metric("sft", 2))
    points = run.read_metrics()
    assert [point.step for point in points] == [1, 2]
    assert points.skipped == 0


def test_conversations_of_an_evaluation_go_whose_samples_were_not_stored_and_no_others(
    run: RunFolder,
) -> None:
    for name, model in (("a", "base"), ("b", "base"), ("a", "base"), ("a", "sft")):
        named = {"model": model, "conversation_id": name}
        run.append_conversation(conversation(None).model_copy(update=named))
    run.append_conversation(conversation(1))
    assert rewind_evaluation(run.conversations_file, "base", {"a"}) == 2
    assert [(one.phase, one.model, one.conversation_id) for one in run.read_conversations()] == [
        ("evaluation", "base", "a"),
        ("evaluation", "sft", "a"),
        ("train", None, "c1"),
    ]


def test_a_run_without_records_has_nothing_to_take_back(run: RunFolder) -> None:
    assert rewind(run, "rl", 0) == 0


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_an_end_that_goes_needs_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "steps"
    file.write_text("keep 1\nkeep 2\ngo\ngo, torn")
    with monkeypatch.context() as full:
        full.setattr("coding_framework.monitoring.storage.replacing", refuse)
        assert keep_lines(file, lambda line: line.startswith(b"keep")) == 2
        assert keep_lines(file, lambda line: line.startswith(b"keep")) == 0
        with pytest.raises(OSError, match="no room"):
            keep_lines(file, lambda line: line == b"keep 2\n")
    assert lines_of(file) == ["keep 1", "keep 2"]
    assert keep_lines(file, lambda line: line == b"keep 2\n") == 1
    assert lines_of(file) == ["keep 2"]


def test_every_line_is_asked_for_once(tmp_path: Path) -> None:
    file, asked = tmp_path / "steps", list[bytes]()
    file.write_text("go\nkeep\nkeep\ngo\n")

    def is_new_and_wanted(line: bytes) -> bool:
        asked.append(line)
        return line.startswith(b"keep") and asked.count(line) == 1

    assert keep_lines(file, is_new_and_wanted) == 3
    assert lines_of(file) == ["keep"]
    assert len(asked) == 4


def refuse(path: Path) -> None:
    raise OSError(f"no room beside {path}")


def test_a_last_line_without_its_end_stays_and_the_next_one_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "steps"
    file.write_text("go\nkeep 1")
    assert keep_lines(file, lambda line: line.startswith(b"keep")) == 1
    file.write_text("keep 1")
    assert keep_lines(file, lambda line: line.startswith(b"keep")) == 0
    append_line(file, "keep 2")
    assert lines_of(file) == ["keep 1", "keep 2"]
