"""What runs inside the actors of `ray_pool.py`; plain classes, so that they work without Ray as well.

A `JudgeHost` answers questions with the lanes of its machine. A `CompileHost` compiles on a machine
that need not have a GPU and hands the result over; the judging machine puts it into its own compile
cache, if its compiler would have made the same, and so loses no time on its GPU.
"""

from __future__ import annotations

import os
import threading

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompiledParcel, CompilerSettings, CUDACompiler
from coding_framework.cuda.lane_process import LaneFailure
from coding_framework.cuda.lanes import LaneAnswer
from coding_framework.cuda.pool import LocalLanes
from coding_framework.cuda.toolchain.detect import choose_architecture
from coding_framework.errors import FrameworkError
from coding_framework.records import Candidate, ModuleTask, Task


class JudgeHost:
    """The judging part of one machine, or of one GPU: `config.workers` lanes.

    They are made with the first question, because an error in making them must arrive as what it is.
    """

    def __init__(self, config: JudgeConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._made: tuple[LocalLanes, CUDACompiler] | None = None

    def describe(self) -> tuple[int, str]:
        """(process, architecture that its candidates are compiled for)."""
        return os.getpid(), choose_architecture(self._config.architecture)[0]

    def ask(
        self,
        task: Task | ModuleTask,
        candidate: Candidate,
        known: frozenset[str],
        parcel: CompiledParcel | None,
    ) -> LaneAnswer | LaneFailure:
        """A verdict, or an error of ours as a value: its class would not survive Ray's own wrapping."""
        try:
            lanes, compiler = self._parts()
            if parcel is not None:
                compiler.adopt(parcel)
            return lanes.ask(task, candidate, known)
        except FrameworkError as error:
            return LaneFailure.of(error)

    def _parts(self) -> tuple[LocalLanes, CUDACompiler]:
        with self._lock:
            if self._made is None:
                compiler = CUDACompiler(CompilerSettings.for_judge(self._config))
                self._made = LocalLanes(self._config), compiler
            return self._made

    def close(self) -> None:
        """End the lanes."""
        if self._made is not None:
            self._made[0].close()


class CompileHost:
    """A compiler for machines with GPUs elsewhere."""

    def __init__(self, config: JudgeConfig, architecture: str) -> None:
        chosen = config.model_copy(update={"architecture": architecture})
        self._compiler = CUDACompiler(CompilerSettings.for_judge(chosen))

    def describe(self) -> tuple[int, str]:
        """(process, architecture)."""
        return os.getpid(), self._compiler.architecture

    def compile(self, source: str) -> CompiledParcel | LaneFailure | None:
        """Compile and pack; None for a source that does not compile."""
        try:
            return self._compiler.parcel(source)
        except FrameworkError as error:
            return LaneFailure.of(error)
