"""`cuda-rl report`: write a run's report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coding_framework.cli.options import JsonOption


def report(
    run: Annotated[
        Path | None, typer.Argument(help="A run folder; the latest under runs/ by default.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write report.html of a run, finished or not."""
    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.cli.records import Written
    from coding_framework.monitoring.report import write_report
    from coding_framework.monitoring.run_folder import RunFolder

    folder = RunFolder.open(run) if run else RunFolder.latest(Path("runs"))
    path = write_report(folder)
    if json:
        print_record(Written(report=path))
    else:
        stdout_console().print(str(path), markup=False, soft_wrap=True)
