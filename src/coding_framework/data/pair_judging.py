"""Drafts through the judge.

Guarantees: only drafts that passed become pairs, no kernel twice for one agent; what was dropped is
counted with its reason, and the judge's own faults apart from the kernels'.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from pydantic import Field

from coding_framework.data.pair_records import DraftPair, JudgeFunction, PairKind, SFTPair
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.errors import JudgeFault
from coding_framework.records import Candidate, Evaluation, Record, Verdict

MIN_OPTIMIZER_SPEEDUP = 1.02
"""An optimizer's answer that gains less teaches nothing."""

Progress = Callable[[int, "PairReport"], None]
"""Called after every draft with how many were judged and the report so far."""


class RejectedDraft(Record):
    """A draft that is not trained on, and why."""

    task: str
    """Name of the task."""
    reason: str
    """The verdict, or `duplicate`, `held out`, `not faster`, `judge fault`, ..."""
    message: str
    """The judge's words."""
    kind: PairKind = "write"
    """What would have been asked for."""


class PairReport(Record):
    """What came of a set of drafts."""

    pairs: tuple[SFTPair, ...] = ()
    """Drafts that passed."""
    rejected: tuple[RejectedDraft, ...] = ()
    """Drafts that did not."""
    seconds: float = Field(default=0.0, ge=0)
    """Wall-clock time of the judging."""

    @property
    def reasons(self) -> dict[str, int]:
        """How many drafts were dropped for each reason."""
        return dict(Counter(draft.reason for draft in self.rejected))

    @property
    def judged_per_minute(self) -> float:
        judged = len(self.pairs) + len(self.rejected)
        return 60.0 * judged / self.seconds if self.seconds else 0.0


def judge_pairs(
    drafts: Iterable[DraftPair],
    judge: JudgeFunction,
    progress: Progress | None = None,
    *,
    workers: int = 1,
    held_out: HeldOut | None = None,
) -> PairReport:
    """Judge every draft, `workers` at a time; keep those that pass, in the order of the drafts.

    With `held_out`, what is of a held-out family, task, formula, code or PTX is dropped as such.
    """
    start = time.perf_counter()
    pairs: list[SFTPair] = []
    rejected: list[RejectedDraft] = []
    for number, outcome in enumerate(_outcomes(drafts, judge, workers, held_out), start=1):
        if isinstance(outcome, SFTPair):
            pairs.append(outcome)
        else:
            rejected.append(outcome)
        if progress is not None:
            elapsed = time.perf_counter() - start
            progress(number, PairReport(pairs=tuple(pairs), rejected=tuple(rejected), seconds=elapsed))
    return PairReport(pairs=tuple(pairs), rejected=tuple(rejected), seconds=time.perf_counter() - start)


def _outcomes(
    drafts: Iterable[DraftPair], judge: JudgeFunction, workers: int, held_out: HeldOut | None
) -> Iterator[SFTPair | RejectedDraft]:
    """In order, a few drafts ahead of the one being waited for."""
    seen: set[tuple[str, str]] = set()
    waiting: deque[Future[SFTPair | RejectedDraft]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="pairs") as threads:
        try:
            for draft in drafts:
                identity = (draft.agent, Candidate(source=draft.source).digest)
                waiting.append(
                    threads.submit(_judge_one, draft, judge, held_out, is_new=identity not in seen)
                )
                seen.add(identity)
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _judge_one(
    draft: DraftPair, judge: JudgeFunction, held_out: HeldOut | None, *, is_new: bool
) -> SFTPair | RejectedDraft:
    candidate = Candidate(source=draft.source)
    if not is_new:
        return RejectedDraft(task=draft.task.name, reason="duplicate", message=candidate.digest)
    contaminated = held_out and (
        held_out.why_not_task(draft.task, draft.formula) or held_out.why_not_code(draft.source)
    )
    if contaminated:
        return RejectedDraft(task=draft.task.name, reason="held out", message=contaminated)
    try:
        evaluation = judge(draft.task, candidate)
    except JudgeFault as fault:
        return RejectedDraft(task=draft.task.name, reason="judge fault", message=str(fault))
    reason = _reason_to_reject(draft, evaluation)
    if reason is not None:
        return RejectedDraft(task=draft.task.name, reason=reason, message=evaluation.message)
    ptx = evaluation.compilation.ptx if evaluation.compilation else None
    contaminated = held_out.why_not_ptx(ptx) if held_out and ptx else None
    if contaminated:
        return RejectedDraft(task=draft.task.name, reason="held out", message=contaminated)
    return _accept(draft, candidate, evaluation)


def _reason_to_reject(draft: DraftPair, evaluation: Evaluation) -> str | None:
    if not evaluation.passed:
        return evaluation.verdict.value
    assert evaluation.speedup is not None
    must_be_faster = draft.agent == "optimizer" and not draft.repairs
    return "not faster" if must_be_faster and evaluation.speedup < MIN_OPTIMIZER_SPEEDUP else None


def _accept(draft: DraftPair, candidate: Candidate, evaluation: Evaluation) -> SFTPair:
    assert evaluation.speedup is not None
    return SFTPair(
        task=draft.task.name,
        agent=draft.agent,
        messages=draft.messages,
        answer=draft.answer,
        source=draft.source,
        family=draft.task.family,
        formula=draft.formula,
        verdict=Verdict.PASSED,
        speedup=evaluation.speedup,
        digest=candidate.digest,
        kind="write" if draft.agent == "generator" else "repair" if draft.repairs else "optimise",
        tier=draft.task.tier,
        time_kind=evaluation.timing.kind if evaluation.timing else "modelled",
    )
