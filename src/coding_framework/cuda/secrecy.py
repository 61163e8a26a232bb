"""Numbers that a candidate cannot know: seeds of inputs, the secret shape, orders of blocks, poison.

Without a secret they are fresh in every judgement. With one they follow from it and from the code (task,
launch plan, PTX), so that the same code is judged on the same numbers whenever and wherever it is judged:
a training that is killed and resumed gives the rewards of one that was not. A candidate would have to hold
numbers that follow from a digest of itself and of a secret it never sees.

Not repeatable either way: limits by the clock on the wall, and times that are measured.
"""

from __future__ import annotations

import hashlib
import random

from coding_framework.config import JudgeConfig
from coding_framework.records import CompilationResult, LaunchPlan, Task

_PLACES = {"launches": {"__all__": {"line", "text"}}, "scratch": {"__all__": {"line"}}}


class Secrets:
    """A stream of them; each number is drawn once."""

    def __init__(self, key: str | None = None) -> None:
        self._random = random.SystemRandom() if key is None else random.Random(key)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


def secrets_of(secret: str | None, task: Task, plan: LaunchPlan, compilation: CompilationResult) -> Secrets:
    """For one judgement of this code."""
    if secret is None:
        return Secrets()
    return Secrets("\0".join((secret, code_digest(task, plan, compilation))))


def code_digest(task: Task, plan: LaunchPlan, compilation: CompilationResult) -> str:
    """Equal for code that is launched in the same way for the same task, whatever its text."""
    code = compilation.ptx_key or compilation.ptx or ""
    words = (task.name, plan.model_dump_json(exclude=_PLACES), code)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def repeatable(judge: JudgeConfig, seed: int) -> JudgeConfig:
    """The judge of a run with this seed, with a secret of the run where verdicts can be repeated at all.

    The config is a resolved one. Measured times are never the same twice, and a GPU keeps its fresh inputs.
    """
    if judge.executor != "emulator" or judge.secret is not None:
        return judge
    return judge.model_copy(update={"secret": f"run {seed}"})
