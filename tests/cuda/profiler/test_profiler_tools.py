"""Tools are found, run in a session of their own, and gone afterwards."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from profiler_support import stand_in

from coding_framework.cuda.profiler import tools
from coding_framework.cuda.profiler.tools import find_tool, last_lines, run_tool
from tests_support import wait_until_dead


def test_both_streams_and_the_exit_code_come_back() -> None:
    run = run_tool(["bash", "-c", "echo out; echo err >&2; exit 7"], 20)
    assert run.exit_code == 7
    assert sorted(run.output.split()) == ["err", "out"]


def test_a_tool_that_does_not_end_is_stopped_with_its_children(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, f"trap '' TERM; sleep 600 & echo $! > {tmp_path}/child; echo begun; wait")
    start = time.monotonic()
    run = run_tool([str(tool)], 2.0)
    assert run.exit_code is None
    assert run.output == "begun\n"
    assert time.monotonic() - start < 60
    assert wait_until_dead(int((tmp_path / "child").read_text()))


def test_what_a_finished_tool_left_behind_is_stopped(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child")
    assert run_tool([str(tool)], 20).exit_code == 0
    assert wait_until_dead(int((tmp_path / "child").read_text()))


def test_output_is_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MAX_OUTPUT_BYTES", 1000)
    assert len(run_tool(["bash", "-c", "yes | head -c 100000"], 20).output) == 1000


def test_a_tool_is_looked_for_on_the_path_and_in_toolkits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_tool("no_such_tool_at_all") is None
    inside = tmp_path / "bin"
    inside.mkdir()
    tool = stand_in(inside, "exit 0")
    monkeypatch.setattr(tools, "toolkit_roots", lambda: (tmp_path,))
    assert find_tool("tool") == tool
    pattern = os.path.relpath(tool, "/")
    monkeypatch.setattr(tools, "toolkit_roots", lambda: ())
    assert find_tool("other_name", pattern) == tool
    monkeypatch.setenv("PATH", str(inside), prepend=os.pathsep)
    assert find_tool("tool") == tool


def test_messages_quote_the_end_of_what_was_said() -> None:
    assert last_lines("a\n\nb\nc\nd\ne\n") == "b | c | d | e"
    assert last_lines("") == "it said nothing"
