"""`cuda-rl bench pairs`: how many training pairs this machine makes and judges in a minute.

Protocol: an empty compile cache in a temporary folder and an empty memory of verdicts; the judge's
processes are started, and the kernels of the held-out tasks compiled, before the clock. Then a cluster
of pairs of each family in turn, over all tiers, as training would make them, until the time is up;
pairs that were begun by then are finished and count with their time. CPU time is that of all processes
of the run while the clock ran, so a busy machine shows too.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from coding_framework.agents.prompts import generator_messages, optimizer_messages
from coding_framework.config import JudgeConfig
from coding_framework.cuda.toolchain.settings import CACHE_VARIABLE
from coding_framework.data.pair_records import RejectedDraft, SFTPair
from coding_framework.data.pairs.drafts import CatalogueDraft, Family, draft_pairs
from coding_framework.data.pairs.making import in_order
from coding_framework.data.pairs.workshop import OpenHeldOut, Workshop, open_workshop
from coding_framework.evaluation.bench.footprint import marked, marked_processes
from coding_framework.evaluation.bench.records import BenchPairsResult
from coding_framework.records import Candidate, Task
from coding_framework.records.cores import usable_cores

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def bench_pairs(
    config: JudgeConfig,
    tasks: Sequence[Task],
    exclude: Collection[str] | OpenHeldOut,
    *,
    seconds: float,
    seed: int,
    on_done: Callable[[], None] = lambda: None,
) -> BenchPairsResult:
    """Make pairs for `seconds`."""
    with (
        TemporaryDirectory(prefix="cf-bench-") as folder,
        _cache_in(folder),
        marked() as mark,
        open_workshop(
            config,
            tasks,
            exclude,
            seed,
            generator_messages,
            lambda task, source, evaluation: optimizer_messages(task, evaluation, None),
        ) as workshop,
    ):
        _warm_up(workshop)
        before, started, cpu_s = workshop.hit_rates, time.perf_counter(), _cpu_seconds(mark)
        outcomes = []
        for _, outcome in in_order(
            _until(workshop, started + seconds), workshop.settler.settle, config.num_workers + 1
        ):
            outcomes.append(outcome)
            on_done()
        elapsed_s, spent_s = time.perf_counter() - started, _cpu_seconds(mark) - cpu_s
        rates = workshop.hit_rates.since(before)
    pairs = [outcome for outcome in outcomes if isinstance(outcome, SFTPair)]
    dropped = [outcome for outcome in outcomes if isinstance(outcome, RejectedDraft)]
    return BenchPairsResult(
        cores=usable_cores(),
        workers=config.num_workers,
        num_drafts=len(outcomes),
        num_kept=len(pairs),
        by_tier=dict(sorted(Counter(pair.tier for pair in pairs).items())),
        by_kind=dict(sorted(Counter(pair.kind for pair in pairs).items())),
        by_family=dict(sorted(Counter(pair.family for pair in pairs).items())),
        rejected=dict(sorted(Counter(draft.reason for draft in dropped).items())),
        seconds=elapsed_s,
        cpu_s=spent_s,
        judged_in_full=rates.judged_in_full,
        shared=rates.shared,
        remembered=rates.remembered,
        compiled=rates.compiled,
        from_cache=rates.from_cache,
        time_kind=pairs[0].time_kind if pairs else None,
    )


def _until(workshop: Workshop, deadline: float) -> Iterator[tuple[str, CatalogueDraft]]:
    chosen = [family for family in workshop.families if isinstance(family, Family)]
    for draft in draft_pairs(chosen, workshop.seed):
        if time.perf_counter() > deadline:
            return
        yield draft.original.family, draft


def _warm_up(workshop: Workshop) -> None:
    """Start every process; the verdicts are forgotten again."""
    workshop.settler.held_out.warm_up()
    first = next(
        member for family in workshop.families for member in family.members if isinstance(member, Task)
    )
    lanes = workshop.pool.config.num_workers
    texts = [f"{first.baseline}// {number}\n" for number in range(3 * lanes)]
    workshop.pool.judge_many([(first, Candidate(source=text)) for text in texts])
    workshop.pool.forget()


def _cpu_seconds(mark: str) -> float:
    """User and system time of this process and of all that carry the mark, ended children included."""
    return sum(_process_seconds(pid) for pid in {os.getpid(), *marked_processes(mark)})


def _process_seconds(pid: int) -> float:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile: its parent has its time
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / _TICKS_PER_S


@contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    """The compile cache of this process and of all it starts is in this folder for a while."""
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before
