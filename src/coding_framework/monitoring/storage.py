"""Writing that survives kill -9 and a full disk, and reading back what such an end left behind.

Guaranteed: a line is appended by one `os.write` on an `O_APPEND` descriptor, so several processes may
append to one file on a local disk; a file that is replaced is written beside, synced and renamed, and its
folder is synced, so a reader sees the old one or the new one, also after a power cut; whatever the operating
system refuses becomes a `StorageError` in words.
Not guaranteed: that appended lines reach the platter before a power cut, unless they are asked to be
`synced`, nor whole lines from several machines over NFS, which has no atomic append.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from coding_framework.errors import StorageError
from coding_framework.records import Record

R = TypeVar("R", bound=Record)

_REASONS = {
    errno.ENOSPC: "the disk is full: free some space, then go on with --resume",
    errno.EDQUOT: "the disk quota is used up: free some space, then go on with --resume",
    errno.EROFS: "the file system is read-only: choose another folder",
    errno.EACCES: "permission denied: choose a folder that you may write to",
    errno.EPERM: "permission denied: choose a folder that you may write to",
    errno.EFBIG: "the file has reached the size limit of this process or file system",
    errno.EIO: "the disk reported an input/output error",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long for this file system",
}


@contextmanager
def storage_errors(path: Path, action: str = "write") -> Iterator[None]:
    """Turns an `OSError` within the block into a `StorageError` that names the file and the way out."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"cannot {action} {path}: {reason}") from error


def append_line(path: Path, line: str, *, synced: bool = False) -> None:
    """Adds one line in one system call; starts a fresh line where the last writer was cut off.

    `synced` waits until the line would survive a power cut.
    """
    data = line.encode("utf-8", errors="replace") + b"\n"
    with storage_errors(path, "append to"):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if _ends_torn(descriptor):
                data = b"\n" + data
            if os.write(descriptor, data) != len(data):
                # A short write to a regular file means that there was room for a part only.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _ends_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if not size:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) not in (b"\n", b"")


def sync(path: Path) -> None:
    """Waits until a file's bytes, or a folder's names, would survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems sync no folders: there a rename is as lasting as they make it.
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def sync_below(folder: Path) -> None:
    """`sync` for every file in it and every folder, itself last."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync(Path(parent, name))
        sync(Path(parent))


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside `target` that takes its place when the block ends well; else nothing is changed.

    Errors of the operating system stay what they are.
    """
    beside = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        yield beside
        sync_below(beside)
        shutil.rmtree(target, ignore_errors=True)
        beside.rename(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` that takes its place when the block ends well; else nothing is changed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            yield beside
            sync(beside)
            beside.replace(path)
            sync(path.parent)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def write_whole(path: Path, text: str) -> None:
    """Replaces the file as a whole, or leaves the old one as it was."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="replace")


def keep_lines(path: Path, wanted: Callable[[bytes], bool]) -> int:
    """Drops the other lines of a file, as a whole; returns how many. Nobody may append meanwhile.

    Lines at the end, as a stopped run leaves them, are cut off in place: that needs no room on a full disk.
    `wanted` is asked once for each line, in order.
    """
    if not path.exists():
        return 0
    with storage_errors(path), path.open("rb") as lines:
        sizes_and_stays = [(len(line), wanted(line)) for line in lines]
    stays = [one for _, one in sizes_and_stays]
    dropped = stays.count(False)
    kept = len(stays) - dropped
    if dropped and all(stays[:kept]):
        with storage_errors(path):
            os.truncate(path, sum(size for size, _ in sizes_and_stays[:kept]))
            sync(path)
    elif dropped:
        with replacing(path) as beside, path.open("rb") as old, beside.open("wb") as new:
            new.writelines(line.rstrip(b"\n") + b"\n" for line, one in zip(old, stays, strict=True) if one)
    return dropped


class RecordReader(Generic[R]):
    """Streams the records of a JSON-lines file; a line that is not one is skipped and counted.

    The usual cause is a last line torn by kill -9. `skipped` is that of the latest pass.
    """

    def __init__(self, path: Path, record_type: type[R]) -> None:
        self._path = path
        self._record_type = record_type
        self.skipped = 0

    def __iter__(self) -> Iterator[R]:
        self.skipped = 0
        if not self._path.exists():
            return
        with storage_errors(self._path, "read"), self._path.open("rb") as stream:
            for line in stream:
                if not line.strip():
                    continue
                try:
                    record = self._record_type.model_validate_json(line)
                except ValidationError:
                    self.skipped += 1
                else:
                    yield record
