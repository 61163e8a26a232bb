"""A process's folder goes with it, and what a killed one left goes with the next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coding_framework.cuda.toolchain import private_folder as module
from coding_framework.cuda.toolchain.private_folder import PREFIX, private_folder, sweep

OWNER = (
    "import sys; from coding_framework.cuda.toolchain.private_folder import private_folder; "
    "print(private_folder(), flush=True); sys.stdin.read()"
)


def start_owner(parent: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[subprocess.Popen[str], Path]:
    monkeypatch.setenv("TMPDIR", str(parent))
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    return owner, Path(owner.stdout.readline().strip())


def test_a_process_that_ends_removes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, folder = start_owner(tmp_path, monkeypatch)
    assert folder.is_dir()
    assert folder.parent == tmp_path
    owner.communicate("")
    assert not folder.exists()


def test_what_a_killed_process_left_is_swept_and_a_living_one_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, abandoned = start_owner(tmp_path, monkeypatch)
    living, kept = start_owner(tmp_path, monkeypatch)
    killed.kill()
    killed.wait()
    assert abandoned.is_dir()
    assert sweep(tmp_path) == 1
    assert not abandoned.exists()
    assert kept.is_dir()
    living.communicate("")


def test_a_folder_whose_owner_has_not_locked_it_yet_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}young").mkdir()
    assert sweep(tmp_path) == 0


def test_a_process_has_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    module._private_folder.cache_clear()
    try:
        assert private_folder() == private_folder()
        assert private_folder().parent == tmp_path
        module._remove_own(private_folder(), owner=-1)
        assert private_folder().is_dir()
    finally:
        module._private_folder.cache_clear()
