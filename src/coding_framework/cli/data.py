"""`cuda-rl data show SOURCE`: what an archive holds, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from coding_framework.data.archives.problems import LoadReport
    from coding_framework.data.archives.summary import ArchiveSummary

app = typer.Typer(help="Look into archives of kernels and problems.", no_args_is_help=True)


@app.callback()
def data() -> None:
    """Look into archives of kernels and problems."""


@app.command()
def show(
    source: Annotated[
        str,
        typer.Argument(
            help="sakana, kernelbench, a data set on the hub, a .parquet, .jsonl or .py file, or a folder."
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Load every row and print counts, tiers and problems by kind."""
    from coding_framework.cli.output import print_record, stderr_console
    from coding_framework.data.archives.summary import summarize

    with stderr_console().status(f"reading {source}"):
        summary = summarize(source)
    if json:
        print_record(summary)
    else:
        _show(summary)


def _show(summary: ArchiveSummary) -> None:
    from coding_framework.cli.output import stdout_console

    console = stdout_console()
    console.print(summary.report.sentence, markup=False, soft_wrap=True)
    levels = ", ".join(
        f"{'no level' if level == 'none' else f'level {level}'}: {count}"
        for level, count in summary.levels.items()
    )
    hidden = f"{summary.tasks_with_hidden_shapes} of {summary.tasks} problems have hidden shapes"
    console.print(f"{levels or 'no sound row'}; {hidden}", markup=False, soft_wrap=True)
    if summary.tiers:
        console.print(_tiers(summary))
    if summary.report.num_problems:
        console.print(_problems(summary.report))


def _tiers(summary: ArchiveSummary) -> Table:
    from rich.table import Table

    title = "Outcomes as the archive states them" if summary.kind == "sakana" else "Problems"
    table = Table("tier (inferred)", *summary.outcomes, "all", title=title)
    for tier in summary.tiers:
        counts = (str(tier.outcomes[outcome]) for outcome in summary.outcomes)
        table.add_row(str(tier.difficulty), *counts, str(tier.total))
    table.add_section()
    counts = (str(count) for count in summary.outcomes.values())
    table.add_row("all", *counts, str(sum(summary.outcomes.values())))
    return table


def _problems(report: LoadReport) -> Table:
    from rich.markup import escape
    from rich.table import Column, Table

    place_column = Column("first place", overflow="fold")
    table = Table("problem", "times", place_column, "words", title="What was left out")
    for kind, count in sorted(report.problems_by_kind.items()):
        first = next((problem for problem in report.problems if problem.kind == kind), None)
        place, words = (first.place, first.words) if first else ("", "")
        table.add_row(kind, str(count), escape(place), escape(words))
    return table
