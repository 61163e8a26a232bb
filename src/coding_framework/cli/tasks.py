"""`cuda-rl tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption

if TYPE_CHECKING:
    from coding_framework.records import Task


def tasks(
    name: Annotated[str | None, typer.Argument(help="Show one task whole.")] = None,
    json: JsonOption = False,
) -> None:
    """List the tasks, or show one with its prompt, shapes and baseline."""
    from coding_framework.cli.output import print_record
    from coding_framework.data.tasks import all_tasks, get_task

    if name is None:
        _list(all_tasks(), as_json=json)
        return
    task = get_task(name)
    if json:
        print_record(task)
    else:
        _show(task)


def _list(catalogue: tuple[Task, ...], *, as_json: bool) -> None:
    from rich.table import Table

    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.cli.records import Catalogue

    if as_json:
        print_record(Catalogue(tasks=catalogue))
        return
    table = Table("tier", "name", "title", "dimensions", "visible shapes")
    for task in catalogue:
        shapes = "; ".join(" × ".join(str(v) for v in shape.values()) for shape in task.visible_shapes)
        table.add_row(str(task.tier), task.name, task.title, ", ".join(task.dimensions), shapes)
    stdout_console().print(table)


def _show(task: Task) -> None:
    from rich.syntax import Syntax

    from coding_framework.cli.output import stdout_console

    console = stdout_console()
    console.print(f"[bold]{task.title}[/bold]  ({task.name}, tier {task.tier}, family {task.family})\n")
    console.print(task.prompt, markup=False)
    console.print(f"\nvisible shapes: {', '.join(str(shape) for shape in task.visible_shapes)}", markup=False)
    console.print(f"error budget: {task.tolerance.absolute:g} + {task.tolerance.relative:g} · |expected|")
    console.print(
        f"bytes moved: {task.bytes_moved.text}    operations: {task.operations.text}\n", markup=False
    )
    console.print(Syntax(task.baseline, "cuda", theme="ansi_dark"))
