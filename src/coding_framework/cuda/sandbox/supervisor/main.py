"""The supervisor: one small process beside every sandboxed program, outside its walls.

Started by `held.py` with three descriptors: the plan, the lifeline, and where to write the report.
It makes the control group and the temporary folder, starts the program, watches it, ends it with
everything it started, and cleans up. A byte on the lifeline, or its end, means that the judge wants
no more or is dead: then it does the same. So nothing stays behind even when the judge is killed;
should the supervisor itself be killed, the kernel kills the program (PR_SET_PDEATHSIG).
"""

# pathlib is left out to start quickly:
# ruff: noqa: PTH102

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import suppress

from coding_framework.cuda.sandbox.supervisor import syscalls
from coding_framework.cuda.sandbox.supervisor.cgroup import ControlGroup, make_group
from coding_framework.cuda.sandbox.supervisor.filesystem import write_files
from coding_framework.cuda.sandbox.supervisor.plan import Plan, Report, read_plan
from coding_framework.cuda.sandbox.supervisor.starting import (
    Started,
    start_bubblewrap,
    start_confined,
    start_tool,
)
from coding_framework.cuda.sandbox.supervisor.tree import kill_descendants
from coding_framework.cuda.sandbox.supervisor.watch import Watch

FIRST_SIGNAL_CODE = 128


def main(plan_descriptor: int, lifeline: int, report_descriptor: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the lifeline alone decides
    for descriptor in (plan_descriptor, lifeline, report_descriptor):
        os.set_inheritable(descriptor, False)
    with os.fdopen(plan_descriptor, "rb") as stream:
        plan, files = read_plan(stream)
    try:
        report = supervise(plan, files, lifeline)
    except Exception as error:
        report = Report("killed", None, None, f"{type(error).__name__}: {error}")
    with suppress(BrokenPipeError):
        os.write(report_descriptor, json.dumps(report._asdict()).encode())


def supervise(plan: Plan, files: dict[str, bytes], lifeline: int) -> Report:
    """Start, watch, end, clean up; whatever happens in between."""
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    group = _make_group(plan)
    try:
        if plan.folder:
            os.mkdir(plan.folder, 0o700)
            write_files(plan.folder, files)
        started = _start(plan, files, group)
        _let_go_of_streams()
        watched = plan.folder if plan.mode == "process" else ""
        count = group is None and plan.mode != "docker"
        reason = Watch(started.pid, plan.limits, lifeline, count, watched).wait()
        return _conclude(plan, started, group, reason)
    finally:
        _end_everything(plan, group)


def _make_group(plan: Plan) -> ControlGroup | None:
    if plan.mode == "docker":  # the engine makes its own
        return None
    return make_group(plan.name, plan.limits.memory_bytes, plan.limits.processes + 1)


def _start(plan: Plan, files: dict[str, bytes], group: ControlGroup | None) -> Started:
    if plan.mode == "docker":
        return start_tool(plan)
    if plan.mode == "bubblewrap":
        return start_bubblewrap(plan, files, group)
    return start_confined(plan, files, group)


def _let_go_of_streams() -> None:
    """The program alone holds its standard streams, so that their ends are seen."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _conclude(plan: Plan, started: Started, group: ControlGroup | None, reason: str) -> Report:
    if reason != "ended":
        return Report(reason, None, None, "")
    status = os.waitpid(started.pid, 0)[1]
    fault = ""
    if started.notes is not None:
        status, fault = _read_notes(started.notes, status)
    out_of_memory = group is not None and group.hit_memory_limit()
    code = os.waitstatus_to_exitcode(status)
    if plan.mode != "process":
        code = FIRST_SIGNAL_CODE - code if FIRST_SIGNAL_CODE < code < FIRST_SIGNAL_CODE + 65 else code
    if plan.mode == "docker":
        from coding_framework.cuda.sandbox.supervisor import docker_engine

        out_of_memory, fault = docker_engine.how_it_ended(plan)
    return _describe(code, fault, out_of_memory, plan.limits.cpu_s)


def _describe(code: int, fault: str, out_of_memory: bool, cpu_s: float) -> Report:
    if fault:
        return Report("killed", None, None, fault)
    if out_of_memory:
        return Report("memory", None, None, "")
    if code >= 0:
        return Report("exit", code, None, "")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    over_time = -code == signal.SIGKILL and used.ru_utime + used.ru_stime >= cpu_s
    if -code == signal.SIGXCPU or over_time:
        return Report("timeout", None, None, "")
    return Report("signal", None, -code, "")


def _read_notes(notes: int, status: int) -> tuple[int, str]:
    """What was said from inside the walls before the program began, or after it ended."""
    with os.fdopen(notes, "rb") as stream:
        said = stream.read().decode(errors="replace").strip()
    if said.startswith("{"):  # bubblewrap's words; without an exit code the program never ran
        return status, "" if "exit-code" in said else "bwrap did not start the program"
    kind, _, text = said.partition(" ")
    if kind == "fault":
        return status, text
    return (int(text), "") if kind == "status" else (status, "")


def _end_everything(plan: Plan, group: ControlGroup | None) -> None:
    if group is not None:
        group.kill()
    kill_descendants(os.getpid())
    if group is not None:
        group.remove()
    if plan.mode == "docker":
        from coding_framework.cuda.sandbox.supervisor import docker_engine  # only here: it loads subprocess

        docker_engine.remove(plan)
    if plan.folder:
        import shutil

        shutil.rmtree(plan.folder, ignore_errors=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
