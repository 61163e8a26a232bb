"""The parts of the supervisor, each by itself; together they are tried by the conformance suite."""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coding_framework.cuda.sandbox.base import SandboxRequest
from coding_framework.cuda.sandbox.bubblewrap import BubblewrapSandbox
from coding_framework.cuda.sandbox.docker import DockerSandbox
from coding_framework.cuda.sandbox.supervisor import landlock, seccomp, tree
from coding_framework.cuda.sandbox.supervisor.cgroup import make_group
from coding_framework.cuda.sandbox.supervisor.filesystem import kernel_entries
from coding_framework.cuda.sandbox.supervisor.plan import Limits, Mount, Plan, read_plan, write_plan
from coding_framework.cuda.sandbox.supervisor.watch import Watch
from coding_framework.cuda.sandbox.view import system_mounts, unique_name

LIMITS = Limits(wall_s=10, cpu_s=10, memory_bytes=2**30, processes=16, file_bytes=2**20)


def plan_for(*command: str, namespaces: str = "user", **changes: object) -> Plan:
    mounts = [*system_mounts(), Mount("tmpfs", "/sandbox", str(2**20)), Mount("tmpfs", "/tmp", str(2**20))]
    mounts += [Mount("device", "/dev/null", "/dev/null")]
    plan = Plan(
        mode="process",
        command=list(command),
        environment={"A": "b"},
        mounts=mounts,
        limits=LIMITS,
        gpu=False,
        namespaces=namespaces,
        name=unique_name(),
        folder="",
        file_sizes={},
    )
    return plan._replace(**changes)


# ---------------------------------------------------------------- the plan


def test_a_plan_arrives_as_it_was_sent_with_its_files() -> None:
    stream = io.BytesIO()
    write_plan(stream, plan_for("true"), {"a": b"\0\n", "b/c": b""})
    stream.seek(0)
    plan, files = read_plan(stream)
    assert files == {"a": b"\0\n", "b/c": b""}
    assert plan.mounts == plan_for("true").mounts
    assert plan.limits == LIMITS


@pytest.mark.parametrize("kept", [10, -1])
def test_a_plan_that_breaks_off_is_not_carried_out(kept: int) -> None:
    stream = io.BytesIO()
    write_plan(stream, plan_for("true"), {"a": b"content"})
    with pytest.raises(EOFError):
        read_plan(io.BytesIO(stream.getvalue()[:kept]))


# ---------------------------------------------------------------- the root


def test_a_process_that_ends_while_proc_is_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = kernel_entries("/proc")
    listed = [entry.name for entry in Path("/proc").iterdir()]
    with subprocess.Popen(["sleep", "60"]) as process:
        listed.append(str(process.pid))
        process.kill()
    assert not Path(f"/proc/{process.pid}").exists()
    monkeypatch.setattr(os, "listdir", lambda _: listed)
    assert kernel_entries("/proc") == seen
    assert "/proc/sys" in seen
    assert not {"/proc/self", "/proc/mounts", "/proc/version"} & set(seen)


# ---------------------------------------------------------------- the filter


def verdict(
    program: bytes, number: int, argument: int = 0, architecture: int = 0xC000003E, second: int = 0
) -> int:
    """What the kernel would answer: the filter's own small machine, run here."""
    data = struct.pack("IIQQQ", number, architecture, 0, argument, second)
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}
            at += if_true if holds[code] else if_false


REFUSED = seccomp.ERRNO | errno.EPERM


@pytest.mark.parametrize("group", seccomp.DENIED)
def test_the_filter_refuses_everything_on_its_list(group: str) -> None:
    program = seccomp.assemble()
    assert {verdict(program, number) for number in seccomp.DENIED[group].values()} == {REFUSED}


def test_the_filter_lets_ordinary_calls_through() -> None:
    program = seccomp.assemble()
    for number in (0, 1, 9, 16, 39, 57, 59, 202, 231):  # read, write, mmap, ioctl, getpid, fork, execve, ...
        assert verdict(program, number) == seccomp.ALLOW


def test_threads_are_allowed_and_namespaces_are_not() -> None:
    program = seccomp.assemble()
    assert verdict(program, seccomp.CLONE, 0x3D0F00) == seccomp.ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(program, seccomp.CLONE, flag | 17) == REFUSED
    assert verdict(program, seccomp.CLONE3) == seccomp.ERRNO | errno.ENOSYS


def test_only_local_sockets_are_allowed_and_none_on_a_shared_file_system() -> None:
    assert verdict(seccomp.assemble(), seccomp.SOCKET, 1) == seccomp.ALLOW
    for family in (2, 10, 16, 17, 38, 40):
        assert verdict(seccomp.assemble(), seccomp.SOCKET, family) == seccomp.ERRNO | errno.EACCES
    alone = seccomp.assemble(shared_files=True)
    assert verdict(alone, seccomp.SOCKET, 1) == REFUSED
    assert verdict(alone, seccomp.SOCKETPAIR, 1) == seccomp.ALLOW
    assert verdict(alone, seccomp.DENIED_WITHOUT_NAMESPACES["fchmodat"]) == REFUSED


def test_on_a_shared_file_system_cuda_may_make_sockets_that_can_reach_nobody() -> None:
    program = seccomp.assemble(shared_files=True, gpu=True)
    seqpacket, stream, datagram, close_on_exec = 5, 1, 2, 0o2000000
    assert verdict(program, seccomp.SOCKET, 1, second=seqpacket | close_on_exec) == seccomp.ALLOW
    for family, kind in ((1, stream), (1, datagram), (2, seqpacket), (16, seqpacket)):
        assert verdict(program, seccomp.SOCKET, family, second=kind) == seccomp.ERRNO | errno.EACCES
    assert verdict(program, seccomp.CONNECT) == seccomp.ERRNO | errno.ENOENT
    assert verdict(seccomp.assemble(gpu=True), seccomp.CONNECT) == seccomp.ALLOW


def test_other_architectures_are_killed_and_x32_is_unknown() -> None:
    program = seccomp.assemble()
    assert verdict(program, 39, architecture=0x40000003) == seccomp.KILL
    assert verdict(program, seccomp.X32_BIT | 39) == seccomp.ERRNO | errno.ENOSYS


def test_without_landlocks_help_a_program_may_signal_itself_alone() -> None:
    program = seccomp.assemble(only_signal_process=123)
    assert verdict(program, seccomp.SIGNALS["kill"], 123) == REFUSED
    assert verdict(program, seccomp.TGKILL, 123) == seccomp.ALLOW
    assert verdict(program, seccomp.TGKILL, 124) == REFUSED
    assert verdict(seccomp.assemble(), seccomp.SIGNALS["kill"]) == seccomp.ALLOW


def test_landlock_is_asked_for_all_that_its_version_knows() -> None:
    assert [landlock.handled_rights(version).bit_length() for version in (1, 2, 3, 4, 5, 6, 7)] == [
        13,
        14,
        15,
        15,
        16,
        16,
        16,
    ]


# ---------------------------------------------------------------- control groups


def test_a_group_of_version_2_is_made_where_controllers_are_handed_on(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory pids")
    group = make_group("new", 123, 7, "0::/own\n", f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert group is not None
    assert (group.version, group.memory) == (2, str(tmp_path / "new"))
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert written == {"pids.max": "7", "memory.max": "123", "memory.swap.max": "0"}
    group.add(42)
    group.kill()
    assert (tmp_path / "new/cgroup.procs").read_text() == "42"
    assert (tmp_path / "new/cgroup.kill").read_text() == "1"
    (tmp_path / "new/memory.events").write_text("oom 3\noom_kill 0\n")
    assert not group.hit_memory_limit()
    (tmp_path / "new/memory.events").write_text("oom 3\noom_kill 2\n")
    assert group.hit_memory_limit()
    group.remove(patience_s=0.02)


def test_a_group_of_version_1_has_a_folder_in_each_controller(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / controller / "own").mkdir(parents=True)
    mounts = "".join(f"cgroup {tmp_path}/{name} cgroup rw,{name} 0 0\n" for name in ("memory", "pids"))
    group = make_group("new", 123, 7, "4:memory:/own\n3:pids:/gone\n0::/\n", mounts)
    assert group is not None
    assert (group.memory, group.pids) == (str(tmp_path / "memory/own/new"), str(tmp_path / "pids/new"))
    assert (tmp_path / "memory/own/new/memory.limit_in_bytes").read_text() == "123"
    assert (tmp_path / "pids/new/pids.max").read_text() == "7"
    assert not group.hit_memory_limit()


@pytest.mark.parametrize("mounts", ["", "cgroup2 /proc cgroup2 rw 0 0\n", "tmpfs / tmpfs rw 0 0\n"])
def test_where_no_group_can_be_made_there_is_none(mounts: str) -> None:
    assert make_group("new", 123, 7, "0::/\n", mounts or "none /none none rw 0 0\n") is None


def test_a_real_group_is_made_and_removed_where_we_may() -> None:
    group = make_group(unique_name(), 2**26, 5)
    if group is None:
        pytest.skip("this user cannot make control groups here")
    sleeper = subprocess.Popen(["sleep", "30"])
    group.add(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    group.remove()
    assert not Path(group.memory).exists()
    assert not Path(group.pids).exists()


# ---------------------------------------------------------------- trees and watching

FAMILY = """
import os, time
for _ in range(3):
    if os.fork() == 0: break
print('x', flush=True)
time.sleep(60)
"""


@pytest.fixture
def family() -> subprocess.Popen[bytes]:
    """A process with three children."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", FAMILY], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(4):
        process.stdout.readline()
    yield process
    tree.kill_descendants(process.pid, patience_s=0.1)
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_tree_is_counted_and_ended(family: subprocess.Popen[bytes]) -> None:
    below = tree.descendants(family.pid)
    threads, resident = tree.usage(below)
    assert (len(below), threads) == (3, 3)
    assert resident > tree.proportional_bytes(below) > 0
    for pid in below:
        os.kill(pid, 9)
    deadline = time.monotonic() + 30
    while tree.usage(below)[1] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert tree.usage(below)[1] == 0


def watch(pid: int, lifeline: int, folder: str = "", **limits: float) -> str:
    return Watch(pid, LIMITS._replace(**limits), lifeline, count_tree=True, folder=folder).wait()


def test_a_watch_sees_every_limit(family: subprocess.Popen[bytes], tmp_path: Path) -> None:
    lifeline, other_end = os.pipe()
    (tmp_path / "big").write_bytes(b"x" * 2**21)
    try:
        assert watch(family.pid, lifeline, wall_s=0.1) == "timeout"
        assert watch(family.pid, lifeline, processes=1) == "processes"
        assert watch(family.pid, lifeline, memory_bytes=2**20) == "memory"
        assert watch(family.pid, lifeline, folder=str(tmp_path)) == "files"
        os.close(other_end)
        assert watch(family.pid, lifeline) == "killed"
    finally:
        os.close(lifeline)


# ---------------------------------------------------------------- all of it, as a process of its own


def supervise(plan: Plan, files: dict[str, bytes], word: bytes = b"") -> tuple[dict[str, object], bytes]:
    """As `held.py` does it, but with the whole interpreter, so that its coverage is seen."""
    pipes = [os.pipe() for _ in range(3)]
    inside = (pipes[0][0], pipes[1][0], pipes[2][1])
    process = subprocess.Popen(
        [sys.executable, "-m", "coding_framework.cuda.sandbox.supervisor.main", *map(str, inside)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        pass_fds=inside,
    )
    for descriptor in inside:
        os.close(descriptor)
    with os.fdopen(pipes[0][1], "wb") as stream:
        write_plan(stream, plan, files)
    os.write(pipes[1][1], word)
    output, _ = process.communicate(timeout=60)
    os.close(pipes[1][1])
    with os.fdopen(pipes[2][0], "rb") as stream:
        return json.loads(stream.read()), output


@pytest.mark.parametrize("namespaces", ["user", "none"])
def test_the_supervisor_runs_a_program_and_reports(namespaces: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "work") if namespaces == "none" else ""
    plan = plan_for("sh", "-c", "cat given; exit 4", namespaces=namespaces, folder=folder)
    report, output = supervise(plan, {"given": b"content"})
    if report["fault"] and namespaces == "user":
        pytest.skip(f"no user namespaces here: {report['fault']}")
    assert report == {"ended_by": "exit", "exit_code": 4, "signal": None, "fault": ""}
    assert output == b"content"
    assert not (tmp_path / "work").exists()


def test_the_supervisor_ends_a_program_on_a_word(tmp_path: Path) -> None:
    plan = plan_for("sleep", "60", namespaces="none", folder=str(tmp_path / "work"))
    assert supervise(plan, {}, b"x")[0]["ended_by"] == "killed"


def test_a_sandbox_that_cannot_be_built_is_a_fault_and_nothing_runs(tmp_path: Path) -> None:
    plan = plan_for("sh", "-c", "echo ran", mounts=[Mount("readonly", "/x", "/no/such/place")])
    report, output = supervise(plan, {})
    assert "No such file" in str(report["fault"]) or "Operation not permitted" in str(report["fault"])
    assert output == b""


@pytest.mark.parametrize(
    "tool", [BubblewrapSandbox(), pytest.param(DockerSandbox(), marks=pytest.mark.docker)]
)
def test_the_supervisor_drives_a_tool_in_the_same_way(tool: BubblewrapSandbox | DockerSandbox) -> None:
    if tool.why_unavailable() is not None:
        pytest.skip(f"{tool.name}: {tool.why_unavailable()}")
    request = SandboxRequest(command=("sh", "-c", "cat given; exit 4"), files={"given": b"content"})
    report, output = supervise(tool._plan(request), request.files)
    assert report == {"ended_by": "exit", "exit_code": 4, "signal": None, "fault": ""}
    assert output == b"content"
