"""Functions that are dangerous rather than hostile: a table with reasons."""

from __future__ import annotations

from typing import Literal, NamedTuple

from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Severity

Side = Literal["device", "host", "both"]


class ApiRule(NamedTuple):
    """One group of functions with one reason."""

    rule: str
    severity: Severity
    side: Side
    reason: str
    suggestion: str
    names: frozenset[str]


API_RULES: tuple[ApiRule, ...] = (
    ApiRule(
        "device-allocation", "warning", "device", "allocates from the device heap, which is slow and small",
        "Use registers, shared memory or a `// scratch:` buffer.", words("malloc calloc free alloca"),
    ),
    ApiRule(
        "kernel-print", "warning", "device", "prints from a kernel, which slows it and fills the output",
        "Remove it once the kernel works.", words("printf vprintf puts putchar"),
    ),
    ApiRule(
        "kernel-abort", "warning", "device", "can stop the kernel and poison the context",
        "Guard with `if` and return instead.", words("assert __assert_fail __trap __brkpt abort exit"),
    ),
    ApiRule(
        "device-clock", "warning", "device", "reads a clock",
        "Remove it: the judge's clock counts.", words("clock clock64 __globaltimer globaltimer __nv_clock"),
    ),
    ApiRule(
        "device-sleep", "warning", "device", "waits on purpose", "Remove it.", words("__nanosleep nanosleep"),
    ),
    ApiRule(
        "process-end", "warning", "host", "ends the whole process where an error would do",
        "Report errors with TORCH_CHECK.", words("exit abort terminate"),
    ),
    ApiRule(
        "context-reset", "critical", "host", "destroys every allocation of the process",
        "Remove it.", words("cudaDeviceReset cuCtxDestroy cuDevicePrimaryCtxReset cuDevicePrimaryCtxRelease"),
    ),
    ApiRule(
        "device-choice", "warning", "host", "changes the device or its flags for the whole process",
        "Use the device of the input tensors.",
        words("cudaSetDevice cudaSetDeviceFlags cudaSetValidDevices cuCtxSetCurrent"),
    ),
    ApiRule(
        "device-limit", "error", "host", "changes limits or the cache policy of the device beyond this call",
        "Remove it: the kernel is timed with a cold cache and the default limits.",
        words(
            "cudaDeviceSetLimit cuCtxSetLimit cudaStreamSetAttribute cuStreamSetAttribute "
            "cudaCtxResetPersistingL2Cache cudaDeviceSetMemPool cudaMemPoolSetAttribute"
        ),
    ),
    ApiRule(
        "host-sleep", "warning", "host", "waits on purpose", "Remove it.",
        words("sleep usleep nanosleep sleep_for sleep_until"),
    ),
)  # fmt: skip

DANGEROUS_WORDS = {
    "cudaLimitPersistingL2CacheSize": "device-limit",
    "accessPolicyWindow": "device-limit",
    "cudaAccessPolicyWindow": "device-limit",
    "cudaLaunchAttributeAccessPolicyWindow": "device-limit",
}
"""Names that need no call: constants and fields of the L2 persistence window."""
