"""The system calls that Python has no functions for, through ctypes; each raises OSError.

Numbers are those of x86-64; `seccomp.py` refuses other machines before any of them is used.
"""

from __future__ import annotations

import ctypes
import os
import struct

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 0x1, 0x2, 0x4
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_CLONE, _CAPSET, _PIVOT_ROOT, _MOUNT_SETATTR, _CLOSE_RANGE = 56, 126, 155, 442, 436
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_SECCOMP, _SECCOMP_SET_FILTER, _SECCOMP_ALL_THREADS = 317, 1, 1
_AT_FDCWD, _AT_RECURSIVE, _CAPABILITY_VERSION_3 = -100, 0x8000, 0x20080522
_LANDLOCK_VERSION, _LANDLOCK_PATH_BENEATH = 1, 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _syscall(number: int, what: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words), what)


def clone(namespaces: int) -> int:
    """Like `fork`, but the child is the first process of new namespaces; 0 in the child."""
    return _syscall(_CLONE, "clone", namespaces | 17, 0, 0, 0, 0)  # 17: SIGCHLD


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _checked(result, f"mount {target}")


def bind(source: str, target: str) -> None:
    mount(source, target, "", MS_BIND | MS_REC)


def protect_mount(target: str, attributes: int, recursive: bool = True) -> None:
    """Make a mount read-only and the like; flags are only ever added."""
    request = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    _syscall(
        _MOUNT_SETATTR, f"mount_setattr {target}", _AT_FDCWD, target.encode(), flags, request, len(request)
    )


def detach(target: str) -> None:
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    _syscall(_PIVOT_ROOT, "pivot_root", new.encode(), old.encode())


def prctl(option: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> None:
    words = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    _checked(_libc.prctl(option, *words), f"prctl {option}")


def drop_capabilities() -> None:
    """All of them, for good: also those that an executed file could give back."""
    last = 63
    for capability in range(last + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # beyond the kernel's last one, or not ours to drop (then we hold none)
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _syscall(_CAPSET, "capset", header, bytes(24))


def close_from(first: int) -> None:
    """Close every descriptor from `first` on."""
    _syscall(_CLOSE_RANGE, "close_range", first, 0xFFFFFFFF, 0)


def install_filter(program: bytes, *, all_threads: bool = False) -> None:
    """Hand the kernel a seccomp program; needs no_new_privs."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    flags = _SECCOMP_ALL_THREADS if all_threads else 0
    _syscall(
        _SECCOMP, "seccomp", _SECCOMP_SET_FILTER, flags, ctypes.create_string_buffer(header, len(header))
    )


def landlock_version() -> int:
    """ABI of the running kernel; 0 where it has none."""
    try:
        return _syscall(_LANDLOCK_CREATE_RULESET, "landlock", None, 0, _LANDLOCK_VERSION)
    except OSError:
        return 0


def landlock_ruleset(attributes: bytes) -> int:
    return _syscall(_LANDLOCK_CREATE_RULESET, "landlock_create_ruleset", attributes, len(attributes), 0)


def landlock_allow(ruleset: int, rights: int, descriptor: int) -> None:
    rule = struct.pack("=Qi", rights, descriptor)
    _syscall(_LANDLOCK_ADD_RULE, "landlock_add_rule", ruleset, _LANDLOCK_PATH_BENEATH, rule, 0)


def landlock_restrict(ruleset: int) -> None:
    _syscall(_LANDLOCK_RESTRICT_SELF, "landlock_restrict_self", ruleset, 0)
