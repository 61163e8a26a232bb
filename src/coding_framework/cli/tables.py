"""Tables of an evaluation in a terminal: they fit into 80 columns with three models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from coding_framework.monitoring.figures import ModelFigures, TaskFigures

LABELS = {"base": "base", "sft": "SFT", "rl": "RL"}


def show_evaluation(console: Console, models: Sequence[ModelFigures]) -> None:
    """Task by task, then every figure, then how to read them."""
    console.print(task_table(models))
    console.print(figure_table(models))
    console.print(legend(models), style="dim", highlight=False)


def task_table(models: Sequence[ModelFigures]) -> Table:
    """Passed of samples, and the median speedup with its kind."""
    from coding_framework.monitoring.figures import SPLIT_NAMES, splits_of, tasks_of

    table = Table(title=f"Passed of samples, median speedup ({_kinds(models)})")
    table.add_column("task", overflow="fold")
    table.add_column("tier")
    for model in models:
        table.add_column(_label(model), justify="right")
    for split in splits_of(models):
        table.add_section()
        table.add_row(f"[bold]{SPLIT_NAMES[split]}[/]")
        for task in tasks_of(models, split):
            table.add_row(task.name, str(task.tier), *(_task_cell(model.task(task.name)) for model in models))
    return table


def figure_table(models: Sequence[ModelFigures]) -> Table:
    """Every figure with its interval, the main ones also by tier; of one model its splits side by side."""
    from coding_framework.monitoring.figure_rows import estimate_words, figure_rows
    from coding_framework.monitoring.figures import SPLIT_NAMES, splits_of, tiers_of

    splits = splits_of(models)
    side_by_side = len(models) == 1
    table = Table(title="Figures with 95 % intervals")
    table.add_column("figure", overflow="fold")
    names = [SPLIT_NAMES[split] for split in splits] if side_by_side else [_label(one) for one in models]
    for name in names:
        table.add_column(name, justify="right")
    for section in [splits] if side_by_side else [(split,) for split in splits]:
        tiers = sorted({tier for split in section for tier in tiers_of(models, split)})
        for tier in (None, *(tiers if len(tiers) > 1 else ())):
            parts = [figure_rows(models, split, tier) for split in section]
            title = [] if side_by_side else [SPLIT_NAMES[section[0]]]
            title += [] if tier is None else [f"tier {tier}"]
            table.add_section()
            if title:
                table.add_row(f"[bold]{', '.join(title)}[/]")
            for rows in zip(*parts, strict=True):
                cells = [estimate_words(cell, row.unit) for row in rows for cell in row.cells]
                table.add_row(rows[0].name, *cells)
    return table


def _label(model: ModelFigures) -> str:
    return LABELS.get(model.label, model.label)


def legend(models: Sequence[ModelFigures]) -> str:
    """What the names stand for."""
    shares = "fast_p: passes and is over p times as fast as the reference."
    return (
        f"A sample counts by its best turn. {shares} speedup: geometric mean among those that passed "
        f"({_kinds(models)}). Intervals over several tasks: bootstrap over tasks. docs/evaluation.md has the "
        "rest."
    )


def _kinds(models: Sequence[ModelFigures]) -> str:
    return ", ".join(sorted({str(model.time_kind) for model in models if model.time_kind})) or "no times"


def _task_cell(result: TaskFigures | None) -> str:
    if result is None:
        return "–"
    speedup = f"  {result.median_speedup:.2f}x" if result.median_speedup else ""
    return f"{result.passed}/{result.samples}{speedup}"
