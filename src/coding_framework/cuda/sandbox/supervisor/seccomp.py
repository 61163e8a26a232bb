"""A seccomp filter for x86-64, assembled here: what a program in the sandbox may not ask of the kernel.

Guaranteed: a call from another architecture kills the process; x32 calls, new namespaces, `clone3`
(whose flags a filter cannot see), tracing, other processes' memory, mounts, modules, keys, BPF,
io_uring, file handles and every socket but AF_UNIX are refused. It is a list of what is denied, not
of what is allowed: CUDA and torch use too much of the kernel for the latter. The walls are the
namespaces and Landlock; this makes the kernel behind them smaller.
"""

from __future__ import annotations

import errno
import os
import struct

AUDIT_ARCH_X86_64 = 0xC000003E
X32_BIT = 0x40000000
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
AF_UNIX = 1
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AND = 0x54
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_CLONE_VM, _CLONE_VFORK, _CLONE_THREAD = 0x100, 0x4000, 0x10000
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET

CLONE, CLONE3, SOCKET, SOCKETPAIR, CONNECT, TGKILL = 56, 435, 41, 53, 42, 234
_SOCK_SEQPACKET, _TYPE_MASK = 5, 0xF

DENIED = {
    "other processes": {
        "ptrace": 101,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "kcmp": 312,
        "pidfd_getfd": 438,
        "process_madvise": 440,
        "process_mrelease": 448,
        "move_pages": 279,
        "migrate_pages": 256,
        "perf_event_open": 298,
    },
    "mounts and namespaces": {
        "mount": 165,
        "umount2": 166,
        "pivot_root": 155,
        "chroot": 161,
        "open_tree": 428,
        "move_mount": 429,
        "fsopen": 430,
        "fsconfig": 431,
        "fsmount": 432,
        "fspick": 433,
        "mount_setattr": 442,
        "open_tree_attr": 467,
        "setns": 308,
        "unshare": 272,
        "open_by_handle_at": 304,
        "name_to_handle_at": 303,
        "quotactl": 179,
        "quotactl_fd": 443,
        "fanotify_init": 300,
        "fanotify_mark": 301,
    },
    "the kernel itself": {
        "bpf": 321,
        "userfaultfd": 323,
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "keyctl": 250,
        "add_key": 248,
        "request_key": 249,
        "kexec_load": 246,
        "kexec_file_load": 320,
        "reboot": 169,
        "create_module": 174,
        "init_module": 175,
        "delete_module": 176,
        "query_module": 178,
        "get_kernel_syms": 177,
        "finit_module": 313,
        "swapon": 167,
        "swapoff": 168,
        "acct": 163,
        "syslog": 103,
        "iopl": 172,
        "ioperm": 173,
        "modify_ldt": 154,
        "personality": 135,
        "settimeofday": 164,
        "clock_settime": 227,
        "clock_adjtime": 305,
        "adjtimex": 159,
        "sethostname": 170,
        "setdomainname": 171,
        "vhangup": 153,
        "uselib": 134,
        "ustat": 136,
        "sysfs": 139,
        "_sysctl": 156,
        "nfsservctl": 180,
        "lookup_dcookie": 212,
    },
}
"""Refused everywhere."""

DENIED_WITHOUT_NAMESPACES = {
    "chmod": 90,
    "fchmod": 91,
    "fchmodat": 268,
    "fchmodat2": 452,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "fchownat": 260,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "setxattrat": 463,
    "removexattrat": 466,
    "utime": 132,
    "utimes": 235,
    "futimesat": 261,
    "utimensat": 280,
    "shmget": 29,
    "semget": 64,
    "msgget": 68,
    "mq_open": 240,
    "mq_unlink": 241,
}
"""What Landlock does not hold back on the host's files, and IPC objects that outlive the program."""

PROGRAMS = {"fork": 57, "vfork": 58, "execve": 59, "execveat": 322}

SIGNALS = {
    "kill": 62,
    "tkill": 200,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
}
"""Refused where neither a pid namespace nor Landlock stops signals to others."""


def supported() -> bool:
    return os.uname().machine == "x86_64"


def assemble(
    shared_files: bool = False,
    only_signal_process: int | None = None,
    gpu: bool = False,
) -> bytes:
    """The filter, ready for the kernel or for `bwrap --seccomp`.

    On a shared file system no socket may reach a socket file of the host. CUDA starts only where it
    can make local ones, so with `gpu` those are allowed that must connect first, and none may connect.
    """
    denied = {number for group in DENIED.values() for number in group.values()}
    if shared_files:
        denied |= set(DENIED_WITHOUT_NAMESPACES.values()) | (set() if gpu else {SOCKET})
    if only_signal_process is not None:
        denied |= set(SIGNALS.values())
    program = _head()
    for number in sorted(denied):
        program += _when_called(number, [_give(ERRNO | errno.EPERM)])
    program += _when_called(CLONE3, [_give(ERRNO | errno.ENOSYS)])
    program += _when_called(CLONE, _refuse_bits(_NEW_NAMESPACES))
    if shared_files and gpu:
        program += _when_called(CONNECT, [_give(ERRNO | errno.ENOENT)])
        program += _when_called(SOCKET, _require_connection_socket())
    for number in (SOCKET, SOCKETPAIR):
        program += _when_called(number, _require_argument(AF_UNIX, errno.EACCES))
    if only_signal_process is not None:
        program += _when_called(TGKILL, _require_argument(only_signal_process, errno.EPERM))
    return b"".join([*program, _give(ALLOW)])


def assemble_single_thread(*, programs: bool) -> bytes:
    """Another filter on top of the first: no thread and nothing like one is started any more.

    With `programs`, those may still be: `fork` copies the memory, and while `vfork` lends it out, its owner
    waits.
    """
    program = [*_head(), *_when_called(CLONE3, [_give(ERRNO | errno.ENOSYS)])]
    if programs:
        program += _when_called(CLONE, _refuse_shared_memory())
    else:
        for number in (CLONE, *PROGRAMS.values()):
            program += _when_called(number, [_give(ERRNO | errno.EAGAIN)])
    return b"".join([*program, _give(ALLOW)])


def _refuse_shared_memory() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_ANY_BIT, _CLONE_THREAD, 2, 0),
        _instruction(_JUMP_ANY_BIT, _CLONE_VM, 0, 2),
        _instruction(_JUMP_ANY_BIT, _CLONE_VFORK, 1, 0),
        _give(ERRNO | errno.EAGAIN),
        _give(ALLOW),
    ]


def _head() -> list[bytes]:
    return [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        _give(KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_JUMP_GREATER_EQUAL, X32_BIT, 0, 1),
        _give(ERRNO | errno.ENOSYS),
    ]


def _when_called(number: int, then: list[bytes]) -> list[bytes]:
    """`then` must end in a return: the accumulator may hold something else afterwards."""
    return [_instruction(_JUMP_EQUAL, number, 0, len(then)), *then]


def _refuse_bits(bits: int) -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_ANY_BIT, bits, 0, 1),
        _give(ERRNO | errno.EPERM),
        _give(ALLOW),
    ]


def _require_argument(value: int, code: int) -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_EQUAL, value, 1, 0),
        _give(ERRNO | code),
        _give(ALLOW),
    ]


def _require_connection_socket() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_JUMP_EQUAL, AF_UNIX, 0, 4),
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _instruction(_AND, _TYPE_MASK),
        _instruction(_JUMP_EQUAL, _SOCK_SEQPACKET, 0, 1),
        _give(ALLOW),
        _give(ERRNO | errno.EACCES),
    ]


def _give(value: int) -> bytes:
    return _instruction(_RETURN, value)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
