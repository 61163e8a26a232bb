"""Does the candidate compute with kernels of its own, or does it wrap the library that it should replace?

Three answers, from weak to strong: its text defines a kernel; the profiler saw one of them run (a claim
of the child's, which gives the stated share of the device time); and the candidate with its kernels
emptied, in another child, gets the result wrong. The last one is decided by memory that the verifier
reads: a decoy that is never launched, or whose result is thrown away, changes nothing when it is emptied.
"""

from __future__ import annotations

from coding_framework.cuda.executors.host.bench import BASE, TaskBench
from coding_framework.cuda.executors.host.kernels import own_kernel_names, without_kernels
from coding_framework.cuda.executors.host.programs import ProgramBuilder
from coding_framework.cuda.executors.host.trial import Trial
from coding_framework.cuda.rejection import Rejected
from coding_framework.records import Candidate, Verdict

_PROFILE_TIMEOUT_S = 60.0
_COULD_NOT_BUILD = (Verdict.COMPILE_ERROR, Verdict.COMPILE_TIMEOUT, Verdict.NO_CANDIDATE)


def check_own_kernels(
    candidate: Candidate, bench: TaskBench, trial: Trial, programs: ProgramBuilder
) -> float | None:
    """Share of the device time in own kernels; raises `Rejected` where they do not matter."""
    if not bench.settings.require_own_kernels:
        return None
    names = require_kernels(candidate)
    with bench.lease(shared=True):
        share = own_share(_profile(trial), names)
    if share == 0.0:
        raise Rejected(Verdict.NO_KERNEL, "none of its own kernels was launched: it only wraps the library")
    if share is not None and share < bench.config.min_own_kernel_share:
        raise Rejected(
            Verdict.NO_KERNEL,
            f"only {share:.1%} of its device time is in kernels of its own (at least "
            f"{bench.config.min_own_kernel_share:.0%} is asked for): the library does the work",
        )
    trial.close()
    if passes_without_kernels(candidate, bench, trial, programs):
        raise Rejected(
            Verdict.NO_KERNEL, "its kernels do not contribute to the result: without them it is still right"
        )
    return share


def require_kernels(candidate: Candidate) -> frozenset[str]:
    """The names of its kernels; raises `Rejected` where it defines none."""
    names = own_kernel_names(candidate)
    if not names:
        raise Rejected(Verdict.NO_KERNEL, "it defines no kernel of its own: it only wraps the library")
    return names


def _profile(trial: Trial) -> dict[str, float]:
    """What the profiler says; where it does not work, the emptied kernels still decide."""
    try:
        return trial.profile(_PROFILE_TIMEOUT_S)
    except Rejected as rejection:
        trial.notes.append(f"could not be profiled: {rejection}")
        return {}


def own_share(kernel_us: dict[str, float], names: frozenset[str]) -> float | None:
    """Own device time over all; None where the profiler saw nothing at all."""
    total = sum(kernel_us.values())
    if total <= 0:
        return None
    return sum(time for kernel, time in kernel_us.items() if is_own(kernel, names)) / total


def is_own(kernel: str, names: frozenset[str]) -> bool:
    """Whether a demangled (`void f<float>(float*)`) or plain kernel name is one of ours."""
    named = kernel.replace("(anonymous namespace)::", "")
    head = named.split("(", 1)[0].split("<", 1)[0].split()
    return bool(head) and head[-1].rpartition("::")[2] in names


def passes_without_kernels(
    candidate: Candidate, bench: TaskBench, trial: Trial, programs: ProgramBuilder
) -> bool:
    """Whether it is still right when its kernels do nothing."""
    emptied = Trial(bench)
    try:
        emptied.load(programs.build(without_kernels(candidate), bench.base))
        with bench.lease(shared=True):
            emptied.check(BASE, "normal", constants={})
    except Rejected as rejection:
        if rejection.verdict in _COULD_NOT_BUILD:
            trial.notes.append(f"could not be built with its kernels emptied: {rejection}")
        return False
    finally:
        emptied.close()
    return True
