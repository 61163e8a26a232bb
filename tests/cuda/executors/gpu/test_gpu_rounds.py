"""The order in which timed calls are put on the stream, let go and waited for; no GPU is needed to see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coding_framework.cuda.executors.gpu import measurement

Log = list[tuple[str, Any]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """What happens, in order; an event is named by its call and its place."""
    seen: Log = []

    def iteration(bench: Any, number: int, contents: Any) -> None:
        seen.append(("enqueue", number))
        bench.events.append([(number, place) for place in range(6)])

    def driver_call(name: str) -> Any:
        return lambda argument: (seen.append((name, argument)), 0)[1:]

    fake_driver = SimpleNamespace(
        cuEventSynchronize=driver_call("await"), cuStreamSynchronize=driver_call("idle")
    )
    monkeypatch.setattr(measurement, "driver", fake_driver)
    monkeypatch.setattr(measurement, "call", lambda result: None)
    monkeypatch.setattr(measurement, "_iteration", iteration)
    monkeypatch.setattr(measurement, "_transfer_us", lambda bench: 1.0)
    return seen


def bench(log: Log, num_sets: int, *, asks_for_residency: bool = False) -> Any:
    gate = SimpleNamespace(
        close=lambda stream: log.append(("close", None)), open=lambda: log.append(("open", None))
    )
    return SimpleNamespace(
        here=SimpleNamespace(gate=gate, stream="stream"),
        request=SimpleNamespace(sets=[None] * num_sets),
        asks_for_residency=asks_for_residency,
        events=[],
        wall_us=[],
        transfer_us=None,
    )


def test_a_round_is_put_behind_the_gate_while_the_one_before_it_runs(log: Log) -> None:
    made = bench(log, 7)
    measurement._run_sets(made)
    assert log == [
        *(("enqueue", number) for number in (0, 1, 2)),  # the first may make the driver wait: not held
        ("close", None),
        *(("enqueue", number) for number in (3, 4, 5)),
        ("await", (2, 3)),
        ("open", None),
        ("close", None),
        ("enqueue", 6),
        ("await", (5, 3)),
        ("open", None),
        ("await", (6, 5)),  # a round of one call ends with its reference
        ("open", None),
        ("idle", "stream"),
    ]
    assert len(made.wall_us) == 3


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
