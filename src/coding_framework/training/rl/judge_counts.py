"""What the judge of a worker process counted, on its way to the launcher by file."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from coding_framework.cuda.pool import PoolCounts
from coding_framework.records import Record


class JudgeCounts(Record):
    """What was added since the line before."""

    step: int = Field(ge=0)
    """Training step in which the episode ended that wrote it."""
    counts: PoolCounts
    """Of the process's pool."""


def judge_values(lines: Sequence[JudgeCounts], judging_s: float | None) -> dict[str, float]:
    """Of one step; nothing where no judge of ours counted."""
    if not lines:
        return {}
    total = sum((line.counts for line in lines), PoolCounts())
    values = {
        "judged": float(total.judged),
        "verdicts_remembered": float(total.remembered),
        "verdicts_shared": float(total.shared),
        "judge_faults": float(total.faults),
        "compiles": float(total.compiled),
        "compile_cache_hits": float(total.compile_cache_hits),
    }
    if judging_s:
        values["judgements_per_s"] = (total.judged + total.remembered + total.shared) / judging_s
        # Little's law: the time that all have waited is the mean length of the queue times the time.
        values["judge_queue"] = total.waited_s / judging_s
    return values
