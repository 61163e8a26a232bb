"""Logging and progress on standard error."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from rich.console import Console

from coding_framework.errors import StorageError
from coding_framework.monitoring import configure_logging, progress_bar


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    before = list(logging.getLogger().handlers)
    yield
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()
    logging.getLogger("coding_framework").setLevel(logging.NOTSET)
    structlog.reset_defaults()


def events(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_goes_to_stderr_in_words_and_to_the_file_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging("info", tmp_path / "logs" / "training.log")
    log = structlog.stdlib.get_logger("coding_framework.somewhere")
    log.info("kernel_measured", task="[bold]scale[/bold]", median_us=3.5)
    log.debug("not_wanted")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "kernel_measured" in captured.err
    assert "[bold]scale[/bold]" in captured.err
    assert "not_wanted" not in captured.err
    (event,) = events(tmp_path / "logs" / "training.log")
    assert event["event"] == "kernel_measured"
    assert event["median_us"] == 3.5
    assert event["level"] == "info"
    assert event["logger"] == "coding_framework.somewhere"


def test_a_second_set_up_replaces_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", tmp_path / "a.log")
    configure_logging("debug", tmp_path / "b.log", json_to_stderr=True)
    structlog.stdlib.get_logger("coding_framework").debug("once", path=Path("x"))
    assert (tmp_path / "a.log").read_text() == ""
    assert [event["event"] for event in events(tmp_path / "b.log")] == ["once"]
    assert json.loads(capsys.readouterr().err)["path"] == "x"


def test_other_libraries_are_heard_from_warning_up(tmp_path: Path) -> None:
    configure_logging("debug", tmp_path / "a.log")
    logging.getLogger("someone.else").info("chatter")
    logging.getLogger("someone.else").warning("watch %s", "out")
    assert [event["event"] for event in events(tmp_path / "a.log")] == ["watch out"]


def test_an_exception_is_logged_with_its_traceback(tmp_path: Path) -> None:
    configure_logging("info", tmp_path / "a.log")
    try:
        raise ValueError("a reason")
    except ValueError:
        structlog.stdlib.get_logger("coding_framework").exception("it_broke")
    (event,) = events(tmp_path / "a.log")
    assert "a reason" in json.dumps(event["exception"])


def test_a_log_file_that_cannot_be_opened_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot open"):
        configure_logging("info", tmp_path / "file" / "training.log")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_costs_the_log_and_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", Path("/dev/full"))
    for _ in range(3):
        structlog.stdlib.get_logger("coding_framework").info("event")
    assert capsys.readouterr().err.count("cannot append to /dev/full: the disk is full") == 1


def test_without_a_terminal_progress_is_a_line_at_the_start_and_at_the_end() -> None:
    stream = io.StringIO()
    with progress_bar("SFT [x]", 300, console=Console(file=stream)) as bar:
        for step in range(300):
            bar.advance(loss=1 / (step + 1))
    lines = stream.getvalue().splitlines()
    assert lines == ["SFT [x]: 0/300  0 s", "SFT [x]: 300/300  0 s  loss 0.00333"]


def test_without_a_terminal_lines_come_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, clock = io.StringIO(), [0.0]
    monkeypatch.setattr("coding_framework.monitoring.progress.time.monotonic", lambda: clock[0])
    with progress_bar("RL", None, console=Console(file=stream)) as bar:
        for _ in range(10):
            clock[0] += 2.0
            bar.advance()
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == [
        "0/?",
        "3/?",
        "6/?",
        "9/?",
        "10/?",
    ]


def test_on_a_terminal_the_bar_shows_counts_and_metrics_and_logs_stay_above_it() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with progress_bar("RL", 4, console=console) as bar:
        bar.advance(2, reward_mean=0.25)
        console.print("a log line")
        bar.advance(2)
    text = stream.getvalue()
    assert "4/4" in text
    assert "reward_mean 0.25" in text
    assert text.index("a log line") < text.rindex("4/4")
