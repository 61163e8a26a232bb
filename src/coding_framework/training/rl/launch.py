"""One RL phase from start to finish: verl in processes of its own, watched by this one.

Guaranteed: no process of verl or Ray outlives the call, whether it returns, raises or is cancelled;
every step is reported once and stored under `rl/` of the run folder; a run that is started again with
`resume` goes on after the last checkpoint whose step was reported, and what was written down beyond it
is taken back. A fatal error in a worker, a process that dies and a full disk each end the run with their
words. When asked to stop, the step under way is finished and saved.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coding_framework.config import FrameworkConfig
from coding_framework.errors import (
    StorageError,
    TrainingError,
    TrainingInterrupted,
)
from coding_framework.monitoring.rewind import rewind
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.monitoring.storage import append_line, keep_lines, storage_errors
from coding_framework.records import Record
from coding_framework.training.rl.checkpoints import (
    go_back_to_recorded,
    latest_checkpoint,
    prune_checkpoints,
    saved_step,
)
from coding_framework.training.rl.environment import build_environment
from coding_framework.training.rl.export import export_apart
from coding_framework.training.rl.overrides import build_overrides
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.prompts_file import num_prompts, write_prompts
from coding_framework.training.rl.requirements import require_what_rl_needs
from coding_framework.training.rl.start_stages import stage_seconds, start_file, write_stage
from coding_framework.training.rl.step_watcher import StepWatcher
from coding_framework.training.rl.verl_log import last_error
from coding_framework.training.rl.verl_process import quiet_folder, ray_folder, supervised
from coding_framework.training.rl.worker_settings import WorkerSettings

OnStep = Callable[[int, dict[str, float]], None]
OnSaved = Callable[[int], object]
ShouldStop = Callable[[], bool]
_POLL_S = 0.5
_FULL_BYTES = 2**22
"""With less left on the disk than that, somebody's write has failed or is about to."""


class RLResult(Record):
    """What an RL phase left behind."""

    steps: int
    """Policy updates in all, those before a resume included."""
    model_path: Path
    """The trained model, adapters merged; with a policy for each agent the folder that names their models."""
    metrics_path: Path
    """One `MetricPoint` a line; with a policy for each agent the last one's."""
    last_checkpoint: Path
    """Where a resumed run would start."""


@dataclass(frozen=True)
class RLJob:
    """What to train on what."""

    config: FrameworkConfig
    settings: WorkerSettings
    model_path: Path
    tasks: Sequence[str]


async def run_rl(
    job: RLJob,
    *,
    on_step: OnStep | None = None,
    on_saved: OnSaved | None = None,
    should_stop: ShouldStop | None = None,
    resume: bool = False,
) -> RLResult:
    """Train, then export the model. `on_saved` is told up to which step a checkpoint has everything."""
    require_what_rl_needs(job.config.rl)
    with ray_folder() as ray_temp_dir:
        run_dir, agent = job.settings.run_dir.resolve(), job.settings.agent
        paths = RLPaths(run_dir, job.model_path.resolve(), ray_temp_dir, agent)
        with quiet_folder(paths) as lock:
            if not resume:
                shutil.rmtree(paths.checkpoints, ignore_errors=True)
            if _take_back(job.settings, paths) < job.config.rl.steps:
                await _train(job, paths, lock, _Teller(job.settings, paths, on_step, on_saved), should_stop)
    return await asyncio.to_thread(_finish, job, paths)


def _take_back(settings: WorkerSettings, paths: RLPaths) -> int:
    """The step to go on from; what was written down beyond it goes, since it will be done again."""
    before = settings.steps_before
    recorded = {step - before for line in _lines(settings.steps_file) if (step := _step_of(line)) is not None}
    last = go_back_to_recorded(paths.checkpoints, recorded)
    rewind(RunFolder(paths.run_dir), "rl", before + last)
    for file in (
        settings.steps_file,
        settings.fault_file,
        settings.activity_file,
        settings.judge_file,
        settings.curriculum_file,
    ):
        keep_lines(file, lambda line: (step := _step_of(line)) is not None and step <= before + last)
    return last


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def _step_of(line: bytes) -> int | None:
    """None for a line that was cut off."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError):
        return None


@dataclass
class _Teller:
    """Reports each step once, and what is saved of them."""

    settings: WorkerSettings
    paths: RLPaths
    on_step: OnStep | None
    on_saved: OnSaved | None

    def tell(self, point: MetricPoint) -> None:
        if self.on_step is not None:
            self.on_step(point.step, dict(point.values))
        # Last: what stands there was reported.
        append_line(self.settings.steps_file, point.model_dump_json())
        if self.on_saved is not None:
            before = self.settings.steps_before
            self.on_saved(before + saved_step(self.paths.checkpoints, range(point.step - before + 1)))


async def _train(
    job: RLJob, paths: RLPaths, lock: int, teller: _Teller, should_stop: ShouldStop | None
) -> None:
    environment = _prepare(job, paths)
    write_stage(paths.rl_dir, "asked")
    command = [
        sys.executable,
        "-m",
        "coding_framework.training.rl.verl_run",
        *build_overrides(job.config, paths),
    ]
    watcher = StepWatcher(paths.step_metrics, job.settings)
    with supervised(command, environment, paths, lock) as process:
        await _watch(process, watcher, job.settings, teller, should_stop)
    if process.returncode:
        _require_room(paths.run_dir)
        if job.settings.stop_file.exists():
            raise TrainingInterrupted(f"stopped after step {_steps_done(paths)} of {job.config.rl.steps}")
        raise TrainingError(
            f"verl ended with code {process.returncode}: {last_error(paths.log)}; see {paths.log}"
        )


async def _watch(
    process: subprocess.Popen[bytes],
    watcher: StepWatcher,
    settings: WorkerSettings,
    teller: _Teller,
    should_stop: ShouldStop | None,
) -> None:
    """Until the process ends, or a stop was asked for before the first step began."""
    while True:
        await asyncio.sleep(_POLL_S)
        ended = process.poll() is not None
        _report(watcher, settings, teller)
        _require_room(settings.run_dir)
        if settings.lost_file.exists():
            raise TrainingError(settings.lost_file.read_text())
        if ended:
            return
        if should_stop is not None and should_stop():
            settings.stop_file.touch()
            if "ready" not in stage_seconds(settings.rl_dir):
                return


def _report(watcher: StepWatcher, settings: WorkerSettings, teller: _Teller) -> None:
    for point in watcher.new_points():
        teller.tell(point)
    if watcher.fatal is not None and not settings.lost_file.exists():
        raise TrainingError(f"an episode on '{watcher.fatal.task}' failed: {watcher.fatal.error}")


def _require_room(folder: Path) -> None:
    if shutil.disk_usage(folder).free < _FULL_BYTES:
        raise StorageError(f"the disk of {folder} is full: free some space, then go on with --resume")


def _prepare(job: RLJob, paths: RLPaths) -> dict[str, str]:
    """Everything on disk that the processes read; old leavings of an earlier start removed."""
    order = {
        "tasks": tuple(job.tasks),
        "curriculum": job.config.curriculum,
        "seed": job.config.run.seed,
    }
    with storage_errors(paths.run_dir):
        worker_settings = job.settings.model_copy(update=order).write()
        stale = (job.settings.stop_file, job.settings.lost_file, paths.step_metrics, start_file(paths.rl_dir))
        for file in stale:
            file.unlink(missing_ok=True)
        for folder in (paths.log.parent, paths.checkpoints, paths.exported_model.parent):
            folder.mkdir(parents=True, exist_ok=True)
        prune_checkpoints(paths.checkpoints, keep=1)
        write_prompts(paths.prompts, num_prompts(job.config.rl))
    return build_environment(job.config, paths, worker_settings)


def _finish(job: RLJob, paths: RLPaths) -> RLResult:
    latest = latest_checkpoint(paths.checkpoints)
    if latest is None:
        raise TrainingError(f"verl ended without a checkpoint; see {paths.log}")
    step, folder = latest
    if step < job.config.rl.steps:
        raise TrainingInterrupted(f"stopped after step {step} of {job.config.rl.steps}")
    export_apart(folder, paths.model_path, paths.exported_model, job.config.model.dtype)
    prune_checkpoints(paths.checkpoints, keep=1)
    return RLResult(
        steps=step,
        model_path=paths.exported_model,
        metrics_path=job.settings.steps_file,
        last_checkpoint=folder,
    )


def _steps_done(paths: RLPaths) -> int:
    latest = latest_checkpoint(paths.checkpoints)
    return latest[0] if latest else 0
