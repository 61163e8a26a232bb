"""Every place of the card's queue has its turn; what is launched is counted here, so no GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coding_framework.cuda.executors.gpu import measurement
from coding_framework.cuda.executors.gpu.layout import lay_out
from coding_framework.cuda.executors.gpu.messages import Array, InputSet
from coding_framework.cuda.executors.gpu.queue_places import PATTERN, QueuePlaces

CALLS = 53


class Launches:
    """Everything that was put on the stream, by name."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        """A kernel of the harness."""
        return lambda *_, **__: self.names.append(name)

    def places_of(self, name: str, count: int) -> list[int]:
        """Of the first launch of each call, which has `count` of them."""
        numbers = [number for number, launched in enumerate(self.names) if launched == name]
        return [number % PATTERN for number in numbers[::count]]


def launched(
    monkeypatch: pytest.MonkeyPatch, *, inputs: int, outputs: int, candidate: int, reference: int
) -> Launches:
    """All calls of a measurement with so many arrays and launches."""
    seen = Launches()
    monkeypatch.setattr(measurement, "driver", SimpleNamespace(cuEventRecord=lambda *_: None))
    monkeypatch.setattr(measurement, "call", lambda result: None)
    monkeypatch.setattr(measurement, "memset", lambda *_: seen.names.append("memset"))
    monkeypatch.setattr(measurement, "fire", lambda launch, _: seen.names.append(launch))
    names = {
        "inputs": tuple(Array(f"x{i}", "float32", 8) for i in range(inputs)),
        "outputs": tuple(Array(f"y{i}", "float32", 8) for i in range(outputs)),
    }
    buffers = [array.name for array in names["inputs"]]
    buffers += [f"output {array.name}" for array in names["outputs"]]
    layout = lay_out(dict.fromkeys((*buffers, "sums"), (32, CALLS)))
    contents = InputSet(0, ("normal",) * inputs, (0,) * inputs, 0, 0)
    bench: Any = SimpleNamespace(
        here=SimpleNamespace(
            harness=seen, stream=None, flush_address=0, flush_bytes=4, events=lambda _: [None] * 6
        ),
        request=SimpleNamespace(**names, slot=lambda _: 0, is_trial=False),
        places=layout.at(0),
        candidate=[["candidate"] * candidate] * CALLS,
        reference=[["reference"] * reference],
        asks_for_residency=False,
        queue=QueuePlaces(),
        events=[],
    )
    for number in range(CALLS):
        measurement._iteration(bench, number, contents)
    return seen


@pytest.mark.parametrize(
    ("inputs", "outputs", "candidate", "reference"), [(1, 1, 1, 1), (2, 1, 3, 1), (3, 2, 1, 2), (1, 1, 2, 4)]
)
def test_calls_come_in_every_place_equally_often(
    monkeypatch: pytest.MonkeyPatch, inputs: int, outputs: int, candidate: int, reference: int
) -> None:
    seen = launched(monkeypatch, inputs=inputs, outputs=outputs, candidate=candidate, reference=reference)
    for name, count in (("candidate", candidate), ("reference", reference)):
        places = seen.places_of(name, count)
        whole = [places[at : at + PATTERN] for at in range(0, len(places) - PATTERN + 1, PATTERN)]
        assert len(whole) >= CALLS // measurement.REFERENCE_EVERY // PATTERN
        assert all(sorted(four) == list(range(PATTERN)) for four in whole)


def test_the_order_of_places_is_drawn_anew_for_every_four() -> None:
    queue = QueuePlaces()
    orders = {tuple(queue.missing("candidate") for _ in range(PATTERN)) for _ in range(200)}
    assert len(orders) > 10  # of 24
