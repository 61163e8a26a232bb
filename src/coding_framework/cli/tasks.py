"""`cuda-rl tasks`: list the tasks, show one, lint them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from coding_framework.cli.options import ExecutorOption, JsonOption
from coding_framework.errors import TaskLintError

if TYPE_CHECKING:
    from coding_framework.cuda.lint import TaskLint
    from coding_framework.records import Task


class _NamesAreShown(TyperGroup):
    """`tasks NAME` means `tasks show NAME`: a word that is no command is a task."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=_NamesAreShown, invoke_without_command=True, subcommand_metavar="[NAME | COMMAND]")


@app.callback()
def tasks(context: typer.Context, json: JsonOption = False) -> None:
    """List the tasks; with a NAME, show that one; `lint` looks for tasks that can be passed unsolved."""
    from coding_framework.data.tasks import all_tasks

    if context.invoked_subcommand is None:
        _list(all_tasks(), as_json=json)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the task.")],
    json: JsonOption = False,
) -> None:
    """Show one task with its prompt, shapes and baseline (`tasks NAME` for short)."""
    from coding_framework.cli.output import print_record
    from coding_framework.data.tasks import get_task

    task = get_task(name)
    if json or _asked_before(context):
        print_record(task)
    else:
        _show(task)


@app.command()
def lint(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="All, if none.")] = None,
    executor: ExecutorOption = "emulator",
    json: JsonOption = False,
) -> None:
    """Attack tasks with kernels that do not solve them, and judge their baselines.

    Exit code 1 if an attack would pass, or a baseline would not, or only just.
    """
    from coding_framework.cli.output import print_record, stderr_console
    from coding_framework.cli.records import CatalogueLint
    from coding_framework.config import JudgeConfig
    from coding_framework.cuda.judge import Judge
    from coding_framework.cuda.lint import lint_task
    from coding_framework.data.tasks import all_tasks, get_task

    chosen = [get_task(name) for name in names] if names else list(all_tasks())
    judge = Judge(JudgeConfig(executor=executor))
    results: list[TaskLint] = []
    try:
        with stderr_console().status("") as status:
            for task in chosen:
                status.update(f"linting {task.name}")
                results.append(lint_task(task, judge))
    finally:
        judge.close()
    if json or _asked_before(context):
        print_record(CatalogueLint(tasks=tuple(results)))
    else:
        _show_lint(results)
    _raise_for(results)


def _asked_before(context: typer.Context) -> bool:
    """Whether `--json` stood before the name or the command."""
    return context.parent is not None and bool(context.parent.params.get("json"))


def _raise_for(results: list[TaskLint]) -> None:
    words = [f"{result.task}: {defect.words}" for result in results for defect in result.defects]
    if words:
        failed = sum(not result.passed for result in results)
        raise TaskLintError(f"{failed} of {len(results)} tasks are unsound\n" + "\n".join(words))


def _show_lint(results: list[TaskLint]) -> None:
    from rich.table import Table

    from coding_framework.cli.output import stdout_console

    table = Table("task", "adversaries", "closest", "its checks", "its error / budget", "sound")
    for result in results:
        closest = result.closest
        checks = f"{closest.checks_passed} of {closest.num_checks}"
        ratio = f"{closest.least_error_ratio:,.3g}"
        sound = "yes" if result.passed else "NO"
        table.add_row(result.task, str(len(result.adversaries)), closest.adversary, checks, ratio, sound)
    stdout_console().print(table)


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
    console.print(_test_cases(task))


def _test_cases(task: Task) -> Any:
    """What every candidate is run on, one shape aside that nobody knows before."""
    from rich.table import Table

    from coding_framework.data.training_records import build_test_cases

    table = Table("shape", "inputs", "known to", "launches of the baseline", title="Runs of the judge")
    for case in build_test_cases(task):
        shape = ", ".join(f"{name}={size}" for name, size in case.dimensions.items())
        launches = "; ".join(
            f"{one.kernel} {_sizes(one.grid)} × {_sizes(one.block)}" for one in case.launches
        )
        table.add_row(shape, case.distribution, "the judge" if case.hidden else "everyone", launches)
    return table


def _sizes(extents: tuple[int, int, int]) -> str:
    """Without the trailing ones."""
    x, y, z = extents
    used = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
    return f"({', '.join(map(str, used))})"
