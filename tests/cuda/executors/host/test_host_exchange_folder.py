"""Exchange memory goes with its judge, at the latest when the next one begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from coding_framework.cuda.executors.host.exchange.folder import ExchangeFolder

OWNER = """
import sys, time
from pathlib import Path
from coding_framework.cuda.executors.host.exchange.folder import ExchangeFolder
folder = ExchangeFolder(Path(sys.argv[1]))
(folder.path / "arena").write_bytes(b"x")
print(folder.path, flush=True)
time.sleep(60)
"""


def long_ago(folder: Path) -> None:
    os.utime(folder, (time.time() - 3600, time.time() - 3600))


def test_a_folder_is_gone_when_it_is_closed(tmp_path: Path) -> None:
    folder = ExchangeFolder(tmp_path)
    (folder.path / "arena").write_bytes(b"x")
    folder.close()
    folder.close()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_judge_left_is_removed_by_the_next_and_not_before(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    left = Path(owner.stdout.readline().strip())
    long_ago(left)
    ExchangeFolder(tmp_path).close()
    assert left.exists(), "its owner lives"
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    ExchangeFolder(tmp_path).close()
    assert not left.exists()


def test_a_folder_that_is_just_being_made_stays(tmp_path: Path) -> None:
    new, others = tmp_path / "exchange-new", tmp_path / "something else"
    new.mkdir()
    others.mkdir()
    long_ago(others)
    ExchangeFolder(tmp_path).close()
    assert new.exists()
    assert others.exists()
