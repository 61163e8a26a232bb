"""From here on this process has the threads that it has.

A thread beside the one that is asked could look for the inputs of the next call while that waits to be
timed. The kernel refuses new ones, so nobody has to look for them.
"""

from __future__ import annotations

from coding_framework.cuda.sandbox.supervisor import seccomp, syscalls


def forbid_threads(*, programs: bool) -> None:
    """For this process and all that it starts, for good; raises OSError where that cannot be had.

    `programs` may still be started by a candidate that compiles its kernels when it is loaded.
    """
    if not seccomp.supported():
        raise OSError("threads can be forbidden on x86-64 only, and a candidate's time is not safe with them")
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.install_filter(seccomp.assemble_single_thread(programs=programs), all_threads=True)
