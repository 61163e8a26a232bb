"""What the supervisor asks of a Docker engine: how a container ended, and its removal."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress

from coding_framework.cuda.sandbox.supervisor.plan import Plan

_STATE = "{{.State.OOMKilled}} {{.State.StartedAt}} {{.State.Error}}"
_NEVER = "0001-01-01"


def how_it_ended(plan: Plan) -> tuple[bool, str]:
    """Whether memory ran out, and why it never started (else empty)."""
    answer = _ask(plan, "inspect", "--format", _STATE, plan.name)
    if answer.returncode != 0:
        return False, "the engine made no container"
    out_of_memory, started_at, *error = answer.stdout.split(maxsplit=2)
    problem = error[0].strip() if error and started_at.startswith(_NEVER) else ""
    if _is_missing_program(problem):
        problem = ""
    return out_of_memory == "true", problem


def first_process(plan: Plan) -> int:
    """Of a running container, as this machine numbers it; raises OSError where the engine does not say."""
    answer = _ask(plan, "inspect", "--format", "{{.State.Pid}}", plan.name)
    pid = answer.stdout.strip()
    if answer.returncode != 0 or not pid.isdigit() or pid == "0":
        raise OSError(f"docker inspect {plan.name}: {answer.stderr.strip() or pid or 'no process'}")
    return int(pid)


def _is_missing_program(problem: str) -> bool:
    """A command that is not in the image is the request's affair: docker ends with 126 or 127."""
    return "exec:" in problem and ("not found" in problem or "no such file" in problem.lower())


def remove(plan: Plan, patience_s: float = 2.0) -> None:
    """End it and everything in it.

    The engine may still be making a container whose `docker run` was killed a moment ago, so one that
    is not there is looked for again.
    """
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            answer = _ask(plan, "rm", "--force", "--volumes", plan.name)
            if answer.returncode == 0 and "No such container" not in answer.stderr:
                return
        time.sleep(0.1)


def _ask(plan: Plan, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [plan.command[0], *arguments],
        env=plan.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
