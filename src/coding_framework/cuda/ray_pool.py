"""The pool over the machines of a Ray cluster; the same interface and the same records as `JudgePool`.

Where the cluster has GPUs (and the configuration does not ask for the emulator), every GPU gets one
judging actor that leases it alone, and actors on CPUs compile ahead of it. Without GPUs every actor
has one CPU and judges on the emulator. An actor or a machine that dies loses nothing: a new actor
takes its place where the cluster has room, and its question is asked again. An actor that cannot be
started again leaves the pool; only when the last one has left, or a question failed `MAX_ATTEMPTS`
times, is a fault raised. The package must be installed on every machine.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from coding_framework.config import JudgeConfig
from coding_framework.cuda.compiler import CompiledParcel
from coding_framework.cuda.lane_process import LaneFailure
from coding_framework.cuda.lanes import LaneAnswer, compiled_ahead
from coding_framework.cuda.pool import JudgePool
from coding_framework.cuda.ray_actors import ActorGroup, cluster_size, connect
from coding_framework.cuda.ray_hosts import CompileHost, JudgeHost
from coding_framework.errors import JudgeFault, NotAvailableError
from coding_framework.records import Candidate, ModuleTask, Task

_ALLOWANCE_S = 120.0
_LANES_OF_A_GPU = 8
"""A judgement compiles on the CPU and waits for other lanes on the GPU."""


class RayJudgePool(JudgePool):
    """`JudgePool` whose lanes are actors."""

    def __init__(self, config: JudgeConfig | None = None) -> None:
        chosen = config or JudgeConfig()
        self._actors = RayLanes(chosen)
        super().__init__(chosen, lanes=self._actors)

    @property
    def process_ids(self) -> list[int]:
        """The judging actors' processes, each on its own machine."""
        return self._actors.process_ids


class RayLanes:
    """Actors that judge, and on a cluster with GPUs actors that compile for them."""

    def __init__(self, config: JudgeConfig) -> None:
        connect()
        num_cpus, num_gpus = cluster_size()
        num_gpus = min(num_gpus, config.cluster_gpus or num_gpus)
        self._limit_s = 10 * (config.compile_timeout_s + config.total_timeout_s) + _ALLOWANCE_S
        self._compilers: ActorGroup | None = None
        if wants_gpus(config, num_gpus):
            self._judges = _gpu_judges(config, num_gpus)
            self._compilers = _compilers(config, num_cpus, architecture=self._judges.describe()[1])
        else:
            self._judges = _cpu_judges(config, num_cpus)
        self.width = self._judges.width

    @property
    def process_ids(self) -> list[int]:
        """The judging actors' processes, each on its own machine."""
        return self._judges.process_ids()

    def ask(self, task: Task | ModuleTask, candidate: Candidate, known: frozenset[str]) -> LaneAnswer:
        """On the actor that has been idle for longest, with the code compiled ahead where that helps."""
        parcel = self._compiled(candidate)
        answer: LaneAnswer | LaneFailure = self._judges.call(
            "ask", task, candidate, known, parcel, timeout_s=self._limit_s
        )
        if isinstance(answer, LaneFailure):
            raise answer.rebuilt()
        return answer if parcel is None else compiled_ahead(answer, parcel.result)

    def close(self) -> None:
        """End the actors; the cluster stays as it was."""
        self._judges.close()
        if self._compilers is not None:
            self._compilers.close()

    def _compiled(self, candidate: Candidate) -> CompiledParcel | None:
        """None where the judging machine is to compile for itself: it can, so no fault is raised here."""
        if self._compilers is None or candidate.contract != "kernel":
            return None
        try:
            answer = self._compilers.call("compile", candidate.source, timeout_s=self._limit_s)
        except JudgeFault:
            return None
        return answer if isinstance(answer, CompiledParcel) else None


def wants_gpus(config: JudgeConfig, num_gpus: int) -> bool:
    """Whether to judge on GPUs; raises `NotAvailableError` where they are asked for and there are none."""
    if config.executor == "gpu" and not num_gpus:
        raise NotAvailableError(
            "judge.executor=gpu, but no machine of the Ray cluster has a GPU: add one, or use executor=auto"
        )
    return config.executor != "emulator" and num_gpus > 0


def _cpu_judges(config: JudgeConfig, num_cpus: int) -> ActorGroup:
    single = config.model_copy(update={"workers": 1, "executor": "emulator"})
    count = max(1, min(config.workers or num_cpus, num_cpus))
    return ActorGroup(JudgeHost, (single,), count=count, lanes=1, num_cpus=1)


def _gpu_judges(config: JudgeConfig, num_gpus: int) -> ActorGroup:
    workers = config.workers or _LANES_OF_A_GPU * num_gpus
    count = min(num_gpus, workers)
    lanes = ceil(workers / count)
    one = config.model_copy(update={"workers": lanes})
    return ActorGroup(JudgeHost, (one,), count=count, lanes=lanes, num_cpus=1, num_gpus=1)


def _compilers(config: JudgeConfig, num_cpus: int, architecture: str) -> ActorGroup:
    count = max(1, min(config.workers or num_cpus, num_cpus // 2))
    arguments: tuple[Any, ...] = (config, architecture)
    return ActorGroup(CompileHost, arguments, count=count, lanes=1, num_cpus=1)
