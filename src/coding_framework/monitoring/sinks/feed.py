"""Feeds the sinks of a run from its `metrics.jsonl`, each in a thread of its own.

Guaranteed: a sink gets every settled point of the newest series once and in order, also over kills and
resumes (it says itself how many it holds); training waits for no sink; one that raises, or that is not
done a minute after the end, is logged once, switched off for this start, and named by `close`.
Not guaranteed: that numbers are there before a checkpoint holds their step.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping

import structlog

from coding_framework.config.monitoring import MonitoringConfig
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPhase
from coding_framework.monitoring.secrets import without_secrets
from coding_framework.monitoring.sinks.base import OpenSink, Sink, SinkPlace
from coding_framework.monitoring.sinks.point_tail import PointTail
from coding_framework.monitoring.sinks.registry import find_sink
from coding_framework.monitoring.sinks.settled import Settled

log = structlog.stdlib.get_logger(__name__)

PATIENCE_S = 60.0
"""How long the end of a run waits for what a sink has still to write."""


class SinkFeed:
    """All sinks of one run, from one start of it to its end."""

    def __init__(self, run: RunFolder, settings: MonitoringConfig) -> None:
        self._run, self._points = run, PointTail(run.path / "metrics.jsonl")
        self._feeders = [_Feeder(name, find_sink(name), run, settings) for name in settings.sinks]
        if self._feeders:
            Settled.read(run.path).model_copy(update={"failed": {}}).write(run.path)
            self._wake()

    def settle(self, phase: MetricPhase, step: int = sys.maxsize) -> None:
        """What the phase recorded up to this step stays, and all before it; without `step` it has ended."""
        if not self._feeders:
            return
        state = Settled.read(self._run.path)
        open_points = enumerate(self._points.points(state.settled, sys.maxsize), start=state.settled + 1)
        staying = [number for number, point in open_points if point.phase == phase and point.step <= step]
        if staying:
            state.model_copy(update={"settled": staying[-1]}).write(self._run.path)
            self._wake()

    def close(self) -> Mapping[str, str]:
        """Waits for what is still to be written; which sinks failed, and why."""
        for feeder in self._feeders:
            feeder.finish()
        failed = {one.name: why for one in self._feeders if (why := one.why_it_failed(PATIENCE_S))}
        if failed:
            Settled.read(self._run.path).model_copy(update={"failed": failed}).write(self._run.path)
        return failed

    def _wake(self) -> None:
        for feeder in self._feeders:
            feeder.wake()


class _Feeder:
    """One sink and its thread."""

    def __init__(self, name: str, open_sink: OpenSink, run: RunFolder, settings: MonitoringConfig) -> None:
        self.name = name
        self._open, self._run, self._settings = open_sink, run, settings
        self._points = PointTail(run.path / "metrics.jsonl")
        self._work, self._ended, self._failure = threading.Event(), threading.Event(), ""
        self._thread = threading.Thread(target=self._feed, name=f"sink {name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._work.set()

    def finish(self) -> None:
        self._ended.set()
        self._work.set()

    def why_it_failed(self, patience_s: float) -> str:
        """After its end; empty if it did not."""
        self._thread.join(patience_s)
        if self._thread.is_alive():
            self._fail(f"it had not finished {patience_s:g} s after the end of the run")
        return self._failure

    def _feed(self) -> None:
        try:
            self._until_the_end()
        except Exception as error:  # whatever a foreign package raises costs its sink, never the run
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, why: str) -> None:
        self._failure = why
        log.warning("sink_switched_off", sink=self.name, reason=why, kept_in="metrics.jsonl")

    def _until_the_end(self) -> None:
        series, sink, held = 0, None, 0
        while True:
            self._work.wait()
            self._work.clear()
            ended = self._ended.is_set()
            state = Settled.read(self._run.path)
            if state.settled and state.series != series:
                if sink is not None:
                    sink.close()
                series, sink = state.series, self._opened(state)
                held = sink.held()
            if sink is not None:
                held += self._write(sink, held, state.settled)
            if ended:
                break
        if sink is not None:
            sink.close()

    def _opened(self, state: Settled) -> Sink:
        name, identity = state.of_series(self._run.path.name)
        config = without_secrets(self._run.config_json)
        return self._open(SinkPlace(self._run.path, name, identity, self._settings, config))

    def _write(self, sink: Sink, held: int, settled: int) -> int:
        points = self._points.points(held, settled) if held < settled else []
        if points:
            sink.write(held, points)
        return len(points)
