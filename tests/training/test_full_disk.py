"""A disk that really fills up ends a run with one sentence, and with space again it goes on."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endurance import (
    TOLERANCE,
    Phase,
    compare,
    curve,
    fresh,
    run_folder,
    start,
    steps_done,
    wait_for,
    wait_until,
)

from coding_framework.monitoring.run_folder import RunFolder

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

DISK_BYTES = 64 * 2**20
END_S = 90.0
STEPS: dict[Phase, int] = {"sft": 12, "rl": 3}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Until the system refuses; the file that has to go."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return ballast
    raise AssertionError("the disk took everything")


def pairs_are_made(folder: Path) -> bool:
    return run_folder(folder) is not None


def some_steps_are_done(phase: Phase) -> Callable[[Path], bool]:
    return lambda folder: steps_done(folder, phase) >= 2


@pytest.mark.parametrize("moment", [pairs_are_made, some_steps_are_done("sft")], ids=["pairs", "sft"])
def test_a_full_disk_ends_sft_with_one_sentence_and_nothing_is_lost(
    small_disk: Path, tmp_path: Path, moment: Callable[[Path], bool]
) -> None:
    run = full_and_resumed("sft", small_disk, moment)
    alone = tmp_path / "alone"
    alone.mkdir()
    wait_for(alone, fresh("sft", alone, STEPS["sft"]))
    other = run_folder(alone)
    assert other is not None
    assert compare("sft", other, run) <= TOLERANCE


def full_and_resumed(phase: Phase, disk: Path, moment: Callable[[Path], bool]) -> RunFolder:
    """Fill the disk at the moment, see the run end, make room, and let it go on to its end."""
    process = fresh(phase, disk, STEPS[phase])
    wait_until(process, lambda: moment(disk))
    ballast = fill(disk)
    began = time.monotonic()
    text = wait_for(disk, process, code=5)
    assert time.monotonic() - began < END_S
    assert re.search(r"error: .*(disk is full|is full: free|No space left on device)", text)
    ballast.unlink()
    run = run_folder(disk)
    assert run is not None
    assert f"--resume {run.path}" in text
    wait_for(disk, start(disk, "--resume", str(run.path)))
    assert sorted(curve(run, phase)) == list(range(1, STEPS[phase] + 1))
    return run
