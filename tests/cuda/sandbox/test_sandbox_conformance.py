"""What every sandbox must hold back, tried with real programs. All implementations pass all of it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandbox_bench import MIB, Bench, left_behind, processes_with

from coding_framework.cuda.sandbox.base import SandboxRequest
from coding_framework.errors import UserError

# ---------------------------------------------------------------- ordinary programs


def test_an_exit_code_comes_back(bench: Bench) -> None:
    result = bench.python("raise SystemExit(7)")
    assert (result.ended_by, result.exit_code, result.signal) == ("exit", 7, None)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_signal_comes_back(bench: Bench, number: signal.Signals) -> None:
    result = bench.python(f"import os; os.kill(os.getpid(), {int(number)})")
    assert (result.ended_by, result.exit_code, result.signal) == ("signal", None, number)


def test_input_and_both_outputs_pass_through(bench: Bench) -> None:
    code = "import sys; text = sys.stdin.read(); print(text.upper(), end=''); print('aside', file=sys.stderr)"
    result = bench.python(code, stdin=b"hello\n" * 50_000)
    assert result.stdout == b"HELLO\n" * 50_000
    assert result.stderr == b"aside\n"


def test_a_kept_program_answers_line_by_line_until_it_is_closed(bench: Bench) -> None:
    code = "import sys\nfor line in sys.stdin: print(int(line) * 2, flush=True)"
    held = bench.start(code)
    for number in (4, 21):
        held.stdin.write(f"{number}\n".encode())
        held.stdin.flush()
        assert held.stdout.readline() == f"{number * 2}\n".encode()
    assert held.is_running()
    assert held.close().ended_by == "killed"
    assert not held.is_running()
    assert held.close() is held.close()


def test_a_kept_program_that_ends_by_itself_says_so(bench: Bench) -> None:
    held = bench.start("import sys; print(sys.stdin.read(3)); sys.exit(5)")
    held.stdin.write(b"bye")
    held.stdin.close()
    assert held.stdout.read() == b"bye\n"
    deadline = time.monotonic() + 30
    while held.is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held.close().exit_code == 5


def test_a_frozen_program_and_all_that_it_started_stand_still(bench: Bench) -> None:
    code = (
        "import os, signal, time\n"
        "word = b'.' if os.fork() else b','\n"
        "signal.signal(signal.SIGALRM, lambda *_: os.write(1, b'!'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
        "while True:\n    os.write(1, word)\n    time.sleep(0.001)"
    )
    held = bench.start(code)
    os.set_blocking(held.stdout.fileno(), False)

    def said(seconds: float) -> set[int]:
        heard: set[int] = set()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            heard |= set(held.stdout.read() or b"")
            time.sleep(0.005)
        return heard

    deadline = time.monotonic() + 30
    heard: set[int] = set()
    while heard != set(b".,!") and time.monotonic() < deadline:
        heard |= said(0.05)
    assert heard == set(b".,!")
    for _ in range(3):
        held.freeze()
        said(0.3)  # what was on its way
        assert not said(0.3)
        held.thaw()
        assert said(0.5) == set(b".,!")
    assert len(held.processes()) >= 2
    assert held.close().ended_by == "killed"


def test_a_program_that_is_not_there_ends_with_127(bench: Bench) -> None:
    result = bench.sandbox.run(bench.request("no-such-program-anywhere"))
    assert result.exit_code == 127
    assert b"no-such-program-anywhere" in result.stderr


def test_files_are_in_the_working_folder_which_can_be_written(bench: Bench) -> None:
    code = "open('new', 'w').write(open('a/b.txt').read() * 2); print(open('new').read())"
    assert bench.python(code, files={"a/b.txt": b"xy"}).stdout == b"xyxy\n"


def test_each_program_has_a_working_folder_of_its_own(bench: Bench) -> None:
    code = "import os; print(os.listdir('.')); open('mark', 'w')"
    assert [bench.python(code).stdout for _ in range(2)] == [b"[]\n"] * 2


def test_what_is_named_readable_is_read_at_its_own_path_but_never_written(
    bench: Bench, tmp_path: Path
) -> None:
    given = tmp_path / "given, with: odd name"
    given.mkdir()
    (given / "data").write_text("given")
    code = """
import sys
path = sys.argv[1] + '/data'
print(open(path).read())
for mode in ('a', 'w', 'r+'):
    try:
        open(path, mode).write('changed')
    except OSError:
        print('refused')
"""
    result = bench.python(code, str(given), readable=(given,))
    assert result.stdout.split() == [b"given", b"refused", b"refused", b"refused"]
    assert (given / "data").read_text() == "given"


def test_a_file_that_is_named_writable_is_written_in_place_and_nothing_beside_it(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "shared").write_bytes(b"before")
    code = """
import os, sys
with open(sys.argv[1], 'r+b') as stream:
    print(stream.read())
    stream.seek(0)
    stream.write(b'after!')
for action in (lambda: open(sys.argv[1] + '2', 'w'), lambda: os.unlink(sys.argv[1])):
    try:
        action()
        print('DONE')
    except OSError: pass
"""
    result = bench.python(code, str(tmp_path / "shared"), writable=(tmp_path / "shared",))
    assert (tmp_path / "shared").read_bytes() == b"after!"
    assert result.stdout.startswith(b"b'before'"), result
    assert [path.name for path in tmp_path.iterdir()] == ["shared"]
    with pytest.raises(UserError, match="not an existing file"):
        bench.python("", writable=(tmp_path,))


def test_a_readable_path_that_does_not_exist_is_the_requests_fault(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        bench.python("", readable=(tmp_path / "missing",))


def test_many_run_at_the_same_time(bench: Bench) -> None:
    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda at: bench.python(f"print({at})").stdout, range(6)))
    assert results == [f"{at}\n".encode() for at in range(6)]


# ---------------------------------------------------------------- nothing is inherited


def test_no_environment_is_inherited(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGES_SECRET", "do-not-tell")
    result = bench.python("import os; print(dict(os.environ))", environment={"GIVEN": "a b=c"})
    assert b"do-not-tell" not in result.stdout
    assert b"'GIVEN': 'a b=c'" in result.stdout


def test_no_descriptor_is_inherited(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "open").write_text("x")
    descriptor = os.open(tmp_path / "open", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    code = """
import os
found = []
for descriptor in range(3, 1024):
    try:
        os.fstat(descriptor)
        found.append(descriptor)
    except OSError:
        pass
print(found)
"""
    try:
        assert bench.python(code).stdout == b"[]\n"
    finally:
        os.close(descriptor)


def test_it_has_no_capabilities_and_can_gain_no_privileges(bench: Bench) -> None:
    lines = bench.python("print(open('/proc/self/status').read())").stdout.decode().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    assert [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")] == [0, 0, 0, 0]
    if os.getuid() == 0:  # whoever holds none cannot drop the bounding set, nor use it
        assert int(status["CapBnd"], 16) == 0
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


# ---------------------------------------------------------------- using things up


def test_an_endless_loop_is_ended_by_the_clock(bench: Bench) -> None:
    result = bench.python("while True: pass", limits={"wall_s": 1.5})
    assert result.ended_by == "timeout"
    assert result.duration_s < 10


def test_an_endless_sleep_that_ignores_signals_is_ended_by_the_clock(bench: Bench) -> None:
    code = """
import signal, time
for name in ('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGXCPU'): signal.signal(getattr(signal, name), signal.SIG_IGN)
while True: time.sleep(1000)
"""
    assert bench.python(code, limits={"wall_s": 1.5}).ended_by == "timeout"


def test_processor_time_runs_out(bench: Bench) -> None:
    result = bench.python("while True: pass", limits={"wall_s": 30, "cpu_s": 1})
    assert result.ended_by == "timeout"
    assert result.duration_s < 20


def test_a_kept_program_is_ended_by_the_clock_too(bench: Bench) -> None:
    held = bench.start("import time; time.sleep(1000)", limits={"wall_s": 1.5})
    assert held.stdout.read() == b""
    assert held.close().ended_by == "timeout"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output_is_cut_off_and_ended(bench: Bench, stream: str) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 4096)"
    result = bench.python(code, limits={"output_bytes": 100_000})
    assert result.ended_by == "output"
    assert len(result.stdout) + len(result.stderr) == 100_000
    assert result.duration_s < 20


def test_a_fork_bomb_goes_off_within_its_limit(bench: Bench) -> None:
    code = """
import os, time
made = 0
try:
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
        time.sleep(0.002)
except OSError:
    pass
print(made)
"""
    result = bench.python(code, limits={"processes": 20, "wall_s": 20})
    if result.ended_by == "exit":
        assert 5 < int(result.stdout) <= 20
    else:
        assert result.ended_by == "processes"


def test_a_fork_bomb_without_end_is_ended_and_leaves_nothing(bench: Bench) -> None:
    token = f"bomb-{os.getpid()}-{time.monotonic_ns()}"
    code = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
    result = bench.python(code, token, limits={"processes": 20, "wall_s": 2})
    assert result.ended_by in {"timeout", "processes"}
    assert processes_with(token) == []


def test_too_many_threads_are_refused(bench: Bench) -> None:
    code = """
import _thread, time
made = 0
try:
    for _ in range(400):
        _thread.start_new_thread(time.sleep, (30,))
        made += 1
        time.sleep(0.002)
except RuntimeError:
    pass
print(made, flush=True)
import os; os._exit(0)
"""
    result = bench.python(code, limits={"processes": 20, "wall_s": 20})
    assert result.ended_by == "processes" or int(result.stdout) <= 20


def test_a_memory_bomb_does_not_get_its_memory(bench: Bench) -> None:
    code = """
held = []
for _ in range(60):
    held.append(b'x' * (20 * 2**20))
print('survived', flush=True)
import time; time.sleep(1)
"""
    result = bench.python(code, limits={"memory_bytes": 200 * MIB})
    assert b"survived" not in result.stdout
    assert result.ended_by in {"memory", "exit", "signal"}
    assert result.exit_code != 0


def test_memory_counts_for_all_processes_together(bench: Bench) -> None:
    code = """
import os, time
readers = []
for _ in range(6):
    r, w = os.pipe()
    if os.fork() == 0:
        held = b'x' * (100 * 2**20)
        os.write(w, b'!')
        time.sleep(1)
        os.write(w, b'!')
        os._exit(0)
    os.close(w)
    readers.append(r)
print('alive', sum(len(os.read(r, 1)) + len(os.read(r, 1)) == 2 for r in readers))
"""
    result = bench.python(code, limits={"memory_bytes": 300 * MIB})
    assert b"alive 6" not in result.stdout
    assert result.ended_by in {"memory", "exit"}


def test_a_file_cannot_grow_beyond_its_limit(bench: Bench) -> None:
    code = """
try:
    with open('big', 'wb', buffering=0) as stream:
        for _ in range(64): stream.write(b'x' * 2**20)
    print('survived')
except OSError as error:
    print(error)
"""
    result = bench.python(code, limits={"file_bytes": 8 * MIB})
    assert b"survived" not in result.stdout


@pytest.mark.parametrize("folder", [".", "/tmp", "/dev/shm"])
def test_the_disk_cannot_be_filled_with_many_files(bench: Bench, folder: str) -> None:
    code = """
import sys, time
try:
    for at in range(300):
        with open(f'{sys.argv[1]}/part{at}', 'wb', buffering=0) as stream:
            while stream.write(b'x' * 2**18) < 2**18: pass
        time.sleep(0.002)
    print('survived')
except OSError as error:
    print(error)
"""
    result = bench.python(code, folder, limits={"file_bytes": 8 * MIB})
    assert b"survived" not in result.stdout
    assert result.ended_by in {"exit", "files"}


# ---------------------------------------------------------------- the host's files


def test_nothing_outside_can_be_written(bench: Bench, tmp_path: Path, secret_at_home: Path) -> None:
    marker = f"written-from-inside-{os.getpid()}"
    (tmp_path / "file").write_text("as it was")
    code = """
import os, sys
file, marker, home = sys.argv[1:]
def attempt(action, *arguments):
    try:
        action(*arguments)
        print('DONE', action.__name__, arguments)
    except OSError:
        pass
for path in (file, home, '/etc/passwd', '/etc/ld.so.cache', '/usr/bin/env', '/proc/sys/kernel/core_pattern'):
    attempt(open, path, 'a')
    attempt(os.truncate, path, 0)
    attempt(os.chmod, path, 0o777)
    attempt(os.unlink, path)
    attempt(os.rename, path, path + '.moved')
for folder in ('/', '/usr', '/usr/lib', '/etc', '/proc', '/var/tmp', '/run', '/home', '/root',
               os.path.dirname(file), os.path.dirname(home)):
    attempt(open, folder + '/' + marker, 'w')
    attempt(os.mkdir, folder + '/' + marker)
    attempt(os.symlink, file, folder + '/' + marker)
print('end')
"""
    result = bench.python(code, str(tmp_path / "file"), marker, str(secret_at_home))
    assert result.stdout == b"end\n"
    assert (tmp_path / "file").read_text() == "as it was"
    assert secret_at_home.read_text() == "the-secret-at-home"
    places = ("/", "/usr", "/usr/lib", "/etc", "/dev", "/var/tmp", "/run", "/home", "/root")
    assert not any(os.path.lexists(f"{place}/{marker}") for place in (*places, tmp_path))


def test_the_hosts_private_files_cannot_be_read(bench: Bench, tmp_path: Path, secret_at_home: Path) -> None:
    (tmp_path / "secret").write_text("the-secret-in-tmp")
    code = """
import os, sys
for path in sys.argv[1:]:
    try: print('READ', path, open(path, 'rb').read())
    except OSError: pass
    try: print('LISTED', os.listdir(os.path.dirname(path)))
    except OSError: pass
"""
    paths = (str(secret_at_home), str(tmp_path / "secret"), "/root/.bashrc", "/var/log/dpkg.log")
    result = bench.python(code, *paths)
    assert b"the-secret" not in result.stdout
    assert secret_at_home.name.encode() not in result.stdout
    if bench.kind != "docker":  # an image has a root folder of its own, and its own log
        assert result.stdout == b""


def test_the_hosts_passwords_cannot_be_read(bench: Bench) -> None:
    code = "import sys; sys.stdout.write(open('/etc/shadow').read())"
    result = bench.python(code)
    try:
        hosts = Path("/etc/shadow").read_bytes()
    except PermissionError:
        hosts = b"\0"
    assert result.stdout != hosts
    if bench.kind != "docker":  # there it is the image's own
        assert result.stdout == b""


def test_other_processes_cannot_be_read(bench: Bench, victim: subprocess.Popen[bytes]) -> None:
    code = """
import os, sys
for pid in (*sys.argv[1:], str(os.getppid())):
    if pid in ('0', '1'): continue  # the sandbox's own first process
    for name in ('environ', 'mem', 'maps', 'cmdline', 'root/etc/shadow', 'cwd/.', 'fd/0'):
        try:
            with open(f'/proc/{pid}/{name}', 'rb') as stream: print(pid, name, stream.read(100))
        except (OSError, IsADirectoryError): pass
"""
    result = bench.python(code, str(victim.pid), str(os.getpid()))
    assert result.stdout == b""


# ---------------------------------------------------------------- the network


@contextlib.contextmanager
def listening(family: int, address: object):  # type: ignore[no-untyped-def]
    """A socket of the host, and what was said to it."""
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(address)  # type: ignore[arg-type]
    server.listen()
    heard: list[bytes] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                heard.append(b"somebody")
                connection.close()

    threading.Thread(target=accept, daemon=True).start()
    yield server, heard
    server.shutdown(socket.SHUT_RDWR)
    server.close()


CONNECT = """
import os
try: import _socket as socket
except ImportError: import socket
import sys
family, address = eval(sys.argv[1])
try:
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.connect(address)
    print('CONNECTED')
except OSError as error:
    print('refused', error)
"""


def test_a_port_of_the_host_cannot_be_reached(bench: Bench) -> None:
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as (server, heard):
        result = bench.python(CONNECT, repr((int(socket.AF_INET), server.getsockname())))
        assert result.stdout.startswith(b"refused"), result
        assert heard == []


def test_an_abstract_socket_of_the_host_cannot_be_reached(bench: Bench) -> None:
    name = f"\0coding-framework-{os.getpid()}-{time.monotonic_ns()}"
    with listening(socket.AF_UNIX, name) as (_, heard):
        result = bench.python(CONNECT, repr((int(socket.AF_UNIX), name)))
        assert result.stdout.startswith(b"refused"), result
        assert heard == []


def test_a_socket_file_of_the_host_cannot_be_reached(bench: Bench, tmp_path: Path) -> None:
    name = str(tmp_path / "s")
    with listening(socket.AF_UNIX, name) as (_, heard):
        result = bench.python(CONNECT, repr((int(socket.AF_UNIX), name)))
        assert result.stdout.startswith(b"refused"), result
        assert heard == []


def test_it_sees_no_network_interface_but_its_own_loopback(bench: Bench) -> None:
    code = """
try: import _socket as socket
except ImportError: import socket
try: print([name for _, name in socket.if_nameindex()])
except OSError: print([])
"""
    names = set(eval(bench.python(code).stdout))
    hosts = {name for _, name in socket.if_nameindex()}
    assert not {name for name in names & hosts if name.startswith(("e", "w", "docker", "br"))}


# ---------------------------------------------------------------- other processes

ORPHANS = """
import os, sys, time
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if os.fork() == 0: os.setsid()
            print('orphan', flush=True)
            for stream in (0, 1, 2): os.close(stream)
            time.sleep(600)
        os._exit(0)
    os.wait()
"""


def test_orphans_in_sessions_of_their_own_die_with_the_program(bench: Bench) -> None:
    token = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    result = bench.python(ORPHANS + "time.sleep(0.3)", token)
    assert result.stdout.count(b"orphan") >= 2
    assert result.exit_code == 0
    assert processes_with(token) == []


def test_orphans_die_when_a_kept_program_is_closed(bench: Bench) -> None:
    token = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    held = bench.start(ORPHANS + "time.sleep(600)", token)
    for _ in range(4):
        assert held.stdout.readline() == b"orphan\n"
    assert len(processes_with(token)) >= 4
    held.close()
    assert processes_with(token) == []


JUDGE = """
import sys
from sandbox_bench import Bench
from coding_framework.cuda.sandbox.bubblewrap import BubblewrapSandbox
from coding_framework.cuda.sandbox.docker import DockerSandbox
from coding_framework.cuda.sandbox.process import ProcessSandbox
kind, isolation, code, token = sys.argv[1:5]
makers = {"docker": DockerSandbox, "bubblewrap": BubblewrapSandbox}
sandbox = makers.get(kind, lambda: ProcessSandbox(isolation))()
held = Bench(sandbox).start(code, token, limits={"wall_s": 300}, files={"a": b"b"})
for _ in range(4): held.stdout.readline()
print("ready", flush=True)
held.stdout.readline()
"""


def test_everything_dies_when_the_judge_is_killed(bench: Bench) -> None:
    token = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    isolation = getattr(bench.sandbox, "isolation", "")
    folders = os.pathsep.join(path for path in sys.path if path)
    judge = subprocess.Popen(
        [sys.executable, "-c", JUDGE, bench.kind, isolation, ORPHANS + "time.sleep(600)", token],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": folders},
    )
    assert judge.stdout is not None
    assert judge.stdout.readline() == b"ready\n"
    assert len(processes_with(token)) >= 4
    judge.kill()
    judge.wait()
    judge.stdout.close()
    deadline = time.monotonic() + 30
    while processes_with(token) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_with(token) == []
    assert left_behind(f"coding-framework-sandbox-{judge.pid}-", patience_s=30) == []


def test_other_processes_cannot_be_signalled(bench: Bench, victim: subprocess.Popen[bytes]) -> None:
    code = """
import os, signal, sys
for pid in (int(sys.argv[1]), int(sys.argv[2]), -1):
    for number in (signal.SIGURG, 0):
        try:
            os.kill(pid, number)
            print('SENT', pid)
        except OSError: pass
"""
    result = bench.python(code, str(victim.pid), str(os.getpid()))
    assert b"SENT " + str(victim.pid).encode() not in result.stdout
    assert b"SENT " + str(os.getpid()).encode() not in result.stdout
    # To signal everybody (-1) counts as done even where nobody may be signalled: ask the victim.
    victim.send_signal(signal.SIGTERM)
    assert victim.stdout is not None
    assert victim.stdout.read() == b"ready\n"


def test_it_cannot_kill_its_own_keeper(bench: Bench) -> None:
    """The parent that it sees is ours: killing it must neither work nor free the program."""
    code = """
import os, signal, time
try: os.kill(os.getppid(), signal.SIGKILL)
except OSError: pass
time.sleep(0.3)
print('still held', flush=True)
"""
    result = bench.python(code)
    assert (result.ended_by, result.stdout) in {("exit", b"still held\n"), ("signal", b"")}


def test_a_request_cannot_name_files_outside_its_folder() -> None:
    for name in ("../up", "/absolute", "", "a/../../b"):
        with pytest.raises(ValueError, match="below the working folder"):
            SandboxRequest(command=("x",), files={name: b""})
