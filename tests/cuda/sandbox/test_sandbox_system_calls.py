"""The seccomp filter, tried by a compiled program that asks the kernel directly."""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path

import pytest
from sandbox_bench import Bench

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static void say(const char* name, long result) {
  printf("%s %d\n", name, result < 0 ? errno : 0);
  fflush(stdout);
}
int main(int count, char** words) {
  long pid = atol(words[1]);
  char buffer[64];
  struct iovec here = {buffer, 64}, there = {(void*)0x400000, 64};
  if (!strcmp(words[2], "x32")) { say("x32", syscall(0x40000000 | 39)); return 0; }
  if (!strcmp(words[2], "i386")) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20));
    printf("i386 %ld\n", result);
    return 0;
  }
  say("ptrace", syscall(SYS_ptrace, 16, pid, 0, 0));
  say("process_vm_readv", syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0));
  say("process_vm_writev", syscall(SYS_process_vm_writev, pid, &here, 1, &there, 1, 0));
  say("kcmp", syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
  say("mount", syscall(SYS_mount, "tmpfs", "/tmp", "tmpfs", 0, 0));
  say("umount2", syscall(SYS_umount2, "/tmp", 2));
  say("chroot", syscall(SYS_chroot, "."));
  say("unshare", syscall(SYS_unshare, 0x10000000));
  say("clone_newuser", syscall(SYS_clone, 0x10000000 | 17, 0, 0, 0, 0));
  say("clone3", syscall(435, 0, 0));
  say("setns", syscall(SYS_setns, 0, 0));
  say("bpf", syscall(SYS_bpf, 0, 0, 0));
  say("perf_event_open", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
  say("io_uring_setup", syscall(425, 1, buffer));
  say("keyctl", syscall(SYS_keyctl, 0, -3, 0));
  say("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, buffer, 0));
  say("userfaultfd", syscall(SYS_userfaultfd, 1));
  say("personality", syscall(SYS_personality, 0xffffffff));
  say("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
  say("socket_netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  say("socket_packet", socket(17, SOCK_RAW, 0));
  int pair[2];
  say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  say("getpid", syscall(SYS_getpid));
  return 0;
}
"""
ALLOWED = {"socketpair", "getpid"}
NOT_IN_DOCKERS_PROFILE = {"socket_inet", "socket_netlink", "clone3", "io_uring_setup", "personality", "kcmp"}
"""Docker's profile leaves these open; there is no network for the sockets to reach."""


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to compile the probe with")
    folder: Path = tmp_path_factory.mktemp("probe")
    (folder / "probe.c").write_text(SOURCE)
    command = ["gcc", "-static", "-O1", "-o", str(folder / "probe"), str(folder / "probe.c")]
    subprocess.run(command, check=True)
    return (folder / "probe").read_bytes()


def ask(bench: Bench, probe: bytes, pid: int, what: str = "all") -> dict[str, int]:
    request = bench.request("./probe", str(pid), what, files={"probe": probe})
    lines = bench.sandbox.run(request).stdout.decode().splitlines()
    return {name: int(code) for name, code in (line.split() for line in lines)}


def test_the_kernel_refuses_what_no_kernel_needs(
    bench: Bench, probe: bytes, victim: subprocess.Popen[bytes]
) -> None:
    answers = ask(bench, probe, victim.pid)
    open_here = ALLOWED | (NOT_IN_DOCKERS_PROFILE if bench.kind == "docker" else set())
    assert {name for name, code in answers.items() if code == 0} <= open_here
    assert answers.keys() >= {"ptrace", "getpid"}
    assert answers["getpid"] == answers["socketpair"] == 0


def test_the_filters_answers_are_the_intended_ones(
    bench: Bench, probe: bytes, victim: subprocess.Popen[bytes]
) -> None:
    if bench.kind == "docker":
        pytest.skip("docker: the filter is Docker's own")
    answers = ask(bench, probe, victim.pid)
    assert answers["ptrace"] == answers["clone_newuser"] == answers["mount"] == errno.EPERM
    assert answers["clone3"] == errno.ENOSYS
    assert answers["socket_netlink"] in {errno.EACCES, errno.EPERM}


def test_other_architectures_calls_are_no_way_round(bench: Bench, probe: bytes) -> None:
    if bench.kind == "docker":
        pytest.skip("docker: the filter is Docker's own")
    assert ask(bench, probe, 1, "x32") == {"x32": errno.ENOSYS}
    request = bench.request("./probe", "1", "i386", files={"probe": probe})
    assert bench.sandbox.run(request).ended_by == "signal"
