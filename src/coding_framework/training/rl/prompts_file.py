"""The file of prompts that verl reads: blank rows, as many as the steps may take.

Which task a row is played on is decided when the trainer fetches it (`task_choice`); the prompt's text is
written from that task by the episode driver.
"""

from __future__ import annotations

from pathlib import Path

from coding_framework.config import RLConfig
from coding_framework.training.rl.names import AGENT_NAME

_BLANK = "chosen when it is fetched"


def num_prompts(rl: RLConfig) -> int:
    """Of all steps of one policy, with those that it may draw anew."""
    return rl.steps * rl.draws_per_step


def write_prompts(path: Path, count: int) -> None:
    """Parquet in the columns that verl's dataset expects."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "data_source": "coding_framework",
            "prompt": [{"role": "user", "content": _BLANK}],
            "reward_model": {"style": "rule", "ground_truth": _BLANK},
            "extra_info": {"index": index},
            "agent_name": AGENT_NAME,
        }
        for index in range(count)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
