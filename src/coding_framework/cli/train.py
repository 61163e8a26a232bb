"""`cuda-rl train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption
from coding_framework.errors import TrainingInterrupted, UserError

if TYPE_CHECKING:
    from coding_framework.config import FrameworkConfig
    from coding_framework.monitoring.run_folder import RunFolder
    from coding_framework.pipeline import TrainingOutcome


def train(
    config: ConfigOption = None,
    set_: SetOption = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="Continue this run folder where it stopped.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Train: SFT, then multi-turn RL under verl, then the held-out evaluation and a report."""
    from coding_framework.cli.output import print_record
    from coding_framework.config import load_config
    from coding_framework.pipeline import resume_run, start_run

    if resume is not None and (config or set_):
        raise UserError("--resume continues with the settings of that run; leave out --config and --set")
    if resume is not None:
        settings, run = resume_run(resume)
    else:
        settings = load_config(config, set_ or ())
        run = start_run(settings)
    outcome = run_training(settings, run)
    if json:
        print_record(outcome)
    else:
        show_outcome(outcome)


def run_training(settings: FrameworkConfig, run: RunFolder) -> TrainingOutcome:
    """Train in `run` with logs on standard error; says how to go on if it is interrupted."""
    import asyncio

    from coding_framework.monitoring.logs import configure_logging
    from coding_framework.pipeline import Pipeline

    configure_logging("info", run.log_file)
    try:
        return asyncio.run(Pipeline(settings, run).train())
    except (TrainingInterrupted, KeyboardInterrupt):
        raise TrainingInterrupted(
            f"stopped; what was finished is kept. Continue with  cuda-rl train --resume {run.path}"
        ) from None


def show_outcome(outcome: TrainingOutcome) -> None:
    """The before/after table and where the report is."""
    from coding_framework.cli.output import stdout_console
    from coding_framework.cli.tables import evaluation_table

    console = stdout_console()
    console.print(evaluation_table(outcome.evaluation))
    phases = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in outcome.phase_seconds.items())
    console.print(f"time: {phases}", markup=False, soft_wrap=True)
    console.print(f"report: {outcome.report}", markup=False, soft_wrap=True)
