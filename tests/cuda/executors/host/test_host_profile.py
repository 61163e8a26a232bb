"""What the profiler's events tell of a call: the flush, what comes after, what does not wait for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from coding_framework.cuda.executors.host.child.profile import ProfilingClock

pytest.importorskip("torch")
FLUSH, OWN = "fill", "own"
PASS_US = 30.0
END_US = PASS_US * ProfilingClock.flush_passes
FLUSHED = [
    (FLUSH, PASS_US * number, PASS_US * (number + 1) - 1) for number in range(ProfilingClock.flush_passes)
]
Event = tuple[str, float, float]


def clock_that_saw(events: list[Event]) -> ProfilingClock:
    clock = ProfilingClock("cpu")
    seen = [
        SimpleNamespace(
            name=name,
            device_type=clock._on_device,
            time_range=SimpleNamespace(start=start, end=end, elapsed_us=lambda took=end - start: took),
        )
        for name, start, end in events
    ]
    clock._has_device, clock._flush_name = True, FLUSH
    clock._profiler = SimpleNamespace(events=lambda: seen)
    return clock


def test_the_flush_is_left_out_of_a_calls_kernels() -> None:
    report = clock_that_saw(
        [*FLUSHED, (OWN, END_US, END_US + 10), (FLUSH, END_US + 10, END_US + 15)]
    ).report()
    assert report == {"kernels": {OWN: 10.0, FLUSH: 5.0}, "early": "", "is_blind": False}


@pytest.mark.parametrize("start", [-5.0, 10.0, END_US - 30, END_US - 5])
def test_a_kernel_that_starts_before_the_flush_has_ended_is_named(start: float) -> None:
    events = [(OWN, start, start + 40), *FLUSHED, ("honest", END_US, END_US + 10)]
    report = clock_that_saw(events).report()
    assert report["early"] == OWN
    assert report["kernels"] == {OWN: 40.0, "honest": 10.0}


def test_who_has_not_seen_the_flush_is_blind() -> None:
    assert clock_that_saw([*FLUSHED[1:], (OWN, END_US, END_US + 10)]).report()["is_blind"]
