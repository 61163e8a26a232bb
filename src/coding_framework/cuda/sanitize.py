"""compute-sanitizer on one `kernel` candidate, on the task's first visible shape."""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

from coding_framework.cuda.check_runner import CheckRunner, Subject
from coding_framework.cuda.checking import PlannedCheck
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
from coding_framework.cuda.executors.gpu.replay import MODULE, write_request
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.profiler.sanitizer import ComputeSanitizer, SanitizerReport, SanitizerTool
from coding_framework.cuda.profiler.tools import ToolUnavailable
from coding_framework.cuda.toolchain.detect import find_gpus
from coding_framework.errors import NotAvailableError, UserError
from coding_framework.records import Candidate, Task


def sanitize_candidate(task: Task, candidate: Candidate, tool: SanitizerTool) -> SanitizerReport:
    """What the tool finds; raises where there is no GPU or no tool, or nothing that could run."""
    _, gpus, reason = find_gpus()
    if not gpus:
        raise NotAvailableError(f"compute-sanitizer needs a GPU: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "request.pickle"
        subject = _subject(task, candidate)
        check = PlannedCheck(task.visible_shapes[0], task.distributions[0], hidden=False)
        inputs = draw_inputs(task, check.dimensions, check.distribution, secrets.randbits(63))
        write_request(CheckRunner.request(subject, check, inputs, cubin=subject.cubin()), path)
        report = ComputeSanitizer().run([sys.executable, "-m", MODULE, str(path)], tool)
    if isinstance(report, ToolUnavailable):
        raise NotAvailableError(report.words)
    return report


def _subject(task: Task, candidate: Candidate) -> Subject:
    try:
        plan = parse_launch_plan(candidate.source, task)
    except ContractViolation as violation:
        raise UserError(f"nothing to run: {violation}") from None
    with CUDACompiler(CompilerSettings(architecture="auto", workers=1)) as compiler:
        compilation = compiler.compile(candidate.source)
    if not compilation.success:
        raise UserError("nothing to run: it does not compile")
    return Subject(task, plan, compilation)
