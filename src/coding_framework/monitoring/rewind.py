"""Takes back what a run wrote down beyond the point from which it goes on.

A run that was killed between two checkpoints recorded steps that it will do again, and half a step's
conversations; one that was killed in an evaluation, a conversation whose sample it did not come to store. All
go before it continues, so that every step and every conversation stands in the files once.

Guaranteed: a file is cut off where only its end goes, else replaced as a whole; where sinks were given some
of it, they get a new series. Not guaranteed: anything while another process appends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPhase, MetricPoint
from coding_framework.monitoring.sinks.settled import begin_anew_if_settled, has_settled
from coding_framework.monitoring.storage import keep_lines


def rewind(run: RunFolder, phase: MetricPhase, step: int) -> int:
    """Drops the metric points of `phase` after `step`, and for RL its conversations; returns how many."""

    def metric_stays(line: bytes) -> bool:
        point = _parsed(line)
        return point is not None and (point.get("phase") != phase or int(point["step"]) <= step)

    def conversation_stays(line: bytes) -> bool:
        one = _parsed(line)
        return one is not None and (one.get("phase") != "train" or int(one.get("step") or 0) <= step)

    _tell_sinks(run.path, metric_stays)
    dropped = keep_lines(run.path / "metrics.jsonl", metric_stays)
    if phase == "rl":
        dropped += keep_lines(run.path / "conversations.jsonl", conversation_stays)
    return dropped


def _tell_sinks(run: Path, stays: Callable[[bytes], bool]) -> None:
    """Before anything goes: they may hold some of it."""
    file = run / "metrics.jsonl"
    lines = file.read_bytes().splitlines() if has_settled(run) and file.exists() else []
    points = filter(_is_point, lines)
    first = next((number for number, line in enumerate(points) if not stays(line)), None)
    if first is not None:
        begin_anew_if_settled(run, first)


def _is_point(line: bytes) -> bool:
    """As the sinks count them."""
    try:
        MetricPoint.model_validate_json(line)
    except ValidationError:
        return False
    return True


def rewind_evaluation(conversations: Path, model: str, kept: Collection[str]) -> int:
    """Drops the conversations of an evaluation of this model but the `kept` ones; returns how many."""
    seen: set[str] = set()

    def stays(line: bytes) -> bool:
        one = _parsed(line)
        if one is None or one.get("phase") != "evaluation" or one.get("model") != model:
            return one is not None
        name = str(one.get("conversation_id"))
        is_new = name in kept and name not in seen
        seen.add(name)
        return is_new

    return keep_lines(conversations, stays)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """None for a line that was cut off."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
