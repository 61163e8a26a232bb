"""Nsight Compute on a candidate that passed: one launch plan, replayed alone, on the measured shape."""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

import structlog

from coding_framework.cuda.check_runner import CheckRunner, Subject
from coding_framework.cuda.checking import PlannedCheck
from coding_framework.cuda.executors.base import ExecutionRequest
from coding_framework.cuda.executors.gpu.replay import MODULE, write_request
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.profiler.ncu import NsightCompute
from coding_framework.cuda.profiler.tools import ToolUnavailable
from coding_framework.records import ProfileReport

_log = structlog.get_logger(__name__)
_TIMEOUT_S = 120.0


def profile_with_ncu(subject: Subject) -> ProfileReport | None:
    """The report, or None with a warning that says why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "request.pickle"
        write_request(measured_request(subject), path)
        names = tuple(dict.fromkeys(launch.kernel for launch in subject.plan.launches))
        command = [sys.executable, "-m", MODULE, str(path)]
        found = NsightCompute().profile(command, names, _TIMEOUT_S, ptx=subject.ptx)
    if isinstance(found, ToolUnavailable):
        _log.warning("no_profile", reason=found.words)
        return None
    return found


def measured_request(subject: Subject) -> ExecutionRequest:
    """The subject on the shape that was timed, with inputs of its own."""
    task = subject.task
    check = PlannedCheck(task.measured_shape, task.distributions[0], hidden=True)
    inputs = draw_inputs(task, check.dimensions, check.distribution, secrets.randbits(63))
    return CheckRunner.request(subject, check, inputs, cubin=subject.cubin())
