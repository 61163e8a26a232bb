"""One draft through the judge: a pair that may be trained on, or the reason why it is not.

Guarantees: the answer passed the judge, under its own names or under the original's with the proof that
both texts are one program (`same_program.py`); the kernel of a repair prompt was rejected by the judge
under the very names and text that the prompt shows, with those words; the kernel of an optimisation
prompt passed, and the answer is faster than it by the judge's times; nothing that is held out gets
through. A fault of the judge is counted as one, never as the kernel's.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

from coding_framework.data.pair_records import (
    MIN_OPTIMIZER_SPEEDUP,
    BuildOptimizerPrompt,
    BuildPrompt,
    RejectedDraft,
    SFTPair,
    agent_of,
    answer_of,
)
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.known import KnownDraft, fenced
from coding_framework.data.pairs.restyle import DressedKernel
from coding_framework.data.pairs.same_program import Compile, is_same_program
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.errors import JudgeFault
from coding_framework.records import (
    Candidate,
    CompilationResult,
    Evaluation,
    Message,
    ModuleTask,
    Task,
    Verdict,
)

JUDGE_FAULT = "judge fault"
"""The reason of a draft that was not judged because of us."""


class Judges(Protocol):
    """Who judges: a `JudgePool`, or one judge."""

    def judge(self, task: Task | ModuleTask, candidate: Candidate, /) -> Evaluation: ...


class Refused(Exception):
    """Ends the way of a draft; never leaves this module."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass
class PairSettler:
    """Settles drafts, many at a time; remembers which structures have no hope."""

    judges: Judges
    compile_source: Compile
    build_prompt: BuildPrompt
    build_optimizer_prompt: BuildOptimizerPrompt
    held_out: HeldOut
    num_compiled: int = 0
    """Compilations asked for: of judged texts and of renamed ones."""
    num_from_cache: int = 0
    """Of these, found in the compile cache."""
    _hopeless: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settle(self, draft: CatalogueDraft | KnownDraft) -> SFTPair | RejectedDraft:
        """The pair, or why there is none."""
        try:
            return self._settle_known(draft) if isinstance(draft, KnownDraft) else self._settle(draft)
        except Refused as refusal:
            return self._rejected(draft, refusal.reason, str(refusal))
        except JudgeFault as fault:
            return self._rejected(draft, JUDGE_FAULT, str(fault))

    def _settle(self, draft: CatalogueDraft) -> SFTPair:
        self._refuse_held_out(draft)
        if draft.structure in self._hopeless:
            raise Refused("structure rejected", self._hopeless[draft.structure])
        answer = self._judge_answer(draft)
        return _pair(draft, self._messages(draft, answer), answer)

    def _settle_known(self, draft: KnownDraft) -> SFTPair:
        """Of a kernel that a source brings: judged under its own task and text."""
        self._refuse_held_out_kernels(draft)
        answer = self._judge_known(draft, draft.answer)
        if draft.shown is None:
            messages = self.build_prompt(draft.task)
        else:
            shown = self._judge_known(draft, draft.shown)
            _refuse_slower(answer, shown)
            messages = self.build_optimizer_prompt(draft.task, draft.shown.source, shown)
        return _known_pair(draft, messages, answer)

    def _refuse_held_out_kernels(self, draft: KnownDraft) -> None:
        if draft.task.family in self.held_out.families or draft.task.name in self.held_out.task_names:
            raise Refused("held out", f"task {draft.task.name} of family {draft.task.family} is held out")
        for kernel in (draft.answer, draft.shown):
            reason = self.held_out.why_not_code(kernel.source) if kernel is not None else None
            if reason is not None:
                raise Refused("held out", reason)

    def _judge_known(self, draft: KnownDraft, kernel: Candidate) -> Evaluation:
        evaluation = self.judges.judge(draft.task, kernel)
        self._count_compilation(evaluation)
        if not evaluation.passed:
            raise Refused(evaluation.verdict.value, evaluation.message)
        ptx = evaluation.compilation.ptx if evaluation.compilation is not None else None
        reason = self.held_out.why_not_ptx(ptx) if ptx else None
        if reason is not None:
            raise Refused("held out", reason)
        return evaluation

    def _refuse_held_out(self, draft: CatalogueDraft) -> None:
        for task in (draft.original, draft.task):
            if task.family in self.held_out.families or task.name in self.held_out.task_names:
                raise Refused("held out", f"task {task.name} of family {task.family} is held out")
        reason = self.held_out.why_not_task(draft.original, draft.formula)
        for kernel in (draft.answer, draft.shown):
            reason = reason or (self.held_out.why_not_code(kernel.kept) if kernel is not None else None)
        if reason is not None:
            raise Refused("held out", reason)

    def _judge_answer(self, draft: CatalogueDraft) -> Evaluation:
        evaluation = self._judge_dressed(draft, draft.answer)
        if not evaluation.passed:
            self._hopeless[draft.structure] = evaluation.message
            raise Refused(evaluation.verdict.value, evaluation.message)
        assert evaluation.compilation is not None
        reason = self.held_out.why_not_ptx(evaluation.compilation.ptx or "")
        if reason is not None:
            raise Refused("held out", reason)
        return evaluation

    def _judge_dressed(self, draft: CatalogueDraft, kernel: DressedKernel) -> Evaluation:
        """Under the original's names; a pass is proven to be one of the kept text too."""
        evaluation = self.judges.judge(draft.original, Candidate(source=kernel.judged))
        self._count_compilation(evaluation)
        if evaluation.passed:
            assert evaluation.compilation is not None
            ptx = evaluation.compilation.ptx or ""
            if not is_same_program(kernel, draft.original, draft.task, ptx, self._compile_counted):
                raise Refused("not the same program", "the renamed text does not compile to the judged code")
        return under_new_names(evaluation, draft, kernel)

    def _messages(self, draft: CatalogueDraft, answer: Evaluation) -> tuple[Message, ...]:
        if draft.shown is None:
            return self.build_prompt(draft.task)
        if draft.kind == "repair":
            shown = self.judges.judge(draft.task, Candidate(source=draft.shown.kept))
            self._count_compilation(shown)
            if shown.passed:
                raise Refused("mistake passes", f"with {draft.mistake} the kernel is still right")
        else:
            shown = self._judge_dressed(draft, draft.shown)
            if not shown.passed:
                raise Refused(shown.verdict.value, shown.message)
            assert answer.speedup is not None
            assert shown.speedup is not None
            if answer.speedup < MIN_OPTIMIZER_SPEEDUP * shown.speedup:
                message = (
                    f"not faster: {answer.speedup:.3f} against {shown.speedup:.3f} times the naive kernel"
                )
                self._hopeless[draft.structure] = message
                raise Refused("not faster", message)
        return self.build_optimizer_prompt(draft.task, draft.shown.kept, shown)

    def _compile_counted(self, source: str) -> CompilationResult:
        result = self.compile_source(source)
        self._count(result.from_cache)
        return result

    def _count_compilation(self, evaluation: Evaluation) -> None:
        if evaluation.compilation is not None:
            self._count(evaluation.compilation.from_cache)

    def _count(self, from_cache: bool) -> None:
        with self._lock:
            self.num_compiled += 1
            self.num_from_cache += from_cache

    @staticmethod
    def _rejected(draft: CatalogueDraft | KnownDraft, reason: str, message: str) -> RejectedDraft:
        return RejectedDraft(task=draft.task.name, reason=reason, message=message, kind=draft.kind)


def _refuse_slower(answer: Evaluation, shown: Evaluation) -> None:
    assert answer.speedup is not None
    assert shown.speedup is not None
    if answer.speedup < MIN_OPTIMIZER_SPEEDUP * shown.speedup:
        raise Refused("not faster", f"not faster: {answer.speedup:.3f} against {shown.speedup:.3f}")


def under_new_names(evaluation: Evaluation, draft: CatalogueDraft, kernel: DressedKernel) -> Evaluation:
    """The evaluation of the judged text as one of the kept text, under the renamed task."""
    names = dict(zip(draft.original.dimensions, draft.task.dimensions, strict=True))
    changes: dict[str, object] = {"task": draft.task.name, "candidate": Candidate(source=kernel.kept)}
    changes["checks"] = tuple(
        check.model_copy(update={"dimensions": {names[n]: s for n, s in check.dimensions.items()}})
        for check in evaluation.checks
    )
    if evaluation.timing is not None:
        sizes = {names[n]: s for n, s in evaluation.timing.dimensions.items()}
        changes["timing"] = evaluation.timing.model_copy(update={"dimensions": sizes})
    return evaluation.model_copy(update=changes)


def _pair(draft: CatalogueDraft, messages: tuple[Message, ...], answer: Evaluation) -> SFTPair:
    assert answer.timing is not None
    source = draft.answer.kept
    return SFTPair(
        task=draft.task.name,
        agent=agent_of(draft.kind),
        messages=messages,
        answer=answer_of(source),
        source=source,
        family=draft.original.family,
        formula=draft.formula,
        verdict=Verdict.PASSED,
        speedup=answer.timing.speedup,
        digest=Candidate(source=source).digest,
        kind=draft.kind,
        tier=draft.original.tier,
        original=draft.original.name,
        variant=draft.variant,
        mistake=draft.mistake,
        time_kind=answer.timing.kind,
    )


def _known_pair(draft: KnownDraft, messages: tuple[Message, ...], answer: Evaluation) -> SFTPair:
    assert answer.timing is not None
    return SFTPair(
        task=draft.task.name,
        agent=agent_of(draft.kind),
        messages=messages,
        answer=fenced(draft.answer),
        source=draft.answer.source,
        family=draft.task.family,
        formula=formula_key(draft.task.name),
        verdict=Verdict.PASSED,
        speedup=answer.timing.speedup,
        digest=draft.answer.digest,
        kind=draft.kind,
        tier=draft.task.tier,
        time_kind=answer.timing.kind,
        contract=draft.answer.contract,
    )
