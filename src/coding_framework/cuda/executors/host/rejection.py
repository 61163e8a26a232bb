"""From what went wrong to a verdict in words that an agent can act on."""

from __future__ import annotations

import re

from coding_framework.cuda.executors.host.channel import ChildEnded, ChildFault, ChildSilent
from coding_framework.cuda.executors.host.exchange.protocol import Problem
from coding_framework.cuda.executors.host.session import CandidateProblem
from coding_framework.cuda.executors.host.verifier.records import SetReport
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.sandbox.base import SandboxResult
from coding_framework.records import Verdict

_STDERR_TAIL = 400
_BY_PROBLEM = {
    "no_class": Verdict.NO_CANDIDATE,
    "compile": Verdict.COMPILE_ERROR,
    "raised": Verdict.CRASHED,
    "state": Verdict.UNSUPPORTED,
    "aliased": Verdict.ALIASED_OUTPUT,
    "processes": Verdict.CRASHED,
}
_HIDDEN_WORDS: dict[Problem, str] = {  # nothing that the candidate has written: it could tell the shape
    "no_class": "it defines no such class",
    "compile": "it did not compile",
    "state": "its parameters are not those of the task's module",
    "type": "it returned something else than a plain torch.Tensor",
    "count": "it returned another number of results",
    "shape": "it returned a tensor of the wrong shape",
    "dtype": "it returned a tensor of the wrong element type",
    "device": "it returned a tensor that is not dense or not on the device",
    "aliased": "it returned (part of) one of its inputs instead of a tensor of its own",
    "raised": "it raised an error",
    "processes": "it leaves processes running beside itself",
}
_BY_CUDA_WORDS = (
    (
        re.compile(r"illegal memory access|out.of.bounds|ILLEGAL_ADDRESS", re.IGNORECASE),
        Verdict.OUT_OF_BOUNDS,
    ),
    (re.compile(r"misaligned", re.IGNORECASE), Verdict.MISALIGNED),
    (
        re.compile(
            r"invalid configuration|too many resources|OUT_OF_RESOURCES|INVALID_VALUE|invalid argument",
            re.IGNORECASE,
        ),
        Verdict.INVALID_LAUNCH,
    ),
)
_MEMORY_WORDS = re.compile(r"out.of.memory|ALLOC_FAILED|MemoryAllocation|bad_alloc", re.IGNORECASE)


def speaks_of_memory(words: str) -> bool:
    """Whether an error is, by its words, for want of memory."""
    return _MEMORY_WORDS.search(words) is not None


def reject_problem(problem: CandidateProblem, where: str, *, hidden: bool) -> Rejected:
    """What the child itself found."""
    words = str(problem)
    verdict = _BY_PROBLEM.get(problem.kind, Verdict.WRONG_RESULT)
    if problem.kind == "raised":
        verdict = next((kind for pattern, kind in _BY_CUDA_WORDS if pattern.search(words)), verdict)
    return Rejected(verdict, f"{_HIDDEN_WORDS[problem.kind] if hidden else words} ({where})")


def reject_fault(
    fault: ChildFault, ending: SandboxResult, doing: str, limit_s: float, *, hidden: bool = False
) -> Rejected:
    """A child that ended, hung or talked nonsense."""
    if isinstance(fault, ChildSilent) or ending.ended_by == "timeout":
        return Rejected(Verdict.TIMEOUT, f"it did not finish within {limit_s:g} s while {doing}")
    if isinstance(fault, ChildEnded):
        return Rejected(
            Verdict.CRASHED,
            f"its process ended before the check, while {doing}{'' if hidden else _ending_words(ending)}",
        )
    return Rejected(Verdict.CRASHED, f"its process broke the protocol while {doing}: {fault}")


def _ending_words(ending: SandboxResult) -> str:
    how = {
        "exit": f" (exit code {ending.exit_code})",
        "signal": " (killed by a signal: a crash in native code)",
        "memory": " (it ran into its memory limit)",
        "output": " (it wrote too much output)",
    }.get(ending.ended_by, "")
    tail = ending.stderr.decode(errors="replace").strip()[-_STDERR_TAIL:]
    return how + (f": {tail}" if tail else "")


def find_fault(
    report: SetReport, shape: str, distribution: str, *, hidden: bool, repeat: bool
) -> Rejected | None:
    """What one examined set says against the candidate."""
    where = f"for {shape} ({distribution} inputs)"
    if report.changed is not None:
        return Rejected(Verdict.INPUT_CHANGED, f"it wrote to `{report.changed}`; inputs are read-only")
    if report.guard_broken:
        return Rejected(Verdict.OUT_OF_BOUNDS, f"it wrote outside its tensors {where}")
    if report.late_write:
        return Rejected(
            Verdict.WRONG_RESULT, f"the output was still being written after the call had ended {where}"
        )
    if not report.right and repeat:
        return Rejected(
            Verdict.NOT_DETERMINISTIC,
            f"a second run on the same inputs gave a wrong result {where}: it depends on memory that was "
            "never written, on the order of threads, or on something kept from an earlier call",
        )
    if not report.right:
        return Rejected(Verdict.WRONG_RESULT, wrong_words(report, where, hidden=hidden))
    if not report.flushed:
        return Rejected(Verdict.CLOCKS_DISAGREE, "the cache flush before the call was left out")
    return None


def wrong_words(report: SetReport, where: str, *, hidden: bool) -> str:
    """How many elements are off, and the first of them."""
    share = "some" if hidden else f"{report.num_wrong} of {report.num_elements}"
    text = f"wrong result {where}: {share} elements are wrong"
    if report.num_unwritten:
        return text + "; elements were never written: check that the grid covers all of them"
    if hidden:
        return text + ". Check the bounds and every size that is not a multiple of the block"
    first = report.wrong[0]
    index = ", ".join(map(str, first.index))
    return (
        f"{text}; first: {first.output}[{index}] should be {first.expected:.6g} but is {first.actual:.6g}. "
        "Inputs and weights are new for every call"
    )
