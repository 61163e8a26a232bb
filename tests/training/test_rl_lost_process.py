"""A process that RL needs is killed: the run ends with one sentence that says which and how to go on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from endurance import fresh, pid_of, processes_of, run_folder, steps_done, wait_for

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

END_S = 60.0
STEPS = 40
"""More than are done before the kill."""


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("ray::GenerationServer", "the process that samples answers died"),
        ("ray::WorkerDict", "the process that trains the model died"),
        ("ray::AgentLoopWorker", "the process that runs the episodes died"),
    ],
)
def test_a_killed_process_of_rl_ends_the_run_with_one_sentence(
    tmp_path: Path, title: str, words: str
) -> None:
    folder = tmp_path / "lost"
    folder.mkdir()
    process = fresh("rl", folder, STEPS)
    while process.poll() is None and not steps_done(folder, "rl") >= 2:
        time.sleep(0.02)
    run = run_folder(folder)
    assert run is not None
    os.kill(pid_of(title, run.path), signal.SIGKILL)
    began = time.monotonic()
    text = wait_for(folder, process, code=6)
    assert time.monotonic() - began < END_S
    assert f"error: {words} (killed, or out of memory)" in text
    assert f"--resume {run.path}" in text
    assert processes_of(run.path) == []
