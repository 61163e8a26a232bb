"""A prompt with its answer, as judged.

Guarantees: a pair that may be trained on passed the judge, and its answer holds exactly the kernel
that was judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records import (
    AgentRole,
    Candidate,
    Contract,
    Evaluation,
    Message,
    ModuleTask,
    Record,
    Task,
    TimeKind,
    Verdict,
)

BuildPrompt = Callable[[Task | ModuleTask], tuple[Message, ...]]
BuildOptimizerPrompt = Callable[[Task | ModuleTask, str, Evaluation], tuple[Message, ...]]
"""From a task, the kernel to improve and what the judge said of it."""
PairKind = Literal["write", "repair", "optimise"]
"""A kernel from a request, a right kernel from a broken one, a faster kernel from a slower one."""

MIN_OPTIMIZER_SPEEDUP = 1.02
"""An optimizer's answer that gains less teaches nothing."""
PAIR_KINDS: tuple[PairKind, ...] = ("write", "repair", "optimise")


def agent_of(kind: PairKind) -> AgentRole:
    """Whose answer a pair of this kind is."""
    return "generator" if kind == "write" else "optimizer"


def answer_of(source: str) -> str:
    """Exactly one fenced block, as the contract's prompt asks for."""
    return f"```cuda\n{source.strip()}\n```"


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


class SFTPair(Record):
    """A pair that may be trained on."""

    task: str
    """Name of the task."""
    agent: AgentRole
    """Whose answer it is."""
    messages: tuple[Message, ...]
    """The prompt."""
    answer: str
    """What the model is to say."""
    source: str
    """The kernel in the answer."""
    family: str
    """Family of the task."""
    formula: str
    """Key of the formula."""
    verdict: Verdict
    """What the judge said: always that it passed."""
    speedup: float = Field(gt=0)
    """Over the naive kernel, as the judge measured or modelled it."""
    digest: str
    """Content address of the kernel."""
    kind: PairKind = "write"
    """What is asked for."""
    tier: int = Field(default=0, ge=0, le=3)
    """Tier of the task."""
    original: str = ""
    """The task under whose names it was judged; empty: its own."""
    variant: str = ""
    """Which kernel of the task the answer is; empty where that is not known."""
    mistake: str = ""
    """What was wrong with the kernel that a repair starts from."""
    time_kind: TimeKind = "modelled"
    """Whether `speedup` comes from measured or from modelled times."""
    contract: Contract = "kernel"
    """How the answer is built and called."""

    @model_validator(mode="after")
    def _it_was_judged_and_passed(self) -> SFTPair:
        if self.verdict is not Verdict.PASSED:
            raise ValueError(f"a pair whose kernel is {self.verdict.value} cannot be trained on")
        if self.digest != Candidate(source=self.source, contract=self.contract).digest:
            raise ValueError("the digest does not belong to the source")
        if self.source.strip() not in self.answer:
            raise ValueError("the answer does not hold the source that was judged")
        return self
