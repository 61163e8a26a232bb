"""Finding and running NVIDIA's command-line tools, and saying why one cannot be used.

Guarantees: a tool runs in a session of its own and is gone with all its children when `run_tool`
returns, at the latest after its limit; what it prints is kept up to a bound. A tool that is missing,
forbidden or failing is a value with words that say what to do: never an empty or invented report.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coding_framework.cuda.toolchain.locate import toolkit_roots
from coding_framework.records import Record

MAX_OUTPUT_BYTES = 32 * 2**20
POLL_S = 0.02
GRACE_S = 2.0
"""Between asking a tool to end and making it."""


class ToolUnavailable(Record):
    """Why there is no report."""

    tool: str
    """Name of the tool."""
    reason: Literal["missing", "forbidden", "timeout", "failed", "nothing_profiled"]
    """`missing`: not installed; `forbidden`: no right to read counters; the others: it ran in vain."""
    words: str
    """What happened and what to do."""


@dataclass(frozen=True)
class ToolRun:
    """How one run of a tool ended."""

    exit_code: int | None
    """None when it was stopped at its limit."""
    output: str
    """Standard output and standard error together."""


def find_tool(name: str, *patterns: str) -> Path | None:
    """On PATH, in a toolkit's folder, or where `patterns` (below `/`) say, newest version first."""
    on_path = shutil.which(name)
    candidates = [Path(on_path)] if on_path else []
    candidates += [root / folder / name for root in toolkit_roots() for folder in ("bin", name)]
    for pattern in patterns:
        candidates += sorted(Path("/").glob(pattern), reverse=True)
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def run_tool(command: Sequence[str], timeout_s: float) -> ToolRun:
    """Run to the end or to the limit; raises only if the command cannot be started at all."""
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
        ended = False
        try:
            ended = _ends_within(process.pid, timeout_s)
        finally:
            _end_session(process, ended)
        sink.seek(0)
        output = sink.read(MAX_OUTPUT_BYTES).decode(errors="replace")
        return ToolRun(process.returncode if ended else None, output)


def _ends_within(pid: int, timeout_s: float) -> bool:
    """Waits without collecting the process: until then its number cannot be given to another."""
    deadline = time.monotonic() + timeout_s
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _end_session(process: subprocess.Popen[bytes], ended: bool) -> None:
    """Everything that the tool started shares its session; what is left of it ends now."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    if not ended:
        _ends_within(process.pid, GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_lines(output: str, count: int = 4) -> str:
    """The end of what a tool said, for messages."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-600:] or "it said nothing"
