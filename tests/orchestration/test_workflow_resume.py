"""A conversation whose process is killed after each step goes on, and ends in the same record.

Compared: everything but what a clock measured (`gate_seconds`, `duration_s`), whether the compiler's
answer came from its cache, and the one check on a shape that the judge draws anew for every candidate.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripted_model import SETTINGS

SCRIPT = Path(__file__).with_name("scripted_model.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}


def run_until(folder: Path, wanted: dict[str, object] | None, answer_s: float = 0) -> list[dict[str, Any]]:
    """Start the process; kill it with SIGKILL as soon as it says the wanted event.

    It must not get further before the signal arrives: let the model take long for an answer.
    """
    events = []
    command = [sys.executable, str(SCRIPT), str(folder), str(answer_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            events.append(json.loads(line))
            if wanted is not None and wanted.items() <= events[-1].items():
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == (0 if wanted is None else -signal.SIGKILL)
    return events


def comparable(folder: Path) -> Any:
    record = json.loads((folder / "conversation.json").read_text())
    for turn in record["turns"]:
        evaluation = turn["evaluation"]
        del evaluation["gate_seconds"]
        if evaluation["compilation"]:
            del evaluation["compilation"]["duration_s"]
            del evaluation["compilation"]["from_cache"]
        for check in evaluation["checks"]:
            if check["distribution"] == "mixed" and check["hidden"]:
                del check["dimensions"]
                del check["max_error_ratio"]
    return record


def test_killed_after_each_turn_it_goes_on_and_gives_the_same_record(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    asked = [event for event in run_until(whole, None) if event["event"] == "asked"]
    assert len(asked) == SETTINGS.max_turns
    for turn in range(SETTINGS.max_turns - 1):
        events = run_until(killed, {"event": "turn", "index": turn}, answer_s=2)
        assert [event["index"] for event in events if event["event"] == "turn"] == [turn]
        assert not (killed / "conversation.json").exists()
    rest = run_until(killed, None)
    assert [event["index"] for event in rest if event["event"] == "turn"] == [SETTINGS.max_turns - 1]
    assert comparable(killed) == comparable(whole)


def test_killed_while_the_model_is_asked_it_asks_again(tmp_path: Path) -> None:
    run_until(tmp_path, {"event": "asked"}, answer_s=60)
    rest = run_until(tmp_path, None)
    assert [event["event"] for event in rest].count("asked") == SETTINGS.max_turns
    assert [event["index"] for event in rest if event["event"] == "turn"] == [0, 1, 2, 3]
