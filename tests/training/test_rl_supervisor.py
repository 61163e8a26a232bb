"""Nothing that was started stays, whoever ends first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="adopting orphans is a Linux call")

SLEEPER = "[sys.executable, '-c', 'import time; time.sleep(600)']"
STRAY = f"import subprocess, sys; subprocess.Popen({SLEEPER}, start_new_session=True)"
WAIT = "; import time; time.sleep(600)"


def start(mark: str, code: str, **options: object) -> subprocess.Popen[bytes]:
    supervisor = "coding_framework.training.rl.supervisor"
    command = [sys.executable, "-m", supervisor, str(os.getpid()), sys.executable, "-c", code]
    return subprocess.Popen(command, env={**os.environ, "SUPERVISOR_TEST_MARK": mark}, **options)  # type: ignore[call-overload]


def marked(mark: str) -> list[int]:
    wanted, found = f"SUPERVISOR_TEST_MARK={mark}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_for_count(mark: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(marked(mark)) != count:
        assert time.monotonic() < deadline, f"{marked(mark)} did not become {count}"
        time.sleep(0.05)


def test_strays_end_with_the_command(tmp_path: Path) -> None:
    process = start(str(tmp_path), STRAY)
    assert process.wait(60) == 0
    assert marked(str(tmp_path)) == []


def test_sigterm_ends_the_command_and_its_strays(tmp_path: Path) -> None:
    process = start(str(tmp_path), STRAY + WAIT)
    wait_for_count(str(tmp_path), 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert marked(str(tmp_path)) == []


def test_the_exit_code_is_the_commands() -> None:
    assert start("code", "raise SystemExit(7)").wait(60) == 7


def test_everything_ends_when_the_parent_is_killed(tmp_path: Path) -> None:
    rest = [sys.executable, "-c", STRAY + WAIT]
    inner = f"[sys.executable, '-m', 'coding_framework.training.rl.supervisor', str(os.getpid()), *{rest!r}]"
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import os, subprocess, sys; subprocess.run({inner})"],
        env={**os.environ, "SUPERVISOR_TEST_MARK": str(tmp_path)},
    )
    wait_for_count(str(tmp_path), 4)
    parent.kill()
    parent.wait()
    wait_for_count(str(tmp_path), 0)


def test_everything_ends_when_the_launcher_was_gone_before_it_began(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [sys.executable, "-m", "coding_framework.training.rl.supervisor", str(gone.pid)]
    environment = {**os.environ, "SUPERVISOR_TEST_MARK": str(tmp_path)}
    late = subprocess.Popen([*command, sys.executable, "-c", STRAY + WAIT], env=environment)
    late.wait(60)
    assert marked(str(tmp_path)) == []


def test_what_asked_for_it_ends_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    asking = "from coding_framework.training.rl.supervisor import end_with_parent; end_with_parent()"
    process = start(str(tmp_path), asking + "; open('begun', 'w')" + WAIT, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    wait_for_count(str(tmp_path), 0)
