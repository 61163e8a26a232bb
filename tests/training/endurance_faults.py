"""RL loses a process, its server or its disk: it ends with one sentence that says what, and how to go on.

Not collected by itself, since every start of Ray costs half a minute: name this file to pytest.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from endurance import alive, fresh, pid_of, run_folder, steps_done, wait_for, wait_until
from test_full_disk import full_and_resumed, small_disk, some_steps_are_done

from coding_framework.training.rl.checkpoints import latest_checkpoint
from coding_framework.training.rl.start_stages import stage_seconds
from coding_framework.training.rl.supervisor import descendants

pytest.importorskip("verl")
pytestmark = pytest.mark.slow
__all__ = ["small_disk"]

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
    wait_until(process, lambda: steps_done(folder, "rl") >= 2)
    run = run_folder(folder)
    assert run is not None
    started = descendants(process.pid)
    os.kill(pid_of(title, process), signal.SIGKILL)
    began = time.monotonic()
    text = wait_for(folder, process, code=6)
    assert time.monotonic() - began < END_S
    assert f"error: {words} (killed, or out of memory)" in text
    assert f"--resume {run.path}" in text
    assert alive(started) == []


def test_a_server_that_does_not_start_ends_the_run_with_its_own_words(tmp_path: Path) -> None:
    """The policy has been loaded, and the model is gone when the server wants to load it as well."""
    folder = tmp_path / "lost"
    folder.mkdir()
    process = fresh("rl", folder, STEPS)

    def is_policy_loaded() -> bool:
        run = run_folder(folder)
        return run is not None and "policy" in stage_seconds(run.path / "rl")

    wait_until(process, is_policy_loaded)
    started = descendants(process.pid)
    (folder / "model" / "model.safetensors").unlink()
    began = time.monotonic()
    text = wait_for(folder, process, code=6)
    assert time.monotonic() - began < END_S
    assert "no file named model.safetensors" in text.split("error: ")[-1]
    assert alive(started) == []


def test_ctrl_c_in_rl_saves_the_step_under_way_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    folder.mkdir()
    process = fresh("rl", folder, STEPS)
    wait_until(process, lambda: steps_done(folder, "rl") >= 1)
    process.send_signal(signal.SIGINT)
    text = wait_for(folder, process, code=130)
    run = run_folder(folder)
    assert run is not None
    assert f"cuda-rl train --resume {run.path}" in text
    latest = latest_checkpoint(run.checkpoints / "rl")
    assert latest is not None
    assert latest[0] == steps_done(folder, "rl") < STEPS


def test_a_full_disk_ends_rl_with_one_sentence_and_it_goes_on_with_space_again(small_disk: Path) -> None:
    full_and_resumed("rl", small_disk, some_steps_are_done("rl"))
