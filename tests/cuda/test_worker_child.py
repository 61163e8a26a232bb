"""The child's side, run in this process where that is possible."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from coding_framework.cuda import worker_main, worker_probes
from coding_framework.cuda.worker_channel import AnswerKind, ChannelClosed, receive_message, send_message
from coding_framework.cuda.worker_process import Death, describe, looks_like_memory

PROBES = "coding_framework.cuda.worker_probes:"


@pytest.fixture
def ends() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


def test_the_child_answers_until_the_channel_closes(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    thread = threading.Thread(target=worker_main.serve, args=(theirs,))
    thread.start()
    assert receive_message(ours) == (AnswerKind.READY, None)
    send_message(ours, (PROBES + "echo", (5,)))
    assert receive_message(ours) == (AnswerKind.VALUE, 5)
    send_message(ours, (PROBES + "unpicklable", ()))
    assert receive_message(ours)[0] is AnswerKind.RAISED
    ours.close()
    thread.join(5)
    assert not thread.is_alive()
    theirs.close()


def test_an_answer_says_how_the_call_ended() -> None:
    assert worker_main.answer(PROBES + "echo", (3,)) == (AnswerKind.VALUE, 3)
    assert worker_main.answer(PROBES + "allocate", (2**62,))[0] is AnswerKind.OUT_OF_MEMORY
    kind, text = worker_main.answer(PROBES + "fail", ("why",))
    assert kind is AnswerKind.RAISED
    assert "RuntimeError: why" in text


def test_memory_that_fails_while_answering_is_reported(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = ends
    sent = []

    def send(connection: socket.socket, value: tuple[AnswerKind, object]) -> None:
        if value[0] is AnswerKind.VALUE:
            raise MemoryError
        sent.append(value[0])

    monkeypatch.setattr(worker_main, "send_message", send)
    worker_main.send_answer(theirs, (AnswerKind.VALUE, 1))
    assert sent == [AnswerKind.OUT_OF_MEMORY]
    ours.close()
    theirs.close()


def test_a_reader_learns_that_the_other_end_is_gone(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.close()
    with pytest.raises(ChannelClosed):
        receive_message(ours)
    with pytest.raises(ChannelClosed):
        send_message(ours, b"x" * 10_000_000)
    with pytest.raises(ChannelClosed):
        worker_main.send_answer(ours, (AnswerKind.VALUE, b"x" * 10_000_000))
    ours.close()


def test_a_deadline_in_the_past_is_a_timeout(ends: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(TimeoutError):
        receive_message(ends[0], time.monotonic() - 1)
    for end in ends:
        end.close()


def test_limits_hold_for_the_process_that_sets_them() -> None:
    code = (
        "import resource; from coding_framework.cuda.worker_main import limit_resources; "
        "limit_resources(2**31); limit_resources(2**32); "
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == [str(2**31), "0"]
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 2**31


def test_a_child_whose_parent_is_already_gone_ends_at_once() -> None:
    read_end, write_end = os.pipe()
    os.close(write_end)
    code = "from coding_framework.cuda.worker_main import end_with_parent; "
    code += f"end_with_parent({read_end}); print('alive')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        pass_fds=(read_end,),
        start_new_session=True,
    )
    os.close(read_end)
    assert done.returncode == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("death", "is_memory"),
    [
        (Death(-signal.SIGABRT, 0, "terminate called after throwing 'std::bad_alloc'"), True),
        (Death(-signal.SIGSEGV, 900, ""), True),
        (Death(-signal.SIGSEGV, 100, ""), False),
        (Death(0, 900, ""), False),
    ],
)
def test_size_or_last_words_tell_memory_deaths_apart(death: Death, is_memory: bool) -> None:
    assert looks_like_memory(death, 1000) is is_memory


def test_a_death_is_described_with_its_last_words() -> None:
    assert describe(Death(-signal.SIGKILL, 0, "")).endswith("(perhaps the machine ran out of memory)")
    assert describe(Death(7, 0, "oh no")) == "the worker ended with exit code 7\noh no"


def test_probes_work_in_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert worker_probes.print_noise() == "done"
    assert worker_probes.process_id() == os.getpid()
    assert any("->" in line for line in worker_probes.open_descriptors())
    worker_probes.sleep(0)
    assert "stray output" in capfd.readouterr().out


def test_arrays_are_sent_without_being_copied_into_the_pickle(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    array = np.arange(1000)
    send_message(ours, array)
    assert np.array_equal(receive_message(theirs), array)
    ours.close()
    theirs.close()
