"""wandb: offline below `<run>/wandb/`, for `wandb sync`, or online.

Each start of a run makes an offline folder of its own under the same id, as wandb does for what resumes.
What is held is read from these files, so a point that a killed process had not written out comes again,
and one that it had does not. Online the server says how far the run is.
Nothing but our numbers is sent: no console, no code, no git, no readings of wandb's own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence

from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.monitoring.sinks.base import SinkPlace, named_values
from coding_framework.monitoring.sinks.wandb_files import last_step

_FLUSH_S = 1.0
_INIT_TIMEOUT_S = 60.0


class WandbSink:
    """One wandb run, or the part of it that this process adds."""

    def __init__(self, place: SinkPlace) -> None:
        os.environ["WANDB_ERROR_REPORTING"] = "false"
        import wandb

        settings = place.settings
        self._folder = place.run / "wandb"
        self._folder.mkdir(exist_ok=True)
        self._phases: set[str] = set()
        self._online = settings.wandb_mode == "online"
        self._held = last_step(self._folder, place.identity)
        self._wait_for_a_folder_of_its_own(place.identity)
        self._run = wandb.init(
            project=settings.project,
            entity=settings.wandb_entity,
            id=place.identity,
            name=place.name,
            dir=str(place.run),
            config=json.loads(place.config_json),
            mode=settings.wandb_mode,
            resume="allow",
            settings=wandb.Settings(
                console="off",
                silent=True,
                init_timeout=_INIT_TIMEOUT_S,
                disable_git=True,
                disable_code=True,
                disable_job_creation=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_disable_machine_info=True,
                x_save_requirements=False,
                x_transaction_log_flush_interval=_FLUSH_S,
            ),
        )

    def held(self) -> int:
        if self._online:
            return max(0, int(self._run.starting_step) - 1)
        return self._held

    def write(self, first: int, points: Sequence[MetricPoint]) -> None:
        for number, point in enumerate(points, start=first + 1):
            self._name_axis(point.phase)
            row = {f"{point.phase}/step": point.step} | named_values(point)
            self._run.log(row, step=number, commit=True)

    def close(self) -> None:
        """The service ends too: while it lives, it takes the run for one that is under way."""
        import wandb

        self._run.finish(exit_code=0)
        wandb.teardown(exit_code=0)

    def _wait_for_a_folder_of_its_own(self, identity: str) -> None:
        """wandb names it after the second, and would write over that of a start in the same one."""
        while any(self._folder.glob(f"*run-{time.strftime('%Y%m%d_%H%M%S')}-{identity}")):
            time.sleep(0.1)

    def _name_axis(self, phase: str) -> None:
        """Each phase counts its own steps."""
        if phase not in self._phases:
            self._phases.add(phase)
            self._run.define_metric(f"{phase}/step", hidden=True)
            self._run.define_metric(f"{phase}/*", step_metric=f"{phase}/step")
