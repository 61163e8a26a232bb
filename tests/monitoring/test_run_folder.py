"""The run folder: names, appends, resume, locks, and what is left after a bad end."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from coding_framework.errors import ConfigError, StorageError, UserError
from coding_framework.monitoring import MetricPoint, RunFolder
from coding_framework.monitoring.log_link import follow_log
from coding_framework.monitoring.storage import append_line, write_whole
from coding_framework.records import (
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    Record,
    RewardComponents,
    Verdict,
)


class Outcome(Record):
    """A phase's result, for these tests."""

    adapter: Path
    loss: float


class Other(Record):
    """A record of another type."""

    loss: float


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    return RunFolder.create(tmp_path / "runs", "one", '{"seed": 7}')


def metric(step: int, **values: float) -> MetricPoint:
    return MetricPoint(phase="sft", step=step, values=values, elapsed_s=step)


def conversation(identifier: str = "c0") -> Conversation:
    evaluation = Evaluation(
        task="scale", candidate=None, verdict=Verdict.NO_CANDIDATE, message="there is no code block"
    )
    turn = ConversationTurn(
        index=0,
        agent="generator",
        messages=(Message(role="user", content="Write a kernel.\u2028 Été"),),
        generation=Generation(text="I would rather not."),
        evaluation=evaluation,
        reward=RewardComponents(preset="gated", parts={"gate": 0.0}, total=0.0, explanation="no code"),
    )
    return Conversation(
        conversation_id=identifier,
        task="scale",
        turns=(turn,),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=1,
    )


def test_a_new_run_has_its_whole_layout(run: RunFolder) -> None:
    assert run.config_json == '{"seed": 7}'
    assert all((run.path / name).is_dir() for name in ("checkpoints", "models", "logs"))
    assert run.log_file.is_file()
    assert run.state().phases == ()
    assert run.state().machine.cores >= 1


def test_the_default_name_is_the_utc_time_and_the_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = RunFolder.create(tmp_path, None, "{}", label="quick").path.name
    date, time, label = name.split("-")
    assert (len(date), len(time), label) == (8, 6, "quick")


def test_a_taken_name_gets_a_number(run: RunFolder) -> None:
    second = RunFolder.create(run.path.parent, "one", "{}")
    third = RunFolder.create(run.path.parent, "one", "{}")
    assert (second.path.name, third.path.name) == ("one-2", "one-3")
    assert RunFolder.latest(run.path.parent) == third


@pytest.mark.parametrize("name", ["", "..", "../up", "a/b", ".hidden", "new\nline"])
def test_a_name_that_leaves_the_root_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a run"):
        RunFolder.create(tmp_path, name, "{}")
    assert list(tmp_path.iterdir()) == []


def test_the_training_log_follows_the_latest_run(run: RunFolder, tmp_path: Path) -> None:
    link = tmp_path / "logs" / "training.log"
    run.log_file.write_text("first")
    assert link.is_symlink()
    assert link.read_text() == "first"
    second = RunFolder.create(tmp_path / "runs", "two", "{}")
    second.log_file.write_text("second")
    assert link.read_text() == "second"
    with run.training_lock():
        assert link.read_text() == "first"
    assert list(link.parent.glob(".*")) == []


def test_a_real_file_is_not_replaced_by_the_link(run: RunFolder, tmp_path: Path) -> None:
    mine = tmp_path / "elsewhere" / "logs" / "training.log"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep me")
    with capture_logs() as events:
        follow_log(run.log_file, tmp_path / "elsewhere")
    assert mine.read_text() == "keep me"
    assert [event["event"] for event in events] == ["log_link_not_made"]


def test_where_no_link_can_be_made_the_warning_says_where_the_log_is(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with capture_logs() as events:
        follow_log(run.log_file, tmp_path / "file")
    assert [(event["event"], event["log"]) for event in events] == [("log_link_not_made", str(run.log_file))]


def test_a_run_that_cannot_be_created_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("coding_framework.monitoring.storage.os.fsync", refuse)
    with pytest.raises(StorageError, match="disk is full"):
        RunFolder.create(tmp_path / "runs", "one", "{}")
    assert list((tmp_path / "runs").iterdir()) == []


def test_metrics_and_conversations_come_back_as_they_were_written(run: RunFolder) -> None:
    points = [metric(1, loss=1.5, made_up_by_others=3.0), metric(2, loss=float("inf"))]
    for point in points:
        run.append_metric(point)
    run.append_conversation(conversation())
    assert list(run.read_metrics()) == points
    assert list(run.read_conversations()) == [conversation()]


def test_a_run_without_metrics_reads_as_empty(run: RunFolder) -> None:
    assert list(run.read_metrics()) == []
    assert list(run.read_conversations()) == []


def test_a_torn_last_line_is_skipped_and_counted_and_the_next_append_is_whole(run: RunFolder) -> None:
    run.append_metric(metric(1, loss=1.0))
    with (run.path / "metrics.jsonl").open("ab") as stream:
        stream.write(b'{"phase": "sft", "step": 2, "val\xc3')
    reader = run.read_metrics()
    assert [point.step for point in reader] == [1]
    assert reader.skipped == 1
    run.append_metric(metric(3, loss=0.5))
    assert [point.step for point in reader] == [1, 3]
    assert reader.skipped == 1


def _append_many(path: Path, worker: int) -> None:
    padding = {f"a_long_name_for_number_{number}": float(number) for number in range(500)}
    for index in range(100):
        RunFolder(path).append_metric(metric(worker * 1000 + index, **padding))


def test_several_processes_append_whole_lines(run: RunFolder) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append_many, args=(run.path, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    reader = run.read_metrics()
    assert len({point.step for point in reader}) == 300
    assert reader.skipped == 0


def test_a_finished_phase_is_remembered_with_its_result(run: RunFolder) -> None:
    assert run.phase_result("sft", Outcome) is None
    result = Outcome(adapter=run.models / "sft", loss=float("nan"))
    run.mark_done("sft", result, seconds=12.5)
    again = RunFolder.open(run.path)
    stored = again.phase_result("sft", Outcome)
    assert stored is not None
    assert stored.adapter == result.adapter
    assert again.state().phases[0].seconds == 12.5
    run.mark_done("sft", Outcome(adapter=run.models, loss=0.5))
    assert len(run.state().phases) == 1
    with pytest.raises(StorageError, match="left a Outcome, not a Other"):
        run.phase_result("sft", Other)
    state = run.path / "state.json"
    state.write_text(state.read_text().replace('"loss"', '"renamed"'))
    with pytest.raises(StorageError, match="written by another version"):
        run.phase_result("sft", Outcome)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder.open(tmp_path)
    with pytest.raises(UserError, match="no run under"):
        RunFolder.latest(tmp_path)


def test_damaged_state_is_a_storage_error(run: RunFolder) -> None:
    (run.path / "state.json").write_text("{")
    with pytest.raises(StorageError, match="damaged"):
        run.state()
    other = RunFolder.create(run.path.parent, "whole", "{}")
    assert RunFolder.latest(run.path.parent) == other


def test_a_second_training_in_the_folder_is_refused_with_the_pid_of_the_first(run: RunFolder) -> None:
    with (
        run.training_lock(),
        pytest.raises(UserError, match=f"process {os.getpid()}"),
        RunFolder.open(run.path).training_lock(),
    ):
        pytest.fail("the lock was given twice")
    with run.training_lock():
        pass


def test_the_lock_of_a_killed_training_is_taken_over(run: RunFolder) -> None:
    code = (
        "import sys, time; from pathlib import Path; from coding_framework.monitoring import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).training_lock():\n    print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(run.path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match=f"process {process.pid}"), run.training_lock():
            pytest.fail("the lock was given twice")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert (run.path / "training.pid").exists()
    with run.training_lock():
        assert (run.path / "training.pid").read_text().strip() == str(os.getpid())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_storage_error_in_words() -> None:
    with pytest.raises(StorageError, match="cannot append to /dev/full: the disk is full"):
        append_line(Path("/dev/full"), "x")


def test_a_failed_rewrite_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "state.json"
    write_whole(target, "old")

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("coding_framework.monitoring.storage.os.fsync", refuse)
    with pytest.raises(StorageError, match="disk is full"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_root_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot create"):
        RunFolder.create(tmp_path / "file" / "runs", "x", "{}")
    with pytest.raises(StorageError, match="cannot create"):
        RunFolder.create(tmp_path / "file", "x", "{}")
