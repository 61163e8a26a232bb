"""A policy for each agent, trained one after the other (`rl.adapters = per_agent`).

The generator learns from its first kernels alone. Then the optimizer learns from what it makes of kernels
that the trained generator wrote (`openings`). Each trains as `run_rl` has it, in folders of its own below
`rl/`, `checkpoints/rl/` and `models/rl/`; `models/rl` itself then says who speaks with what, and is what a
chat model is opened from. Guaranteed: a run that was stopped goes on with the policy that it had come to;
when the generator learns on, the optimizer begins anew, since it learns from the generator's kernels.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from coding_framework.agents.models.agent_folder import AgentFolder
from coding_framework.errors import ConfigError, TrainingInterrupted
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import storage_errors, sync_below
from coding_framework.records import AgentRole
from coding_framework.training.rl.launch import OnSaved, OnStep, RLJob, RLResult, ShouldStop, run_rl
from coding_framework.training.rl.opening_player import first_turn_alone, play_openings
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.requirements import NO_TURN_FOR_THE_OPTIMIZER
from coding_framework.training.rl.verl_process import quiet_folder, ray_folder
from coding_framework.training.sft.by_agent import model_of_agent

log = structlog.stdlib.get_logger(__name__)

GENERATOR_PHASE, OPTIMIZER_PHASE = "rl_generator", "rl_optimizer"
"""Of the run's state, where the result of each is kept."""


async def run_rl_by_agent(
    job: RLJob,
    *,
    on_step: OnStep | None = None,
    on_saved: OnSaved | None = None,
    should_stop: ShouldStop | None = None,
    resume: bool = False,
) -> RLResult:
    """As `run_rl`, for one policy or both; the steps of the second are counted on from the first's."""
    if job.config.rl.adapters == "shared":
        return await run_rl(job, on_step=on_step, on_saved=on_saved, should_stop=should_stop, resume=resume)
    if job.settings.conversation.max_turns < 2:
        raise ConfigError(NO_TURN_FOR_THE_OPTIMIZER)
    training = _Training(job, RunFolder(job.settings.run_dir), on_step, on_saved, should_stop)
    generator = training.result(GENERATOR_PHASE) if resume else None
    generator = generator or await training.generator(resume)
    optimizer = training.result(OPTIMIZER_PHASE) or await training.optimizer(generator)
    return _joined(generator, optimizer)


@dataclass(frozen=True)
class _Training:
    """Both policies of one run."""

    job: RLJob
    run: RunFolder
    on_step: OnStep | None
    on_saved: OnSaved | None
    should_stop: ShouldStop | None

    def result(self, phase: str) -> RLResult | None:
        """None where there are steps to do."""
        done = self.run.phase_result(phase, RLResult)
        return done if done is not None and done.steps >= self.job.config.rl.steps else None

    async def generator(self, resume: bool) -> RLResult:
        start = time.monotonic()
        _begin_optimizer_anew(self.run, self.job)
        job = _part_of(self.job, "generator")
        job = replace(job, settings=first_turn_alone(job.settings))
        return await self._train(GENERATOR_PHASE, job, start, resume)

    async def optimizer(self, generator: RLResult) -> RLResult:
        start = time.monotonic()
        if self.should_stop is not None and self.should_stop():
            raise TrainingInterrupted("stopped before the policy of the optimizer")
        job = _part_of(self.job, "optimizer", steps_before=generator.steps)
        await play_openings(job, generator.model_path, self.should_stop)
        return await self._train(OPTIMIZER_PHASE, job, start, resume=True)

    async def _train(self, phase: str, job: RLJob, start: float, resume: bool) -> RLResult:
        log.info("policy_of_an_agent", agent=job.settings.agent, starts_from=str(job.model_path))
        told: dict[str, Any] = {"on_step": self.on_step, "on_saved": self.on_saved}
        result = await run_rl(job, **told, should_stop=self.should_stop, resume=resume)
        with storage_errors(result.model_path):
            sync_below(result.model_path)
        self.run.mark_done(phase, result, seconds=time.monotonic() - start)
        return result


def _part_of(job: RLJob, agent: AgentRole, steps_before: int = 0) -> RLJob:
    settings = job.settings.model_copy(update={"agent": agent, "steps_before": steps_before})
    return replace(job, settings=settings, model_path=model_of_agent(job.model_path, agent))


def _joined(generator: RLResult, optimizer: RLResult) -> RLResult:
    """Whoever else speaks in a conversation, such as the tester, speaks as the generator does."""
    folder = generator.model_path.parent
    names: dict[AgentRole, Path] = {"optimizer": Path(optimizer.model_path.name)}
    AgentFolder(model=Path(generator.model_path.name), models=names).write(folder)
    steps = generator.steps + optimizer.steps
    return optimizer.model_copy(update={"steps": steps, "model_path": folder})


def _begin_optimizer_anew(run: RunFolder, job: RLJob) -> None:
    """Nothing stays of what was learnt from an earlier generator, nor of processes that were killed there."""
    if (run.path / "rl" / "optimizer").exists():
        log.info("optimizer_begins_anew", because="its generator learns on")
        with ray_folder() as unused, quiet_folder(RLPaths(run.path, job.model_path, unused, "optimizer")):
            log.debug("optimizer_is_quiet")
    run.forget_phases(GENERATOR_PHASE, OPTIMIZER_PHASE)
    for parent in (run.path, run.checkpoints, run.models):
        shutil.rmtree(parent / "rl" / "optimizer", ignore_errors=True)
