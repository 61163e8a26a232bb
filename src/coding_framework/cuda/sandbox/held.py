"""A program behind its supervisor, seen from the judge: streams, the lifeline, and the result.

Every sandbox hands its plan to a supervisor process (`supervisor/main.py`) and talks to the program
through this class. Standard output and error are read by threads of ours and cut off at the limit, so
a program that prints for ever neither fills memory nor blocks.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from coding_framework.cuda.sandbox.base import SandboxResult
from coding_framework.cuda.sandbox.supervisor import docker_engine, tree
from coding_framework.cuda.sandbox.supervisor.plan import Plan, Report, write_plan
from coding_framework.errors import JudgeFault, NotAvailableError

SOURCE_ROOT = Path(__file__).resolve().parents[3]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from coding_framework.cuda.sandbox.supervisor.main import main; "
    "main(*map(int, sys.argv[2:5])); import os; os._exit(0)"
)
PATIENCE_S = 30.0
"""Beyond the wall-clock limit: how long ending and cleaning up may take before it is a fault of ours."""
CHUNK_BYTES = 65536


class HeldProcess:
    """One program; implements `SandboxedProcess`."""

    def __init__(
        self, plan: Plan, files: dict[str, bytes], output_bytes: int, stdin: bytes | None = None
    ) -> None:
        """With `stdin` given, feed it and collect standard output; without, the caller holds both."""
        self._started_at = time.monotonic()
        self._output_bytes = output_bytes
        self._wall_s = plan.limits.wall_s
        self._lock = threading.Lock()
        self._over_limit = False
        self._collected: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._result: SandboxResult | None = None
        self._plan = plan
        self._first: int | None = None
        self._frozen: list[int] = []
        self._process, self._lifeline, self._report = _spawn(plan, files)
        self._threads = [threading.Thread(target=self._collect, args=("stderr",), daemon=True)]
        if stdin is not None:
            self._threads.append(threading.Thread(target=self._collect, args=("stdout",), daemon=True))
            self._threads.append(threading.Thread(target=self._feed, args=(stdin,), daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def is_running(self) -> bool:
        return self._process.poll() is None

    def processes(self) -> list[int]:
        """Everything below the supervisor, or in the container."""
        if self._plan.mode != "docker":
            return tree.descendants(self._process.pid)
        if self._first is None:
            self._first = docker_engine.first_process(self._plan)
        return [self._first, *tree.descendants(self._first)]

    def freeze(self) -> None:
        """Stop all of it; raises `JudgeFault` where that is not ours to do."""
        try:
            self._frozen = tree.stop(self.processes)
        except OSError as error:
            raise JudgeFault(f"the program in the sandbox cannot be stopped: {error}") from error

    def thaw(self) -> None:
        tree.resume(self._frozen)
        self._frozen = []

    def wait(self) -> SandboxResult:
        """Until its end or its limits."""
        self._ends_within(self._wall_s + PATIENCE_S)
        return self.close()

    def close(self) -> SandboxResult:
        """End it and everything it started, for certain; safe to call twice and from several threads."""
        with self._lock:
            if self._result is None:
                self._result = self._finish()
            return self._result

    def _finish(self) -> SandboxResult:
        self._ask_to_end()
        if not self._ends_within(PATIENCE_S):
            self._process.kill()  # the kernel then kills the program
        self._process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        report = self._read_report()
        duration_s = time.monotonic() - self._started_at
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        return self._describe(report, duration_s)

    def _ends_within(self, timeout_s: float) -> bool:
        """`Popen.wait` with a timeout looks every 50 ms; this is woken by the kernel."""
        if self._process.poll() is not None:
            return True
        ending = os.pidfd_open(self._process.pid)
        try:
            return bool(select.select([ending], [], [], timeout_s)[0])
        finally:
            os.close(ending)

    def _ask_to_end(self) -> None:
        with suppress(OSError):
            os.write(self._lifeline, b"x")

    def _read_report(self) -> Report:
        os.close(self._lifeline)
        with os.fdopen(self._report, "rb") as stream:
            said = stream.read()
        if not said:
            raise JudgeFault(f"the sandbox's supervisor died ({self._text('stderr')})")
        report = Report(**json.loads(said))
        if report.fault:
            raise NotAvailableError(f"the sandbox could not be set up: {report.fault} {self._text('stderr')}")
        return report

    def _describe(self, report: Report, duration_s: float) -> SandboxResult:
        ended_by = "output" if self._over_limit else report.ended_by
        return SandboxResult.model_validate(
            {
                "ended_by": ended_by,
                "exit_code": report.exit_code if ended_by == "exit" else None,
                "signal": report.signal if ended_by == "signal" else None,
                "stdout": b"".join(self._collected["stdout"]),
                "stderr": b"".join(self._collected["stderr"]),
                "duration_s": duration_s,
            }
        )

    def _text(self, name: str) -> str:
        return b"".join(self._collected[name]).decode(errors="replace").strip()[-500:]

    def _collect(self, name: str) -> None:
        """Read to the end, keep what is within the limit, and end the program at the first byte over it."""
        stream: IO[bytes] = getattr(self._process, name)
        with suppress(OSError, ValueError):
            while chunk := os.read(stream.fileno(), CHUNK_BYTES):
                kept = sum(len(part) for parts in self._collected.values() for part in parts)
                room = max(0, self._output_bytes - kept)
                if room:
                    self._collected[name].append(chunk[:room])
                if len(chunk) > room and not self._over_limit:
                    self._over_limit = True
                    self._ask_to_end()

    def _feed(self, content: bytes) -> None:
        with suppress(OSError, ValueError):
            self.stdin.write(content)
            self.stdin.flush()
        with suppress(OSError):
            self.stdin.close()


def _spawn(plan: Plan, files: dict[str, bytes]) -> tuple[subprocess.Popen[bytes], int, int]:
    """The supervisor, our end of its lifeline, and where its report will come."""
    plan_inside, plan_out = os.pipe()
    life_inside, lifeline = os.pipe()
    report, report_inside = os.pipe()
    inside = (plan_inside, life_inside, report_inside)
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BOOT, str(SOURCE_ROOT), *map(str, inside)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=inside,
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            cwd="/",
            start_new_session=True,
        )
    finally:
        for descriptor in inside:
            os.close(descriptor)
    with suppress(BrokenPipeError), os.fdopen(plan_out, "wb") as stream:
        write_plan(stream, plan, files)
    return process, lifeline, report
