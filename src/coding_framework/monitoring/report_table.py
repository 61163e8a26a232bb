"""The tables of an evaluation in HTML: tasks by models, figures by models, every share with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.errors import StorageError, UserError
from coding_framework.monitoring.evaluation_folder import EvaluatedTask, evaluation_folders
from coding_framework.monitoring.figure_records import (
    SPLIT_NAMES,
    EvaluationReport,
    ModelFigures,
    TaskFigures,
    splits_of,
    tasks_of,
    tiers_of,
)
from coding_framework.monitoring.figure_rows import (
    METHODS,
    FigureRow,
    Unit,
    figure_rows,
    interval_words,
    value_words,
)
from coding_framework.monitoring.figures import figures_in
from coding_framework.monitoring.intervals import Estimate
from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import TaskSplit

NAMES = {"base": "Base model", "sft": "After SFT", "rl": "After RL"}
TITLES: dict[TaskSplit, str] = {
    "held_out": "Held-out tasks: never seen in training",
    "trained": "Training tasks",
    "suite": "Problems of the suite",
}


def evaluation_of(run: RunFolder) -> tuple[EvaluationReport | None, list[str]]:
    """The models whose evaluation is whole, and what a reader should know of the others."""
    folders = evaluation_folders(run.path)
    models, notes = [], []
    if not folders and any(phase.name.startswith("evaluation") for phase in run.state().phases):
        notes.append(
            "This run was evaluated by an earlier version, which stored no samples: its table cannot be made "
            f"again. `cuda-rl train --resume {run.path}` evaluates its models anew."
        )
    for folder in folders:
        try:
            models.append(figures_in(folder))
        except (UserError, StorageError) as error:
            notes.append(f"The evaluation of {folder.path.name} is not shown: {error}.")
    return (EvaluationReport(models=tuple(models)) if models else None), notes


def before_after(report: EvaluationReport | None) -> Html:
    """Figures first, then the tasks."""
    if report is None:
        return tag("p", "No model has been evaluated in this run yet.", class_="empty")
    return join([figure_table(report.models), tag("h4", "Task by task"), task_table(report.models)])


def figure_table(models: Sequence[ModelFigures]) -> Html:
    """Every figure of every split, the main ones of every tier, and how the intervals were found."""
    head = tag("thead", tag("tr", tag("th", "Figure", scope="col"), *map(_column, models)))
    bodies, rows = [], []
    for split in splits_of(models):
        tiers = tiers_of(models, split)
        for tier in (None, *(tiers if len(tiers) > 1 else ())):
            own = figure_rows(models, split, tier)
            rows += own
            bodies.append(_figures_of(models, split, tier, own))
    table = tag("div", tag("table", head, *bodies, class_="results"), class_="scroll")
    return join([table, _legend(models, rows)])


def _column(model: ModelFigures) -> Html:
    kind = f"{model.time_kind} times, {model.device}" if model.time_kind else "nothing passed"
    words = tag("span", f"{model.settings.engine} · {kind}", class_="note")
    name = NAMES.get(model.label, model.label)
    return tag("th", name, tag("br"), words, scope="col", title=f"{model.model} ({model.weights})")


def _figures_of(
    models: Sequence[ModelFigures], split: TaskSplit, tier: int | None, rows: Sequence[FigureRow]
) -> Html:
    title = TITLES[split] if tier is None else f"{SPLIT_NAMES[split]}, tier {tier}"
    groups = [model.group(split, tier) for model in models]
    sizes = [
        f"{group.tasks} task{'s' * (group.tasks > 1)}, {group.samples} samples" if group else "–"
        for group in groups
    ]
    cells = [tag("td", tag("span", size, class_="note")) for size in sizes]
    header = tag("tr", tag("th", title, scope="rowgroup"), *cells, class_="group-head")
    return tag("tbody", header, *(_figure_row(row, explained=tier is None) for row in rows))


def _figure_row(row: FigureRow, *, explained: bool) -> Html:
    words = tag("span", row.what, class_="note block") if explained else None
    name = tag("th", row.name, words, scope="row")
    return tag("tr", name, *(estimate_cell(cell, row.unit) for cell in row.cells))


def estimate_cell(estimate: Estimate | None, unit: Unit) -> Html:
    """A figure with its interval in words, and for a share as a bar."""
    if estimate is None:
        return tag("td", "–", class_="muted")
    value = tag("span", value_words(estimate, unit), class_="count")
    interval = interval_words(estimate, unit)
    words = tag("span", f"({interval})" if interval else "(one sample)", class_="note", title=estimate.method)
    return tag("td", value, " ", words, bar(estimate) if unit == "share" else None)


def task_table(models: Sequence[ModelFigures]) -> Html:
    """Every task by every model."""
    head = tag("thead", tag("tr", tag("th", "Task", scope="col"), *map(_column, models)))
    bodies = []
    for split in splits_of(models):
        title = tag("th", TITLES[split], scope="rowgroup", colspan=len(models) + 1)
        header = tag("tr", title, class_="group-head")
        bodies.append(tag("tbody", header, *(_task_row(models, task) for task in tasks_of(models, split))))
    note = "Passed of samples with Wilson's interval; median speedup among those that passed."
    table = tag("div", tag("table", head, *bodies, class_="results"), class_="scroll")
    return join([table, tag("p", note, class_="caption")])


def _task_row(models: Sequence[ModelFigures], task: EvaluatedTask) -> Html:
    mark = tag("span", "held out", class_="badge") if task.split == "held_out" else None
    about = tag("span", f"tier {task.tier}, {task.family}", class_="note block")
    name = tag("th", tag("span", task.name, class_="task"), mark, about, scope="row")
    return tag("tr", name, *(task_cell(model.task(task.name), model) for model in models))


def task_cell(result: TaskFigures | None, model: ModelFigures) -> Html:
    """What one model made of one task."""
    if result is None:
        return tag("td", "not evaluated", class_="muted")
    rate = result.pass_rate
    passed = tag("span", f"{result.passed}/{result.samples}", class_="count")
    share = tag("span", f"{value_words(rate, 'share')} ({interval_words(rate, 'share')})", class_="note")
    speed = f"{result.median_speedup:.2f}× {model.time_kind}" if result.median_speedup else "none passed"
    best = f"best {result.best_speedup:.2f}×" if result.best_speedup else None
    below = tag("span", f"compiled {result.compiled} · {speed}", class_="note block", title=best)
    return tag("td", passed, " ", share, bar(rate), below)


def bar(rate: Estimate) -> Html:
    """The share as a bar and its interval as a line across it, on a scale from 0 to 100 %."""
    parts = [
        tag("rect", x=0, y=2, width=100, height=6, class_="track"),
        tag("rect", x=0, y=2, width=rate.value * 100, height=6, class_="fill"),
        tag("line", x1=rate.low * 100, x2=rate.high * 100, y1=5, y2=5, class_="whisker"),
    ]
    label = f"{value_words(rate, 'share')}, from {rate.low:.0%} to {rate.high:.0%}"
    return tag(
        "svg",
        *parts,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_="bar",
    )


def _legend(models: Sequence[ModelFigures], rows: Sequence[FigureRow]) -> Html:
    methods = {cell.method for row in rows for cell in row.cells if cell is not None}
    found = "; ".join(words for method, words in METHODS.items() if method in methods)
    kinds = sorted({str(model.time_kind) for model in models if model.time_kind})
    times = f"Speedups are over the naive baseline, by {' and '.join(kinds)} times" if kinds else ""
    if kinds == ["modelled"]:
        times += " (from exact instruction and memory counts, not clocked on a GPU)"
    return tag(
        "p",
        "A sample counts by its best turn: the fastest kernel that passed. In brackets the 95 % interval, in "
        f"percent or as a factor: {found}. ",
        f"{times}." if times else "No kernel passed, so there is no speedup.",
        class_="caption",
    )
