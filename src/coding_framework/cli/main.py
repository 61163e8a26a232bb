"""The entry point: commands, and one place where errors become a message and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from coding_framework import __version__
from coding_framework.cli import (
    bench,
    compare,
    data,
    doctor,
    evaluate,
    judge,
    models,
    optimize,
    report,
    rescore,
    tasks,
    train,
)
from coding_framework.cli.failures import carried_out

app = typer.Typer(
    name="cuda-rl",
    help="Train language models to write fast, correct CUDA kernels, with or without a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(doctor.doctor)
app.command()(judge.judge)
app.command()(optimize.optimize)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(report.report)
app.command()(rescore.rescore)
app.add_typer(tasks.app, name="tasks")
app.add_typer(models.app, name="models")
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cuda-rl {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train language models to write fast, correct CUDA kernels, with or without a GPU."""
    from coding_framework.monitoring.logs import configure_logging

    configure_logging("warning", None)  # on standard error: what a command prints may be read by a program


def main() -> None:
    """Run; a known error is one message on standard error and its own exit code."""
    sys.exit(carried_out(app))


if __name__ == "__main__":
    main()
