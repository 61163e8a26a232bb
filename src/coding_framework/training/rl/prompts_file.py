"""The file of prompts that verl reads: one row for each task visit, in the order of training.

Each pass over the tasks is a permutation of its own seed, so the order of the first steps does not
change when a run is resumed with more steps. The prompt's text is only a label here: the episode
driver writes the real prompts from the task.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from coding_framework.config import RLConfig
from coding_framework.training.rl.names import AGENT_NAME


def num_prompts(rl: RLConfig) -> int:
    """Of all steps of one policy, with those that it may draw anew."""
    return rl.steps * rl.draws_per_step


def task_order(tasks: Sequence[str], count: int, seed: int) -> list[str]:
    """`count` task names: pass after pass over all of them, each pass shuffled."""
    order: list[str] = []
    passes = 0
    while len(order) < count:
        one_pass = list(tasks)
        random.Random(f"{seed}/{passes}").shuffle(one_pass)
        order += one_pass
        passes += 1
    return order[:count]


def write_prompts(path: Path, tasks: Sequence[str], openings: Sequence[int] = ()) -> None:
    """Parquet in the columns that verl's dataset expects; `openings` are those of the tasks, by visit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    begun: list[dict[str, int]] = [{"opening": visit} for visit in openings] or [{}] * len(tasks)
    rows: list[dict[str, object]] = [
        {
            "data_source": "coding_framework",
            "prompt": [{"role": "user", "content": task}],
            "reward_model": {"style": "rule", "ground_truth": task},
            "extra_info": {"index": index, "task": task} | opening,
            "agent_name": AGENT_NAME,
        }
        for index, (task, opening) in enumerate(zip(tasks, begun, strict=True))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
