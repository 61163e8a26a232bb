"""Hidden shapes that are known to run: the reference is executed with each of them, in another process.

Guarantees: what is kept ran on the CPU and gave finite numbers; the child is in a session of its own
and is killed with all it started when the time is up, and what it had answered by then counts. The
source is trusted as the judge trusts it: the child has no sandbox. It needs torch (extra `train`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import NamedTuple

from pydantic import Field

from coding_framework.data.archives.hidden_constants import derive_hidden_constants
from coding_framework.errors import MissingExtraError, NotAvailableError
from coding_framework.records import ModuleTask, Record

_MODULE = "coding_framework.data.archives.shape_probe"
MEMORY_BYTES = 16 << 30
"""Address space of the child: torch alone takes some GiB of it, the largest visible inputs six more."""


class DroppedChoice(Record):
    """Values that the reference did not run with."""

    constants: dict[str, int]
    """As they were proposed."""
    words: str
    """What the reference said, or that there was no time."""


class _Answer(Record):
    """What the child writes for one choice."""

    kept: dict[str, int]
    words: str


class VerifiedConstants(Record):
    """Which of the proposed shapes run."""

    kept: tuple[dict[str, int], ...]
    """Every one of them ran; a choice that failed as a whole is kept with the constants that work."""
    dropped: tuple[DroppedChoice, ...] = ()
    """Every choice that did not run as it was proposed."""
    timed_out: bool = False
    """Whether the time was up before all were tried."""
    timeout_s: float = Field(gt=0)
    """The limit for all of them together."""


def verified_hidden_constants(task: ModuleTask, *, timeout_s: float = 60.0) -> VerifiedConstants:
    """Try the task's hidden constants, or derived ones where it has none, within a time limit.

    Raises `MissingExtraError` without torch and `NotAvailableError` when the child cannot work at all.
    """
    choices = task.hidden_constants or derive_hidden_constants(task.source)
    if not choices:
        return VerifiedConstants(kept=(), timeout_s=timeout_s)
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "train")
    answers, timed_out = _all_answers(task.source, choices, timeout_s)
    kept: list[dict[str, int]] = []
    for answer in answers:
        if answer.kept and answer.kept not in kept:
            kept.append(answer.kept)
    dropped = tuple(
        DroppedChoice(constants=choice, words=answer.words)
        for choice, answer in zip(choices, answers, strict=True)
        if answer.words
    )
    return VerifiedConstants(kept=tuple(kept), dropped=dropped, timed_out=timed_out, timeout_s=timeout_s)


def with_verified_constants(task: ModuleTask, *, timeout_s: float = 60.0) -> ModuleTask:
    """The same task with hidden constants that run."""
    return task.model_copy(
        update={"hidden_constants": verified_hidden_constants(task, timeout_s=timeout_s).kept}
    )


def _all_answers(
    source: str, choices: tuple[dict[str, int], ...], timeout_s: float
) -> tuple[list[_Answer], bool]:
    """One answer for each choice; a choice that ends the child is left out and the next ones are asked."""
    answers: list[_Answer] = []
    deadline = time.monotonic() + timeout_s
    while len(answers) < len(choices):
        left_s = deadline - time.monotonic()
        ended = _ask(source, choices[len(answers) :], left_s) if left_s > 0 else _Ended((), None, "")
        answers += ended.answers
        missing = len(choices) - len(answers)
        if missing and ended.status is None:
            late = _Answer(kept={}, words=f"no answer within {timeout_s:g} s")
            return [*answers, *[late] * missing], True
        if missing and ended.status == 1:
            raise NotAvailableError(f"references cannot be run here: {ended.errors.strip()[-500:]}")
        if missing:
            answers.append(_Answer(kept={}, words=f"ended its process with status {ended.status}"))
    return answers, False


class _Ended(NamedTuple):
    """What became of one child."""

    answers: tuple[_Answer, ...]
    status: int | None
    """None: it was killed because the time was up."""
    errors: str


def _ask(source: str, choices: tuple[dict[str, int], ...], timeout_s: float) -> _Ended:
    child = subprocess.Popen(
        [sys.executable, "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "2"},
    )
    status: int | None = None
    try:
        request = {"source": source, "choices": choices, "memory_bytes": MEMORY_BYTES}
        output, errors = child.communicate(json.dumps(request), timeout=timeout_s)
        status = child.returncode
    except subprocess.TimeoutExpired:
        _kill(child)
        output, errors = child.communicate()
    finally:
        _kill(child)
    lines = [line for line in output.splitlines() if line.endswith("}")]
    return _Ended(tuple(_Answer.model_validate_json(line) for line in lines), status, errors)


def _kill(child: subprocess.Popen[str]) -> None:
    """Whatever the source started dies with it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
