"""The device's memory is shared by those who judge, and had alone by one who found too little of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coding_framework.cuda.executors.gpu.lease import gpu_lease, gpu_room, gpu_room_alone


@pytest.fixture(autouse=True)
def _own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def nothing() -> None:
    """There is nothing to give back."""


def share(order: list[str]) -> None:
    with gpu_room(0, before_waiting=lambda: order.append("gave back")):
        order.append("shared")


def test_those_who_share_the_memory_are_there_together(others: ThreadPoolExecutor) -> None:
    order: list[str] = []
    with gpu_room(0, before_waiting=nothing):
        others.submit(share, order).result(timeout=10)
    assert order == ["shared"]


def test_whoever_wants_it_alone_waits_for_the_others_and_nobody_comes_in_meanwhile(
    others: ThreadPoolExecutor,
) -> None:
    order: list[str] = []
    gave_back = threading.Event()

    def alone() -> None:
        with gpu_room_alone(0):
            order.append("alone")

    def comes_late() -> None:
        with gpu_room(0, before_waiting=gave_back.set):
            order.append("late")

    with gpu_room(0, before_waiting=nothing):
        first = others.submit(alone)
        late = [others.submit(comes_late)]
        while not gave_back.wait(1):  # who came before the door was shut has been there already
            assert late[-1].done()
            late.append(others.submit(comes_late))
        assert not first.done()
        already = len(order)
    for each in (first, *late):
        each.result(timeout=10)
    assert order[already:] == ["alone", "late"]


def test_the_memory_and_the_time_of_a_device_are_leased_apart(others: ThreadPoolExecutor) -> None:
    order: list[str] = []
    with gpu_lease(0):
        others.submit(share, order).result(timeout=10)
    with gpu_room_alone(0), gpu_lease(0):
        order.append("both")
    assert order == ["shared", "both"]
