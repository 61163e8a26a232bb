"""One judge that can be asked whether the code it just compiled is new.

`known` holds the code keys whose verdict the caller has; where the candidate's code is among them, the
judging ends after the compiler (contract and safety were checked on this very text) and the answer
says which one it is. The keys travel, the verdicts do not: a lane may be a process or a machine away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
from coding_framework.cuda.judge import Judge
from coding_framework.cuda.task_identity import code_digest
from coding_framework.records import Candidate, CompilationResult, Evaluation, Finding, ModuleTask, Task


@dataclass(frozen=True)
class LaneAnswer:
    """A verdict, or the key of one that the asker has."""

    evaluation: Evaluation | None
    """None: the code is known under `code_key`."""
    code_key: str
    """Empty for what was not compiled, and for contracts with host code."""
    compilation: CompilationResult | None
    duration_s: float
    findings: tuple[Finding, ...] = ()
    """Of this very text, where the code is known."""


def compiled_ahead(answer: LaneAnswer, first: CompilationResult) -> LaneAnswer:
    """The lane found in its cache what another machine had put there: that one knows whether it was new."""
    if answer.compilation is None:
        return answer
    told = answer.compilation.model_copy(update={"from_cache": first.from_cache})
    return replace(answer, compilation=told)


class Lane(Protocol):
    """Whoever judges one candidate at a time. Raises `JudgeFault` for faults of ours."""

    def judge(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer: ...

    def close(self) -> None: ...


def code_key(task: Task | ModuleTask, candidate: Candidate, compilation: CompilationResult) -> str:
    """Equal for candidates that launch the same code in the same way for the same task; else empty."""
    if isinstance(task, ModuleTask) or candidate.contract != "kernel" or not compilation.ptx_key:
        return ""
    try:
        plan = parse_launch_plan(candidate.source, task)
    except ContractViolation:
        return ""
    return code_digest(task, plan, compilation)


class _KnownCode(Exception):
    """Ends a judgement whose outcome the asker has; never leaves this module."""


class _WatchedCompiler(CUDACompiler):
    """Tells of every compilation before the judge hears of it."""

    watch: Callable[[str, CompilationResult], None] | None = None

    def compile(self, source: str) -> CompilationResult:
        result = super().compile(source)
        if self.watch is not None:
            self.watch(source, result)
        return result


class JudgeLane:
    """A judge in this process (its compiler and its executor have processes of their own)."""

    def __init__(self, config: JudgeConfig) -> None:
        self._compiler = _WatchedCompiler(CompilerSettings.for_judge(config))
        self._judge = Judge(config, compiler=self._compiler)

    def judge(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        """The verdict, or the key under which the asker has it."""
        started, seen = time.perf_counter(), _Seen()

        def watch(source: str, result: CompilationResult) -> None:
            if source == candidate.source and seen.compilation is None:
                seen.compilation, seen.code_key = result, code_key(task, candidate, result)
                if seen.code_key and seen.code_key in known:
                    raise _KnownCode

        self._compiler.watch = watch
        evaluation: Evaluation | None = None
        findings: tuple[Finding, ...] = ()
        try:
            evaluation = self._judge.judge(task, candidate)
        except _KnownCode:
            findings = self._judge.findings(candidate)
        finally:
            self._compiler.watch = None
        return LaneAnswer(
            evaluation, seen.code_key, seen.compilation, time.perf_counter() - started, findings
        )

    def close(self) -> None:
        """End its processes."""
        self._judge.close()


@dataclass
class _Seen:
    """What the compiler said of the candidate."""

    compilation: CompilationResult | None = None
    code_key: str = ""
