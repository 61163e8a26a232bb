"""Does the candidate compute with kernels of its own, or does it wrap the library that it should replace?

Three answers. Its text defines a kernel. In a second child, which is asked the same as the one that was
timed, the profiler looks at one call at a secret place among those that were timed there: so a candidate
that does something else when it is looked at must know when that is. And the candidate with its kernels
emptied, in another child, gets the result wrong: a decoy that is never launched, or whose result is thrown
away, changes nothing when it is emptied. The last one is decided by memory that the verifier reads; of the
second, the names and times are the child's word.
"""

from __future__ import annotations

import re
from typing import Final

import structlog

from coding_framework.cuda.executors.host.bench import BASE, TaskBench
from coding_framework.cuda.executors.host.kernels import own_kernel_names, own_scopes, without_kernels
from coding_framework.cuda.executors.host.programs import ProgramBuilder
from coding_framework.cuda.executors.host.session import Program
from coding_framework.cuda.executors.host.trial import Trial
from coding_framework.cuda.rejection import Rejected
from coding_framework.records import Candidate, Verdict

_log = structlog.get_logger(__name__)

_PROFILE_TIMEOUT_S = 60.0
_LIBRARY_SCOPES: Final = frozenset({"at", "c10", "torch", "cutlass", "cute", "cub", "thrust", "cuda", "std"})
"""Not a candidate's own, even if it opens them."""
_LIBRARY_NAME: Final = re.compile(
    r"sm\d+_|(?:volta|turing|ampere|hopper|maxwell|pascal|cudnn|cublas|cutlass|cask|xmma|nvjet)_|"
    r"gemv2[NT]_kernel|gemvNSP_kernel|gemmk1_kernel|gemmSN_[NT]{2}_kernel|splitKreduce_kernel|"
    r"reduce_1Block_kernel|implicit_convolve_|explicit_convolve_|fmha_|regular_fft|fft2d_|LSTM_elementWise_|"
    r"softmax_warp_|triton_(?:poi|red|per)_fused"
)
"""What kernels without a scope are called in torch, cuBLAS, cuDNN and cuFFT."""
_COULD_NOT_BUILD = (Verdict.COMPILE_ERROR, Verdict.COMPILE_TIMEOUT, Verdict.NO_CANDIDATE)


def check_own_kernels(
    candidate: Candidate, program: Program, bench: TaskBench, programs: ProgramBuilder
) -> float | None:
    """Share of the device time in own kernels; raises `Rejected` where they do not matter.

    None where no profiler sees anything on this machine: the emptied kernels still decide.
    """
    if not bench.settings.require_own_kernels:
        return None
    names = require_kernels(candidate)
    kernel_us = profile_timed_call(program, bench)
    if kernel_us is not None and not kernel_us:
        raise Rejected(Verdict.NO_KERNEL, "nothing ran on the device while it was called")
    share = own_share(kernel_us or {}, names, own_scopes(candidate))
    if share == 0.0:
        raise Rejected(Verdict.NO_KERNEL, "none of its own kernels was launched: it only wraps the library")
    if share is not None and share < bench.config.min_own_kernel_share:
        raise Rejected(
            Verdict.NO_KERNEL,
            f"only {share:.1%} of its device time is in kernels of its own (at least "
            f"{bench.config.min_own_kernel_share:.0%} is asked for): the library does the work",
        )
    if passes_without_kernels(candidate, bench, programs):
        raise Rejected(
            Verdict.NO_KERNEL, "its kernels do not contribute to the result: without them it is still right"
        )
    return share


def require_kernels(candidate: Candidate) -> frozenset[str]:
    """The names of its kernels; raises `Rejected` where it defines none."""
    names = own_kernel_names(candidate)
    if not names:
        raise Rejected(Verdict.NO_KERNEL, "it defines no kernel of its own: it only wraps the library")
    borrowed = sorted(name for name in names if _LIBRARY_NAME.match(name))
    if borrowed:
        raise Rejected(
            Verdict.NO_KERNEL, f"its kernel `{borrowed[0]}` is called like one of the library's: rename it"
        )
    return names


def profile_timed_call(program: Program, bench: TaskBench) -> dict[str, float] | None:
    """Device time by kernel of one call among those that are timed; None where kernels cannot be seen."""
    trial = Trial(bench)
    try:
        trial.load(program, is_profiled=True)
        with bench.lease(shared=True):
            trial.check_shapes()
            trial.settle()
        with bench.lease():
            trial.approach_timed_call()
            kernel_us = trial.profile(_PROFILE_TIMEOUT_S)
    finally:
        trial.close()
    if not trial.sees_kernels:
        _log.warning("kernels_not_seen", task=bench.task.name, reason="the profiler sees no kernels here")
        return None
    return kernel_us


def own_share(
    kernel_us: dict[str, float], names: frozenset[str], scopes: frozenset[str] = frozenset()
) -> float | None:
    """Own device time over all; None where the profiler saw nothing at all."""
    total = sum(kernel_us.values())
    if total <= 0:
        return None
    return sum(time for kernel, time in kernel_us.items() if is_own(kernel, names, scopes)) / total


def is_own(kernel: str, names: frozenset[str], scopes: frozenset[str] = frozenset()) -> bool:
    """Whether a demangled (`void f<float>(float*)`) or plain kernel name is one of the candidate's.

    `scopes` are those that its source opens; a kernel in any other is a library's.
    """
    named = kernel.replace("(anonymous namespace)::", "")
    head = named.split("(", 1)[0].split("<", 1)[0].split()
    path = head[-1].split("::") if head else [""]
    return path[-1] in names and not {*path[:-1]} - (scopes - _LIBRARY_SCOPES)


def passes_without_kernels(candidate: Candidate, bench: TaskBench, programs: ProgramBuilder) -> bool:
    """Whether it is still right when its kernels do nothing."""
    emptied = Trial(bench)
    try:
        emptied.load(programs.build(without_kernels(candidate), bench.base))
        with bench.lease(shared=True):
            emptied.check(BASE, "normal", constants={})
    except Rejected as rejection:
        if rejection.verdict in _COULD_NOT_BUILD:
            raise Rejected(
                Verdict.NO_KERNEL,
                f"nothing shows that its kernels matter: with a `return` in front of them, {rejection}",
            ) from None
        return False
    finally:
        emptied.close()
    return True
