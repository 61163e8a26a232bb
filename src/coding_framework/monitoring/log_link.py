"""`logs/training.log` under the working directory: a link that follows the latest training.

The link is replaced atomically. Where it cannot be made (no symbolic links, a read-only folder, a real
file of that name) training goes on, and a warning says where the log is instead.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import structlog

_log = structlog.stdlib.get_logger(__name__)


def follow_log(log_file: Path, working_directory: Path | None = None) -> None:
    """Points `<working directory>/logs/training.log` at `log_file`."""
    link = (working_directory or Path.cwd()) / "logs" / "training.log"
    if link.exists() and not link.is_symlink():
        _log.warning("log_link_not_made", link=str(link), reason="a real file is there", log=str(log_file))
        return
    beside = link.with_name(f".training.log.{os.getpid()}.tmp")
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        beside.symlink_to(os.path.relpath(log_file, link.parent.resolve()))
        beside.replace(link)
    except (OSError, NotImplementedError) as error:
        _log.warning("log_link_not_made", link=str(link), reason=str(error), log=str(log_file))


def unfollow_log(log_file: Path, working_directory: Path | None = None) -> None:
    """Removes the link where it points at `log_file`."""
    link = (working_directory or Path.cwd()) / "logs" / "training.log"
    if link.is_symlink() and link.resolve() == log_file.resolve():
        link.unlink(missing_ok=True)
        with suppress(OSError):
            link.parent.rmdir()  # where nothing else is in it
