"""`cuda-rl compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from coding_framework.evaluation.comparison_records import Comparison, Pair


_HOW_TO_READ = (
    "Over the tasks that both were asked (in brackets how many): difference in points, of a speedup as a "
    "factor over the tasks that both passed, with its 95 % interval; +/−: tasks that became better and "
    "worse; p: sign test. Bold: the interval leaves no difference out."
)


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="Run folders (all their evaluated models), RUN/evaluation/MODEL, and folders that cuda-rl "
            "evaluate made.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", help="Where the page goes.", show_default="comparison.html")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare models on the tasks that they share: differences paired by task, with intervals."""
    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.evaluation.comparison import compare as compared
    from coding_framework.evaluation.comparison_page import comparison_page
    from coding_framework.monitoring.storage import write_whole

    comparison = compared(results)
    page = html or (None if json else Path("comparison.html"))
    if page is not None:
        write_whole(page, comparison_page(comparison))
    if json:
        print_record(comparison)
        return
    _show(comparison)
    stdout_console().print(f"page: {page}", markup=False, soft_wrap=True)


def _show(comparison: Comparison) -> None:
    from coding_framework.cli.output import stdout_console
    from coding_framework.cli.tables import figure_table, legend
    from coding_framework.evaluation.comparability import alike

    console = stdout_console()
    for models in alike([model.figures for model in comparison.models]):
        console.print(figure_table(models))
        console.print(legend(models), style="dim", highlight=False)
    for pair in comparison.pairs:
        console.print()
        if pair.differences:
            console.print(_pair_table(pair))
        else:
            console.print(f"{pair.before} → {pair.after}", style="bold", markup=False, highlight=False)
        for note in pair.notes:
            console.print(f"- {note}", markup=False, highlight=False)
    if any(pair.differences for pair in comparison.pairs):
        console.print()
        console.print(_HOW_TO_READ, style="dim", highlight=False)
    for note in comparison.notes:
        console.print(f"- {note}", style="yellow", markup=False, highlight=False)


def _pair_table(pair: Pair) -> Table:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from coding_framework.evaluation.comparison_page import difference_words
    from coding_framework.monitoring.figure_records import SPLIT_NAMES

    table = Table(title=escape(f"{pair.before} → {pair.after}, paired by task"))
    for name in ("figure", "before", "after", "difference", "+/−", "p"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    shown = None
    for one in pair.differences:
        if one.split != shown:
            shown = one.split
            table.add_section()
            table.add_row(Text(f"{SPLIT_NAMES[one.split]} ({one.tasks})", style="bold"))
        form = "{:.2f}x" if one.unit == "times" else "{:.0%}"
        words = Text(
            difference_words(one.difference, one.unit == "times"), style="bold" if one.is_clear else ""
        )
        counts = f"{one.better}/{one.worse}"
        table.add_row(
            one.figure, form.format(one.before), form.format(one.after), words, counts, f"{one.p_value:.2g}"
        )
    return table
