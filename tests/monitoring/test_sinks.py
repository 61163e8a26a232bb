"""One suite that every sink passes: each number is there once, whatever was killed or taken back.

What is there is read back with the packages' own readers (wandb has none in Python: its messages are read
with its own protobuf classes).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from coding_framework.config import MonitoringConfig
from coding_framework.errors import ConfigError
from coding_framework.monitoring import MetricPoint, RunFolder
from coding_framework.monitoring.rewind import rewind
from coding_framework.monitoring.run_state import MetricPhase
from coding_framework.monitoring.sinks import feed as feed_module
from coding_framework.monitoring.sinks.base import SinkPlace, named_values
from coding_framework.monitoring.sinks.feed import SinkFeed
from coding_framework.monitoring.sinks.point_tail import PointTail
from coding_framework.monitoring.sinks.registry import find_sink
from coding_framework.monitoring.sinks.settled import Settled
from coding_framework.monitoring.sinks.wandb_files import history

Number = tuple[str, int, float]
"""Name with its phase, step, value."""


class LineSink:
    """What another package might bring: lines of JSON in the run folder."""

    def __init__(self, place: SinkPlace) -> None:
        self._file = place.run / f"{place.identity}.lines"

    def held(self) -> int:
        return len(self._file.read_text().splitlines()) if self._file.exists() else 0

    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        assert first == self.held()
        with self._file.open("a") as stream:
            stream.writelines(json.dumps([p.step, named_values(p)]) + "\n" for p in points)

    def close(self) -> None:
        """Nothing is open."""


class BrokenSink(LineSink):
    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        raise OSError("no route to host")


class HangingSink(LineSink):
    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        threading.Event().wait()


def read_lines(run: Path, identity: str) -> Iterator[Number]:
    for line in (run / f"{identity}.lines").read_text().splitlines():
        step, values = json.loads(line)
        yield from ((name, step, value) for name, value in values.items())


def read_tensorboard(run: Path, identity: str) -> Iterator[Number]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert [folder.name for folder in (run / "tensorboard").iterdir()] == [identity]
    found = EventAccumulator(str(run / "tensorboard" / identity), size_guidance={"scalars": 0})
    found.Reload()
    for tag in found.Tags()["scalars"]:
        yield from ((tag, event.step, event.value) for event in found.Scalars(tag))


def read_wandb(run: Path, identity: str) -> Iterator[Number]:
    for _, values in history(run / "wandb", identity):
        phase = next(name for name in values if name.endswith("/step")).partition("/")[0]
        step = int(values[f"{phase}/step"])
        shown = {name: value for name, value in values.items() if name.startswith(f"{phase}/")}
        yield from ((name, step, value) for name, value in shown.items() if name != f"{phase}/step")


def read_trackio(run: Path, identity: str) -> Iterator[Number]:
    from trackio.sqlite_storage import SQLiteStorage

    for row in SQLiteStorage.get_logs("kernels", run=run.name, run_id=identity):
        yield from ((name, row["step"], value) for name, value in row.items() if "/" in name)


READERS: dict[str, Callable[[Path, str], Iterator[Number]]] = {
    "tensorboard": read_tensorboard,
    "wandb": read_wandb,
    "trackio": read_trackio,
    f"{__name__}:LineSink": read_lines,
}


@pytest.fixture(scope="module", autouse=True)
def _one_trackio_and_much_patience(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """trackio reads once where it stores; and a busy machine fails no test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_module, "PATIENCE_S", 600.0)
        patch.setenv("TRACKIO_DIR", str(tmp_path_factory.mktemp("trackio")))
        yield


@pytest.fixture(params=READERS)
def sink(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if ":" not in name:
        pytest.importorskip(name)
    return name


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    return RunFolder.create(tmp_path, "run", '{"judge": {"secret": "a word"}}')


def settings(*sinks: str) -> MonitoringConfig:
    return MonitoringConfig(sinks=sinks, project="kernels")


def record(run: RunFolder, phase: MetricPhase, steps: Sequence[int], value: float = 0.5) -> None:
    for step in steps:
        values = {"loss": value, "rate": float(step)}
        run.append_metric(MetricPoint(phase=phase, step=step, values=values, elapsed_s=1))


def held_by(sink: str, run: RunFolder) -> Counter[Number]:
    return Counter(READERS[sink](run.path, Settled.read(run.path).of_series("")[1]))


def once(run: RunFolder, upto: int | None = None) -> Counter[Number]:
    """The first points of `metrics.jsonl`, each number once."""
    points = list(run.read_metrics())[:upto]
    return Counter((name, p.step, value) for p in points for name, value in named_values(p).items())


def test_every_number_of_a_run_is_there_once_and_none_before_a_checkpoint_holds_it(
    sink: str, run: RunFolder
) -> None:
    feed = SinkFeed(run, settings(sink))
    record(run, "sft", [1, 2, 3])
    feed.settle("sft", 2)
    feed.settle("sft")
    record(run, "rl", [1, 2, 3, 4])
    feed.settle("rl", 3)
    assert feed.close() == {}
    assert held_by(sink, run) == once(run, upto=6)
    feed = SinkFeed(run, settings(sink))
    feed.settle("rl")
    assert feed.close() == {}
    assert held_by(sink, run) == once(run, upto=7)


KILLED = """
import os, signal, sys, time
from pathlib import Path
import test_sinks as suite
from coding_framework.monitoring import RunFolder
from coding_framework.monitoring.sinks.feed import SinkFeed
run, sink = RunFolder(Path(sys.argv[1])), sys.argv[2]
feed = SinkFeed(run, suite.settings(sink))
suite.record(run, "rl", [1, 2, 3])
feed.settle("rl", 2)
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    try:
        if suite.held_by(sink, run):
            break
    except (FileNotFoundError, AssertionError):
        pass
    time.sleep(0.05)
suite.record(run, "rl", [4, 5])
feed.settle("rl", 4)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_was_killed_and_resumed_repeats_no_number(sink: str, run: RunFolder) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    name = sink.replace(__name__, "test_sinks")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(run.path), name], env=environment, check=False)
    assert ended.returncode == -9
    assert Settled.read(run.path).settled == 4
    rewind(run, "rl", 4)
    feed = SinkFeed(run, settings(sink))
    record(run, "rl", [5, 6], value=0.25)
    feed.settle("rl")
    assert feed.close() == {}
    assert once(run)["rl/loss", 5, 0.25] == 1
    assert held_by(sink, run) == once(run)
    assert Settled.read(run.path).series == 1


def test_what_is_taken_back_on_purpose_begins_a_new_series(sink: str, run: RunFolder) -> None:
    feed = SinkFeed(run, settings(sink))
    record(run, "sft", [1, 2])
    record(run, "rl", [1, 2])
    feed.settle("rl")
    rewind(run, "rl", 0)
    record(run, "rl", [1], value=0.125)
    feed.settle("rl")
    assert feed.close() == {}
    assert Settled.read(run.path).series == 2
    assert held_by(sink, run) == once(run)


def test_a_sink_that_fails_is_switched_off_and_named_and_the_others_go_on(run: RunFolder) -> None:
    broken, whole = f"{__name__}:BrokenSink", f"{__name__}:LineSink"
    feed = SinkFeed(run, settings(broken, whole))
    record(run, "sft", [1, 2])
    feed.settle("sft", 1)
    feed.settle("sft", 2)
    assert feed.close() == {broken: "OSError: no route to host"}
    assert Settled.read(run.path).failed == {broken: "OSError: no route to host"}
    assert held_by(whole, run) == once(run)


def test_a_sink_that_hangs_is_not_waited_for_any_longer(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "PATIENCE_S", 0.01)
    feed = SinkFeed(run, settings(f"{__name__}:HangingSink"))
    record(run, "sft", [1])
    feed.settle("sft")
    assert "had not finished 0.01 s after the end" in feed.close()[f"{__name__}:HangingSink"]


def test_a_file_that_was_rewritten_is_read_from_its_beginning(run: RunFolder) -> None:
    file = run.path / "metrics.jsonl"
    tail = PointTail(file)
    record(run, "rl", [1, 2, 3])
    assert [point.step for point in tail.points(0, 2)] == [1, 2]
    assert [point.step for point in tail.points(2, 9)] == [3]
    text = file.read_text()
    file.write_text(text.replace('"step":3', '"step":7'))  # as long as before, in the same place
    assert [point.step for point in tail.points(2, 9)] == [7]
    assert [point.step for point in tail.points(0, 9)] == [1, 2, 7], "what was forgotten is read again"


def test_a_line_that_was_torn_moves_no_number(run: RunFolder) -> None:
    whole = f"{__name__}:LineSink"
    feed = SinkFeed(run, settings(whole))
    record(run, "rl", [1, 2])
    with (run.path / "metrics.jsonl").open("a") as stream:
        stream.write('{"phase": "rl", "st')
    feed.settle("rl", 2)
    record(run, "rl", [3, 4])
    rewind(run, "rl", 2)
    record(run, "rl", [3], value=0.75)
    feed.settle("rl")
    assert feed.close() == {}
    assert held_by(whole, run) == once(run)
    assert Settled.read(run.path).series == 1


def test_a_name_that_stands_for_no_sink_is_refused() -> None:
    with pytest.raises(ConfigError, match="known are tensorboard, trackio, wandb"):
        find_sink("tensorbord")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        find_sink("no_such_package:Sink")


def test_the_secret_of_the_judge_reaches_no_sink(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Listening(LineSink):
        def __init__(self, place: SinkPlace) -> None:
            super().__init__(place)
            seen.append(place.config_json)

    monkeypatch.setattr(sys.modules[__name__], "LineSink", Listening)
    feed = SinkFeed(run, settings(f"{__name__}:LineSink"))
    record(run, "sft", [1])
    feed.settle("sft")
    assert feed.close() == {}
    assert len(seen) == 1
    assert "a word" not in seen[0]
