"""`cuda-rl train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption, SetOption
from coding_framework.errors import FrameworkError, NotAvailableError, TrainingInterrupted, UserError

if TYPE_CHECKING:
    from coding_framework.config import FrameworkConfig
    from coding_framework.monitoring.run_folder import RunFolder
    from coding_framework.pipeline import TrainingOutcome
    from coding_framework.training.plan.records import TrainingPlan


def train(
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", "-c", metavar="PRESET", help="A preset's name (see configs/) or a TOML file."
        ),
    ] = None,
    set_: SetOption = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", help="Continue this run folder where it stopped; --set rl.steps=… extends it."
        ),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the plan and stop; nothing is spent.")] = False,
    json: JsonOption = False,
) -> None:
    """Train: SFT, then multi-turn RL under verl, then the held-out evaluation and a report."""
    from coding_framework.config import load_config
    from coding_framework.monitoring.run_folder import RunFolder
    from coding_framework.training.plan.changes import resume_config

    if resume is not None and config:
        raise UserError("--resume goes on with the settings of that run: leave out --config")
    run = None if resume is None else RunFolder.open(resume)
    settings = (
        load_config(the_only_one(config), set_ or ()) if run is None else resume_config(run, set_ or ())
    )
    carry_out(settings, run, stop_after_plan=plan, json=json)


def the_only_one(configs: Sequence[str] | None) -> str | None:
    """Refuses several: the last one would win without a word."""
    if configs and len(configs) > 1:
        raise UserError(f"--config is given {len(configs)} times ({', '.join(configs)}): give one")
    return configs[0] if configs else None


def carry_out(
    settings: FrameworkConfig, run: RunFolder | None, *, stop_after_plan: bool, json: bool = False
) -> None:
    """Plan, show the plan, and train unless it was to stop there."""
    from coding_framework.cli.output import print_record, stderr_console, stdout_console
    from coding_framework.cli.plan_view import show_plan
    from coding_framework.training.plan.machine import look_at_machine
    from coding_framework.training.plan.make import make_plan

    plan = make_plan(settings, look_at_machine(settings.run.output_dir), run)
    if stop_after_plan and json:
        print_record(plan)
    else:
        show_plan(stdout_console() if stop_after_plan else stderr_console(), plan)
    if stop_after_plan:
        return
    outcome = run_training(plan)
    if json:
        print_record(outcome)
    else:
        show_outcome(outcome)


def run_training(plan: TrainingPlan) -> TrainingOutcome:
    """Train as planned, with logs on standard error; says how to go on if it is interrupted."""
    import asyncio

    from coding_framework.monitoring.logs import configure_logging
    from coding_framework.pipeline import Pipeline, start_run

    run = start_run(plan)
    configure_logging("info", run.log_file)
    try:
        return asyncio.run(Pipeline(plan, run).train())
    except (TrainingInterrupted, KeyboardInterrupt):
        raise TrainingInterrupted(
            f"stopped; what was finished is kept. Continue with  cuda-rl train --resume {run.path}"
        ) from None
    except FrameworkError as error:
        error.add_note(_how_to_go_on(error, run, new=not plan.resumes))
        raise


def _how_to_go_on(error: FrameworkError, run: RunFolder, *, new: bool) -> str:
    """A new run in which nothing was made is removed: what was asked for has to be asked anew."""
    from coding_framework.training.plan.changes import has_begun

    asked = isinstance(error, UserError | NotAvailableError)
    if new and asked and not has_begun(run):
        run.discard()
        return f"nothing was made yet, so {run.path} was removed: start again once that is changed"
    fixed = "; a setting that has shaped it can be changed in a new run only" if asked else ""
    return (
        f"what was finished is kept{fixed}. Once the cause is gone, continue with  "
        f"cuda-rl train --resume {run.path}"
    )


def show_outcome(outcome: TrainingOutcome) -> None:
    """The before/after table and where the report is."""
    from coding_framework.cli.output import stdout_console
    from coding_framework.cli.tables import show_evaluation

    console = stdout_console()
    show_evaluation(console, outcome.evaluation.models)
    phases = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in outcome.phase_seconds.items())
    console.print(f"time: {phases}", markup=False, soft_wrap=True)
    for name, why in outcome.sinks_failed.items():
        console.print(
            f"the sink {name} was switched off ({why}): metrics.jsonl has its numbers",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"report: {outcome.report}", markup=False, soft_wrap=True)
