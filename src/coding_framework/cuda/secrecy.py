"""Numbers that a candidate cannot know: seeds of inputs, the secret shape, orders of blocks, poison.

Without a secret they are fresh in every judgement. With one they follow from it and from the code (task,
launch plan, PTX), so that the same code is judged on the same numbers whenever and wherever it is judged:
a training that is killed and resumed gives the rewards of one that was not. A candidate would have to hold
numbers that follow from a digest of itself and of a secret it never sees.

Not repeatable either way: limits by the clock on the wall, and times that are measured.
"""

from __future__ import annotations

import random

from coding_framework.config import JudgeConfig


class Secrets:
    """A stream of them; each number is drawn once."""

    def __init__(self, key: str | None = None) -> None:
        self._random = random.SystemRandom() if key is None else random.Random(key)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


def secrets_of(secret: str | None, code: str) -> Secrets:
    """For one judgement of the code with this digest (`task_identity.code_digest`)."""
    return Secrets() if secret is None else Secrets("\0".join((secret, code)))


def repeatable(judge: JudgeConfig, seed: int) -> JudgeConfig:
    """The judge of a run with this seed, with a secret of the run where verdicts can be repeated at all.

    The config is a resolved one. Measured times are never the same twice, and a GPU keeps its fresh inputs.
    """
    if judge.executor != "emulator" or judge.secret is not None:
        return judge
    return judge.model_copy(update={"secret": f"run {seed}"})
