"""A disk that really fills up ends a run with one sentence, and with space again it goes on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endurance import Phase, curve, fresh, largest_difference, run_folder, start, steps_done, wait_for

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

DISK_BYTES = 64 * 2**20
END_S = 90.0
STEPS: dict[Phase, int] = {"sft": 12, "rl": 3}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
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


@pytest.mark.parametrize(
    ("phase", "moment"),
    [
        pytest.param("sft", pairs_are_made, id="pairs"),
        pytest.param("sft", some_steps_are_done("sft"), id="sft"),
        pytest.param("rl", some_steps_are_done("rl"), id="rl"),
    ],
)
def test_a_full_disk_ends_the_run_with_one_sentence_and_nothing_is_lost(
    small_disk: Path, tmp_path: Path, phase: Phase, moment: Callable[[Path], bool]
) -> None:
    process = fresh(phase, small_disk, STEPS[phase])
    while process.poll() is None and not moment(small_disk):
        time.sleep(0.02)
    ballast = fill(small_disk)
    began = time.monotonic()
    text = wait_for(small_disk, process, code=5)
    assert time.monotonic() - began < END_S
    assert "disk" in text.split("error: ")[-1]
    ballast.unlink()
    run = run_folder(small_disk)
    assert run is not None
    assert f"--resume {run.path}" in text
    wait_for(small_disk, start(small_disk, "--resume", str(run.path)))
    assert sorted(curve(run, phase)) == list(range(1, STEPS[phase] + 1))
    alone = tmp_path / "alone"
    alone.mkdir()
    wait_for(alone, fresh(phase, alone, STEPS[phase]))
    other = run_folder(alone)
    assert other is not None
    assert largest_difference(curve(run, phase), curve(other, phase)) < 1e-5
