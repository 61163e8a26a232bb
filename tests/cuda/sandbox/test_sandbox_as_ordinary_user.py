"""The sandboxes without root: the hardest part of the conformance suite, run again as nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
HARDEST = (
    "exit_code_comes_back or bomb or outside_can_be_written or private_files or processes_cannot "
    "or port_of_the_host or abstract_socket or judge_is_killed"
)


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="coding-framework-nobody-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def as_nobody(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


def usable_interpreter(folder: Path) -> str:
    """One that nobody may execute, with all that the tests import."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            answer = as_nobody(candidate, "-c", "import pydantic, pytest, coding_framework", folder=folder)
        except OSError:
            continue
        if answer.returncode == 0:
            return candidate
    pytest.skip("no interpreter with the dependencies that an ordinary user may execute")


@pytest.mark.skipif(os.getuid() != 0, reason="the suite runs as an ordinary user already")
def test_the_sandboxes_hold_for_an_ordinary_user(folder_of_nobody: Path) -> None:
    python = usable_interpreter(folder_of_nobody)
    suite = Path(__file__).parent / "test_sandbox_conformance.py"
    result = as_nobody(
        *(
            python,
            "-m",
            "pytest",
            str(suite),
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            f"not docker and ({HARDEST})",
        ),
        *("--basetemp", str(folder_of_nobody / "pytest"), "-o", "addopts="),
        folder=folder_of_nobody,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
