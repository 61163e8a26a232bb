"""Tables of an evaluation in a terminal: they fit into 80 columns with three models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from coding_framework.monitoring.figure_records import ModelFigures, TaskFigures
    from coding_framework.monitoring.figure_rows import FigureRow
    from coding_framework.records import TaskSplit

LABELS = {"base": "base", "sft": "SFT", "rl": "RL"}


def show_evaluation(console: Console, models: Sequence[ModelFigures]) -> None:
    """Task by task, then every figure, then how to read them."""
    console.print(task_table(models))
    console.print(figure_table(models))
    console.print(legend(models), style="dim", highlight=False)
    for left_out in models[0].left_out:
        words = f"left out: {left_out.file}: {left_out.words.splitlines()[0]}"
        console.print(words, style="yellow", markup=False, highlight=False)


def task_table(models: Sequence[ModelFigures]) -> Table:
    """Passed of samples, and the median speedup with its kind."""
    from coding_framework.monitoring.figure_records import SPLIT_NAMES, splits_of, tasks_of

    table = Table(title=f"Passed of samples, median speedup ({_kinds(models)})", min_width=50)
    table.add_column("task", overflow="fold")
    table.add_column("tier")
    for model in models:
        table.add_column(_label(model), justify="right")
    for split in splits_of(models):
        table.add_section()
        table.add_row(f"[bold]{SPLIT_NAMES[split]}[/]")
        for task in tasks_of(models, split):
            table.add_row(
                escape(task.name), str(task.tier), *(_task_cell(model.task(task.name)) for model in models)
            )
    return table


def figure_table(models: Sequence[ModelFigures]) -> Table:
    """Every figure with its interval, pass@1 also by tier; of one model its splits side by side."""
    from coding_framework.monitoring.figure_records import SPLIT_NAMES, splits_of
    from coding_framework.monitoring.figure_rows import estimate_words

    splits = splits_of(models)
    side_by_side = len(models) == 1
    table = Table(title="Figures with 95 % intervals", min_width=50)
    table.add_column("figure", overflow="fold")
    for name in [SPLIT_NAMES[split] for split in splits] if side_by_side else map(_label, models):
        table.add_column(name, justify="right")
    for section in [splits] if side_by_side else [(split,) for split in splits]:
        if not side_by_side:
            table.add_section()
            table.add_row(f"[bold]{SPLIT_NAMES[section[0]]}[/]")
        for rows in zip(*(_rows(models, split, splits) for split in section), strict=True):
            cells = [estimate_words(cell, row.unit) for row in rows for cell in row.cells]
            table.add_row(rows[0].name, *cells)
    return table


def _rows(models: Sequence[ModelFigures], split: TaskSplit, splits: Sequence[TaskSplit]) -> list[FigureRow]:
    """All figures of a split, then pass@1 of each tier that any of `splits` has."""
    from coding_framework.monitoring.figure_records import tiers_of
    from coding_framework.monitoring.figure_rows import figure_rows

    rows = figure_rows(models, split)
    own = tiers_of(models, split) if len(models) > 1 else ()
    tiers = own or sorted({tier for one in splits for tier in tiers_of(models, one)})
    for tier in tiers if len(tiers) > 1 else ():
        row = next(row for row in figure_rows(models, split, tier) if row.name == "pass@1")
        rows.append(row._replace(name=f"pass@1, tier {tier}"))
    return rows


def _label(model: ModelFigures) -> str:
    return escape(LABELS.get(model.label, model.label))


def legend(models: Sequence[ModelFigures]) -> str:
    """What the names stand for, and who sampled and judged."""
    settings = [model.settings for model in models]
    engines = " and ".join(dict.fromkeys(f"{one.engine} ({one.dtype})" for one in settings))
    executors = " and ".join(dict.fromkeys(one.executor for one in settings))
    shares = "fast_p: passes and is over p times as fast as the reference."
    return (
        f"A sample counts by its best turn. {shares} speedup: geometric mean among those that passed "
        f"({_kinds(models)}). Intervals over several tasks: bootstrap over tasks. docs/evaluation.md has the "
        f"rest. Sampled by {engines}, judged on the {executors}."
    )


def _kinds(models: Sequence[ModelFigures]) -> str:
    return ", ".join(sorted({str(model.time_kind) for model in models if model.time_kind})) or "no times"


def _task_cell(result: TaskFigures | None) -> str:
    if result is None:
        return "–"
    speedup = f"  {result.median_speedup:.2f}x" if result.median_speedup else ""
    return f"{result.passed}/{result.samples}{speedup}"
