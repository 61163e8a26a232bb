"""Landlock rules: which files may be read, executed and written, no TCP, no reaching out of the domain.

With namespaces this is a second wall behind the first. Without them it is the wall: then it needs
ABI 3 (kernel 6.2), where truncation is covered too. What it never covers: the metadata of files
(`stat` on any path works), and permissions, owners and times, which the seccomp filter refuses.
Sockets to the outside and signals are covered from ABI 4 and 6 on; the filter refuses them before.
"""

from __future__ import annotations

import os
import stat
import struct

from coding_framework.cuda.sandbox.supervisor import syscalls

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
DEVICE = WRITE_FILE | READ_FILE | IOCTL_DEV | TRUNCATE
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS, _TCP = 1, 2, 3
MINIMUM_VERSION = 3
SIGNALS_VERSION = 6


def handled_rights(version: int) -> int:
    """Every right that this version of the kernel knows."""
    return (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1


def restrict(
    readable: list[str],
    writable: list[str],
    existing: list[str],
    version: int,
) -> None:
    """Confine this process and all it will start to these paths; missing ones are passed over.

    Files that are `existing` (devices, and what is in `/proc`) may be written but not made.
    """
    everything = handled_rights(version)
    attributes = struct.pack("Q", everything)
    if version >= 4:
        attributes += struct.pack("Q", _TCP)
    if version >= SIGNALS_VERSION:
        attributes += struct.pack("Q", _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    ruleset = syscalls.landlock_ruleset(attributes)
    for paths, rights in ((readable, READ), (writable, everything), (existing, DEVICE)):
        for path in paths:
            _allow(ruleset, path, rights & everything)
    syscalls.landlock_restrict(ruleset)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        syscalls.landlock_allow(ruleset, rights, descriptor)
    finally:
        os.close(descriptor)
