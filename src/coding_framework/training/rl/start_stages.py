"""When each stage of a start was over: processes, policy, rollout, first answer.

The processes of a run append to one small file; the launcher shows each stage as it ends, and
`cuda-rl bench train` prints them. A resumed run begins the file anew.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from pydantic import Field

from coding_framework.monitoring.storage import append_line
from coding_framework.records import Record
from coding_framework.training.rl.worker_settings import WorkerSettings

Stage = Literal["asked", "processes", "policy", "rollout", "ready", "first_answer"]


class StageEnd(Record):
    """The end of one stage of a start."""

    stage: Stage
    """`asked` is the launcher's beginning; `processes` ends when the trainer's process runs, `policy` when
    its weights are loaded, `rollout` when what samples is up, `ready` when both hold the same weights."""
    at: float = Field(gt=0)
    """Seconds since the epoch, since several processes write."""


def start_file(rl_dir: Path) -> Path:
    return rl_dir / "start.jsonl"


def mark_stage(stage: Stage) -> None:
    """Called in the processes of a run."""
    write_stage(WorkerSettings.from_environment().rl_dir, stage)


def write_stage(rl_dir: Path, stage: Stage) -> None:
    append_line(start_file(rl_dir), StageEnd(stage=stage, at=time.time()).model_dump_json())


def stage_seconds(rl_dir: Path) -> dict[str, float]:
    """Seconds from the launcher's beginning to the first end of each stage, in their order."""
    path = start_file(rl_dir)
    lines = path.read_bytes().splitlines() if path.exists() else []
    ends: dict[str, float] = {}
    for line in lines:
        end = StageEnd.model_validate_json(line)
        ends.setdefault(end.stage, end.at)
    began = ends.pop("asked", None)
    return {} if began is None else {stage: at - began for stage, at in ends.items()}
