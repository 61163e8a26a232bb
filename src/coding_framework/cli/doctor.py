"""`cuda-rl doctor`: what is on this machine, and what each missing thing would give."""

from __future__ import annotations

from coding_framework.cli.options import JsonOption


def doctor(json: JsonOption = False) -> None:
    """Look for compilers, GPU, Docker, models and extras, and say what each missing one would give."""
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.machine import inspect_machine
    from coding_framework.cli.output import print_record, stdout_console

    report = inspect_machine()
    if json:
        print_record(report)
        return
    table = Table("", "what", "found", "what it gives", show_lines=False)
    for item in report.items:
        mark = Text("ok", style="green") if item.present else Text("missing", style="yellow")
        table.add_row(mark, item.name, Text(item.detail), Text(item.gives))
    console = stdout_console()
    console.print(table)
    console.print(report.summary, markup=False)
