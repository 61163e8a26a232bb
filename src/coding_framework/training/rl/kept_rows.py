"""The rows of an update, kept as they were trained on: for research, and for checking the arithmetic.

One file for each step, one row a line. Written after the update and before verl forgets the rows; a step
that is repeated after a resume is written anew. Padding of verl's is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from coding_framework.monitoring.storage import write_whole
from coding_framework.records import Record

Numbers = tuple[float, ...]


class TrainedRow(Record):
    """One turn of one episode; lists have an entry for each token of the answer."""

    task: str
    """Name of the task."""
    group: str
    """Rows of one drawing of a task share it."""
    episode: int
    """Within the group."""
    turn: int
    """Within the episode."""
    prompt_ids: tuple[int, ...]
    """What the model was given."""
    answer_ids: tuple[int, ...]
    """What it sampled."""
    mask: tuple[int, ...]
    """1 where a token counts; a turn that was lost or rejected has none."""
    turn_return: float
    """Its discounted return, with whatever the algorithm takes off it."""
    sampled_log_probs: Numbers
    """Under what sampled."""
    old_log_probs: Numbers
    """Under the policy before the update."""
    reference_log_probs: Numbers | None = None
    """Under the start model, where there is a KL term."""
    importance: Numbers | None = None
    """Weights of importance sampling, where they are asked for."""
    values: Numbers | None = None
    """The critic's, before the update."""
    advantages: Numbers
    """What the loss multiplies."""
    returns: Numbers
    """What the critic is to learn."""
    used: bool
    """Whether it took part in the policy's update; without advantage it may be left out."""


def rows_file(rl_dir: Path, step: int) -> Path:
    return rl_dir / "rows" / f"step_{step}.jsonl"


def write_rows(rl_dir: Path, step: int, rows: Iterable[TrainedRow]) -> None:
    path = rows_file(rl_dir, step)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{row.model_dump_json()}\n" for row in rows))


def read_rows(rl_dir: Path, step: int) -> list[TrainedRow]:
    """In the order of the batch."""
    lines = rows_file(rl_dir, step).read_bytes().splitlines()
    return [TrainedRow.model_validate_json(line) for line in lines]
