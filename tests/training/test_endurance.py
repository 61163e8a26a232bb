"""What happens to a training in a long night, and that its curve does not tell.

`endurance.py` beside this file kills more often and at random; here a kill hits where it is wanted.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from endurance import (
    alive,
    compare,
    fresh,
    kill,
    killed_and_resumed,
    pid_of,
    run_folder,
    start,
    steps_done,
    uninterrupted,
    wait_for,
    wait_until,
)

from coding_framework.training.rl.supervisor import descendants

pytest.importorskip("verl")
pytestmark = pytest.mark.slow


def test_a_training_that_hangs_is_ended_and_told() -> None:
    hanging = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], text=True, start_new_session=True
    )
    with pytest.raises(AssertionError, match="within 1 s"):
        wait_until(hanging, lambda: False, limit_s=1)
    assert hanging.poll() == -signal.SIGKILL


def test_sft_that_is_killed_at_random_moments_gives_the_curve_of_one_that_is_not(tmp_path: Path) -> None:
    outcome = killed_and_resumed("sft", tmp_path, steps=30, kills=2, seed=74)
    assert len(outcome.kills) == 2


def test_rl_loses_a_process_is_killed_is_resumed_and_extended_and_nobody_can_tell(tmp_path: Path) -> None:
    """One story, because every start of Ray costs half a minute. In it the curriculum climbs a tier."""
    alone = uninterrupted("rl", tmp_path / "alone", steps=8).run
    tiers = [point.values["curriculum_tier"] for point in alone.read_metrics() if point.phase == "rl"]
    assert tiers == [0.0] * 6 + [1.0] * 2, "it had to prove itself in 44 episodes"
    folder = tmp_path / "killed"
    folder.mkdir()
    (folder / "model").symlink_to(tmp_path / "alone" / "model")

    process = fresh("rl", folder, steps=6)
    wait_until(process, lambda: steps_done(folder, "rl") >= 2)
    run = run_folder(folder)
    assert run is not None
    started = descendants(process.pid)
    os.kill(pid_of("ray::AgentLoopWorker", process), signal.SIGKILL)
    began = time.monotonic()
    text = wait_for(folder, process, code=6)
    assert time.monotonic() - began < 60
    assert "error: the process that runs the episodes died (killed, or out of memory)" in text
    assert f"--resume {run.path}" in text
    assert alive(started) == []

    process = start(folder, "--resume", str(run.path))
    wait_until(process, lambda: steps_done(folder, "rl") >= 4)
    kill(process)

    process = start(folder, "--resume", str(run.path), "--set=rl.steps=8")
    wait_for(folder, process)
    assert compare("rl", alone, run) <= 1e-5
    moves = [(one.path / "rl" / "curriculum.jsonl").read_text() for one in (alone, run)]
    assert moves[0] == moves[1], "every step of the curriculum stands there once"
    assert len(list((run.checkpoints / "rl").glob("global_step_*"))) == 1, "a finished run keeps the last"

    again = start(folder, "--resume", str(run.path), "--set=rl.learning_rate=1")
    assert "rl.learning_rate cannot change in a run that has begun" in wait_for(folder, again, code=2)
