"""`cuda-rl evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption


def evaluate(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Embedded model, local folder, Hugging Face name, or module:attribute for a model of your "
            "own; the config's by default."
        ),
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Sample kernels for every task of the config with one model, judge them, and count."""
    import asyncio

    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.cli.tables import evaluation_table
    from coding_framework.config import load_config
    from coding_framework.monitoring.logs import configure_logging
    from coding_framework.monitoring.results import EvaluationReport
    from coding_framework.pipeline import evaluate_once

    settings = load_config(config, set_ or (), {"model.name": model} if model else None)
    configure_logging("info", None)
    report = EvaluationReport(models=(asyncio.run(evaluate_once(settings)),))
    if json:
        print_record(report)
    else:
        stdout_console().print(evaluation_table(report))
