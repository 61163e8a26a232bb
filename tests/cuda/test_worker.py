"""A worker keeps its limits, survives its own deaths and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coding_framework.cuda import worker_process
from coding_framework.cuda.worker import Worker
from coding_framework.errors import (
    WorkerDied,
    WorkerNotStarted,
    WorkerOutOfMemory,
    WorkerRaised,
    WorkerTimeout,
)
from tests_support import is_alive, wait_until_dead

PROBES = "coding_framework.cuda.worker_probes:"
SOURCE_ROOT = Path(worker_process.__file__).parents[2]


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(memory_limit_bytes=2**30, name="probe") as started:
        yield started


def test_a_value_goes_there_and_back(worker: Worker) -> None:
    value = {"numbers": (1, 2.5), "text": "ü", "none": None}
    assert worker.call(PROBES + "echo", value, timeout_s=10) == value


def test_a_worker_loads_nothing_that_it_is_not_asked_for(worker: Worker) -> None:
    """That is why one starts in 0.04 s."""
    loaded = worker.call(PROBES + "loaded_modules", timeout_s=10)
    assert not {"numpy", "torch", "pydantic", "structlog"} & set(loaded)


def test_calls_share_one_process(worker: Worker) -> None:
    first = worker.call(PROBES + "process_id", timeout_s=10)
    assert first != os.getpid()
    assert worker.call(PROBES + "process_id", timeout_s=10) == first


def test_large_arrays_cross_unharmed_and_writable(worker: Worker) -> None:
    arrays = {"a": np.arange(5_000_000, dtype=np.float32), "b": np.zeros((3, 0), np.int64)}
    returned = worker.call(PROBES + "echo", arrays, timeout_s=30)
    assert np.array_equal(returned["a"], arrays["a"])
    assert returned["b"].shape == (3, 0)
    returned["a"][0] = 7
    assert arrays["a"][0] == 0


def test_a_call_that_takes_too_long_is_killed_with_all_it_started(worker: Worker, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    own_pid = worker.call(PROBES + "process_id", timeout_s=10)
    with pytest.raises(WorkerTimeout, match="spawn_and_sleep took over 1 s"):
        worker.call(PROBES + "spawn_and_sleep", str(pid_file), 60.0, timeout_s=1)
    assert wait_until_dead(own_pid)
    assert wait_until_dead(int(pid_file.read_text()))


def test_a_timeout_costs_one_call_only(worker: Worker) -> None:
    first = worker.call(PROBES + "process_id", timeout_s=10)
    with pytest.raises(WorkerTimeout):
        worker.call(PROBES + "sleep", 30.0, timeout_s=0.2)
    assert worker.call(PROBES + "process_id", timeout_s=10) != first


def test_a_worker_that_does_not_read_cannot_block_its_parent(worker: Worker) -> None:
    pid = worker.call(PROBES + "process_id", timeout_s=10)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(WorkerTimeout):
        worker.call(PROBES + "echo", np.zeros(4_000_000), timeout_s=0.3)
    assert wait_until_dead(pid)


def test_more_memory_than_allowed_is_named_as_such(worker: Worker) -> None:
    with pytest.raises(WorkerOutOfMemory, match=r"memory limit of 1\.0 GiB"):
        worker.call(PROBES + "allocate", 2 * 2**30, timeout_s=10)
    assert worker.call(PROBES + "allocate", 1000, timeout_s=10) == 1000


def test_a_worker_without_a_memory_limit_may_reserve_what_it_likes() -> None:
    with Worker(memory_limit_bytes=None) as free:
        assert free.call(PROBES + "allocate", 2**31, timeout_s=20) == 2**31


def test_arguments_that_do_not_fit_are_a_memory_fault() -> None:
    with Worker(memory_limit_bytes=2**28) as small:
        with pytest.raises(WorkerOutOfMemory):
            small.call(PROBES + "echo", np.zeros(60_000_000), timeout_s=20)
        assert small.call(PROBES + "echo", 1, timeout_s=10) == 1


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_names_its_signal(worker: Worker, number: signal.Signals) -> None:
    with pytest.raises(WorkerDied, match=number.name):
        worker.call(PROBES + "end_by_signal", int(number), timeout_s=10)
    assert worker.call(PROBES + "echo", 1, timeout_s=10) == 1


def test_leaving_without_an_answer_names_the_exit_code(worker: Worker) -> None:
    with pytest.raises(WorkerDied, match="exit code 3"):
        worker.call(PROBES + "leave", timeout_s=10)


def test_a_worker_killed_between_calls_is_replaced_unnoticed(worker: Worker) -> None:
    pid = worker.call(PROBES + "process_id", timeout_s=10)
    os.kill(pid, signal.SIGKILL)
    assert wait_until_dead(pid)
    assert worker.call(PROBES + "echo", "back", timeout_s=10) == "back"


def test_an_exception_carries_the_childs_traceback(worker: Worker) -> None:
    with pytest.raises(WorkerRaised, match=r"(?s)worker_probes.*RuntimeError: from inside"):
        worker.call(PROBES + "fail", "from inside", timeout_s=10)
    assert worker.call(PROBES + "echo", 1, timeout_s=10) == 1


def test_an_answer_that_cannot_be_sent_is_an_exception(worker: Worker) -> None:
    with pytest.raises(WorkerRaised, match="pickle"):
        worker.call(PROBES + "unpicklable", timeout_s=10)


def test_arguments_that_cannot_be_sent_are_the_callers_error(worker: Worker) -> None:
    with pytest.raises((AttributeError, TypeError)):
        worker.call(PROBES + "echo", threading.Lock(), timeout_s=10)
    assert worker.call(PROBES + "echo", 1, timeout_s=10) == 1


@pytest.mark.parametrize(
    "name", ["os:getcwd", "coding_framework.errors:exit_code.real", "coding_framework.nothing:f", "nonsense"]
)
def test_only_functions_of_this_package_are_called(worker: Worker, name: str) -> None:
    with pytest.raises(WorkerNotStarted):
        worker.call(name, timeout_s=10)


def test_something_that_is_no_function_is_refused(worker: Worker) -> None:
    with pytest.raises(WorkerNotStarted, match="not a function"):
        worker.call("coding_framework.cuda.worker_main:PACKAGE", timeout_s=10)


def test_stray_output_does_not_reach_the_channel_or_the_terminal(
    worker: Worker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert worker.call(PROBES + "print_noise", timeout_s=10) == "done"
    assert worker.call(PROBES + "echo", 2, timeout_s=10) == 2
    assert capfd.readouterr() == ("", "")


def test_the_child_sees_one_thread_and_none_of_our_files(worker: Worker, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        assert worker.call(PROBES + "environment", "OMP_NUM_THREADS", timeout_s=10) == "1"
        descriptors = worker.call(PROBES + "open_descriptors", timeout_s=10)
    assert not [line for line in descriptors if "secret" in line]
    assert descriptors[0].endswith("/dev/null")


def test_threads_take_turns(worker: Worker) -> None:
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(worker.call(PROBES + "echo", n, timeout_s=20)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))  # type: ignore[type-var]


def test_a_worker_outlives_the_thread_that_started_it(worker: Worker) -> None:
    pids: list[int] = []
    starter = threading.Thread(target=lambda: pids.append(worker.call(PROBES + "process_id", timeout_s=20)))
    starter.start()
    starter.join()
    time.sleep(0.05)
    assert worker.call(PROBES + "process_id", timeout_s=10) == pids[0]


def test_closing_ends_the_process_and_is_idempotent() -> None:
    worker = Worker(memory_limit_bytes=2**30)
    pid = worker.call(PROBES + "process_id", timeout_s=10)
    worker.close()
    worker.close()
    assert not is_alive(pid)


def test_a_forgotten_worker_is_ended() -> None:
    worker = Worker(memory_limit_bytes=2**30)
    pid = worker.call(PROBES + "process_id", timeout_s=10)
    del worker
    assert wait_until_dead(pid)


def run_parent(body: str, **options: object) -> subprocess.Popen[str]:
    """A parent process of its own, without a main file, that prints its worker's id."""
    code = textwrap.dedent(f"""
        from coding_framework.cuda.worker import Worker
        worker = Worker(memory_limit_bytes=2**30)
        print(worker.call("{PROBES}process_id", timeout_s=20), flush=True)
    """) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE_ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment, **options
    )  # type: ignore[call-overload,no-any-return]


def test_a_killed_parent_takes_a_busy_worker_with_it() -> None:
    parent = run_parent(f'worker.call("{PROBES}sleep", 60.0, timeout_s=60)')
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.1)
    parent.kill()
    parent.wait()
    assert wait_until_dead(pid)


def test_an_interrupted_parent_leaves_no_worker() -> None:
    parent = run_parent(f"""
        try:
            worker.call("{PROBES}sleep", 60.0, timeout_s=60)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            import time; time.sleep(30)
    """)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.send_signal(signal.SIGINT)
    assert parent.stdout.readline() == "interrupted\n"
    dead = wait_until_dead(pid)
    parent.kill()
    parent.wait()
    assert dead


def test_a_fork_of_the_parent_gets_a_worker_of_its_own(worker: Worker) -> None:
    first = worker.call(PROBES + "process_id", timeout_s=10)
    read_end, write_end = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            os.write(write_end, str(worker.call(PROBES + "process_id", timeout_s=10)).encode())
            worker.close()
        finally:
            os._exit(0)
    os.waitpid(fork, 0)
    other = int(os.read(read_end, 100))
    os.close(read_end)
    os.close(write_end)
    assert other != first
    assert worker.call(PROBES + "process_id", timeout_s=10) == first


def test_a_python_that_cannot_be_started_is_a_death(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(WorkerDied, match="could not be started"):
        worker.call(PROBES + "echo", 1, timeout_s=10)


def test_a_child_that_dies_at_start_says_why(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerDied, match="exit code 1"):
        worker.call(PROBES + "echo", 1, timeout_s=10)


def test_a_parent_with_much_memory_does_not_make_a_crash_look_like_want_of_memory(worker: Worker) -> None:
    held = bytearray(1_200_000_000)
    held[::4096] = b"x" * len(held[::4096])
    with pytest.raises(WorkerDied, match="SIGSEGV"):
        worker.call(PROBES + "end_by_signal", int(signal.SIGSEGV), timeout_s=20)
    assert len(held) > 0


def test_the_settings_of_the_allocator_are_taken() -> None:
    program = (
        "import ctypes\n"
        "from coding_framework.cuda.worker_main import _MALLOC\n"
        "mallopt = ctypes.CDLL(None).mallopt\n"
        "print([mallopt(option, value) for option, value in _MALLOC.items()])\n"
    )
    answers = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answers.stdout.strip() == "[1, 1, 1, 1]"
