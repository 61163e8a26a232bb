"""What a pool has judged already: by text, and by code.

The same text for the same task has the same verdict. So has the same code under the same launch plan,
if it passed: a rejection speaks of the candidate's own lines, so it is found anew for each text, and
so is a pass that came with findings about lines. Bounded; the least recently used go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict

from coding_framework.records import Candidate, CompilationResult, Evaluation, Finding, Gate

MAX_REMEMBERED = 4096


class VerdictMemory:
    """Evaluations by task and text and, for those that passed, by task and code key. Safe between threads.

    A task is told by its name and its digest.
    """

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._by_text: OrderedDict[tuple[str, str], Evaluation] = OrderedDict()
        self._by_code: OrderedDict[tuple[str, str], Evaluation] = OrderedDict()
        self._codes_of_task: defaultdict[str, set[str]] = defaultdict(set)

    def by_text(self, task: str, digest: str) -> Evaluation | None:
        """The evaluation of this very text."""
        with self._lock:
            found = self._by_text.get((task, digest))
            if found is not None:
                self._by_text.move_to_end((task, digest))
            return found

    def by_code(self, task: str, code_key: str) -> Evaluation | None:
        """The evaluation of a text with this code."""
        with self._lock:
            found = self._by_code.get((task, code_key))
            if found is not None:
                self._by_code.move_to_end((task, code_key))
            return found

    def codes(self, task: str) -> frozenset[str]:
        """The code keys that are known for a task."""
        with self._lock:
            return frozenset(self._codes_of_task[task])

    def keep(self, task: str, digest: str, code_key: str, evaluation: Evaluation) -> None:
        """Remember one."""
        with self._lock:
            self._by_text[(task, digest)] = evaluation
            if code_key and evaluation.passed and not evaluation.findings:
                self._by_code[(task, code_key)] = evaluation
                self._codes_of_task[task].add(code_key)
            self._forget()

    def _forget(self) -> None:
        while len(self._by_text) > self._limit:
            self._by_text.popitem(last=False)
        while len(self._by_code) > self._limit:
            (task, code_key), _ = self._by_code.popitem(last=False)
            self._codes_of_task[task].discard(code_key)


def restated(
    evaluation: Evaluation,
    candidate: Candidate,
    compilation: CompilationResult,
    findings: tuple[Finding, ...],
    duration_s: float,
) -> Evaluation:
    """A pass of the same code as the evaluation of this candidate: with its text, findings and time."""
    if not evaluation.passed:
        raise ValueError("only a pass is the same for every text with the same code")
    own = {"candidate": candidate, "compilation": compilation, "findings": findings, "source_line": None}
    return evaluation.model_copy(update={**own, "gate_seconds": {Gate.COMPILE: duration_s}})
