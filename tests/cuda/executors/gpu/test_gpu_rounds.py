"""The order in which timed calls are put on the stream, let go and waited for; no GPU is needed to see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.gpu import measurement

Log = list[tuple[str, Any]]
CALL_MS = 6.0
"""From one call's first event to the next one's."""
NOT_READY = "not ready"


@pytest.fixture
def still_running() -> list[str]:
    """What the device answers when it is asked whether the call has ended; then that it has."""
    return []


@pytest.fixture
def log(still_running: list[str], monkeypatch: pytest.MonkeyPatch) -> Log:
    """What happens, in order; an event is named by its call and its place."""
    seen: Log = []

    def iteration(bench: Any, number: int, contents: Any) -> None:
        seen.append(("enqueue", number))
        bench.events.append([(number, place) for place in range(6)])

    def driver_call(name: str) -> Any:
        return lambda argument: (seen.append((name, argument)), 0)[1:]

    fake_driver = SimpleNamespace(
        cuEventSynchronize=driver_call("await"),
        cuStreamSynchronize=driver_call("idle"),
        cuEventRecord=lambda event, stream: (seen.append(("record", event)), 0)[1:],
        cuEventQuery=lambda event: (still_running.pop() if still_running else 0,),
        CUresult=SimpleNamespace(CUDA_ERROR_NOT_READY=NOT_READY),
        cuEventElapsedTime=lambda first, last: CALL_MS * (last[0] - first[0] + (last[1] - first[1]) / 6),
    )
    monkeypatch.setattr(measurement, "driver", fake_driver)
    monkeypatch.setattr(measurement, "call", lambda result: result)
    monkeypatch.setattr(measurement, "_iteration", iteration)
    monkeypatch.setattr(measurement, "fire", lambda launch, stream: seen.append(("fire", launch)))
    monkeypatch.setattr(measurement, "_transfer_us", lambda bench: 1.0)
    return seen


def bench(
    log: Log,
    num_sets: int,
    *,
    asks_for_residency: bool = False,
    is_trial: bool = False,
    limit_s: float = 60,
    enough_s: float = 60,
) -> Any:
    gate = SimpleNamespace(
        close=lambda stream: log.append(("close", None)), open=lambda: log.append(("open", None))
    )
    return SimpleNamespace(
        here=SimpleNamespace(gate=gate, stream="stream"),
        request=SimpleNamespace(
            sets=[None] * num_sets, least_calls=6, limit_s=limit_s, enough_s=enough_s, is_trial=is_trial
        ),
        asks_for_residency=asks_for_residency,
        events=[],
        wall_us=[],
        span_us=[],
        transfer_us=None,
    )


def test_a_round_is_put_behind_the_gate_while_the_one_before_it_runs(log: Log) -> None:
    made = bench(log, 7)
    measurement._run_sets(made)
    assert log == [
        *(("enqueue", number) for number in (0, 1, 2)),  # the first may make the driver wait: not held
        ("await", (2, 3)),  # and shows how fast it goes
        ("close", None),
        *(("enqueue", number) for number in (3, 4, 5)),
        ("open", None),
        ("close", None),
        ("enqueue", 6),
        ("await", (5, 3)),
        ("open", None),
        ("await", (6, 5)),  # a round of one call ends with its reference
        ("open", None),
        ("idle", "stream"),
    ]
    assert len(made.wall_us) == len(made.span_us) == 3
    assert made.transfer_us == 1


def test_of_a_slow_kernel_fewer_calls_are_made(log: Log) -> None:
    made = bench(log, 30, enough_s=0.001)
    measurement._run_sets(made)
    assert [number for step, number in log if step == "enqueue"] == list(range(9))
    measurement._run_sets(patient := bench(log, 30))
    assert len(patient.events) == 30


def test_what_would_take_longer_than_the_limit_ends_after_its_first_round(log: Log) -> None:
    made = bench(log, 30, limit_s=0.0059)
    with pytest.raises(KernelFault, match="a call takes 1 ms, too long for 6 calls within 0"):
        measurement._run_sets(made)
    assert len(made.events) == 3
    measurement._run_sets(bench(log, 30, limit_s=0.0061))


def test_nothing_of_a_trial_is_timed(log: Log) -> None:
    made = bench(log, 1, is_trial=True, limit_s=0.0001)
    measurement._run_sets(made)
    assert made.transfer_us is None


def test_a_trial_waits_for_the_end_of_its_call(log: Log, still_running: list[str]) -> None:
    still_running += [NOT_READY] * 3
    _end_of_trial(log, limit_s=60)
    assert not still_running


def test_a_trial_that_does_not_end_costs_its_process(log: Log, still_running: list[str]) -> None:
    still_running += [NOT_READY] * 10_000
    here = bench(log, 1).here
    failed = measurement._guarded(here, lambda: _end_of_trial(log, limit_s=0.06))
    assert failed is not None
    assert failed.fault is not None
    assert failed.is_poisoned
    assert failed.fault.kind is FaultKind.TIMEOUT
    assert "too long for 6 calls within 0.06 s" in failed.fault.message


def test_a_call_that_has_ended_is_not_late_however_late_it_is_looked_at(
    log: Log, still_running: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter((0.0, 0.0, 100.0, 100.0, 100.0))
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    still_running += [NOT_READY]
    _end_of_trial(log, limit_s=0.06)


def _end_of_trial(log: Log, *, limit_s: float) -> None:
    made = bench(log, 1, is_trial=True, limit_s=limit_s)
    made.queue = SimpleNamespace(launched=0)
    measurement._try_launches(made, ["first", "second"], (0, 1), (0, 2))  # type: ignore[list-item]
    assert made.queue.launched == 2


def test_nothing_is_put_behind_a_launch_of_a_trial_before_it_has_ended(
    log: Log, still_running: list[str]
) -> None:
    still_running += [NOT_READY] * 3
    _end_of_trial(log, limit_s=60)
    assert [step for step, _ in log] == ["await", "fire", "record", "fire", "record"]
    still_running += [NOT_READY] * 10_000
    with pytest.raises(KernelFault, match="over"):
        _end_of_trial(log, limit_s=0.03)
    assert [step for step, _ in log[5:]] == ["await", "fire", "record"]


def test_a_slow_first_round_does_not_count(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench(log, 30, enough_s=0.01)
    made.span_us.append(10_000_000.0)
    assert not measurement._is_enough(made, 6)
    made.span_us.append(11_000.0)
    assert measurement._is_enough(made, 6)
    assert not measurement._is_enough(made, 3)


def test_a_candidate_that_is_waited_for_is_never_held(log: Log) -> None:
    measurement._run_sets(bench(log, 6, asks_for_residency=True))
    steps = [step for step, _ in log]
    assert "close" not in steps
    assert steps.index("await") > steps.index("enqueue")
    assert log.index(("await", (2, 3))) < log.index(("enqueue", 3))


def test_the_gate_opens_when_a_launch_behind_it_fails(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench(log, 6)
    whole = measurement._iteration

    def fails(bench: Any, number: int, contents: Any) -> None:
        if number == 4:
            raise RuntimeError("refused")
        whole(bench, number, contents)

    monkeypatch.setattr(measurement, "_iteration", fails)
    with pytest.raises(RuntimeError, match="refused"):
        measurement._run_sets(made)
    assert log[-1] == ("open", None)
