"""A comparison as one HTML file in the style of `report.html`: offline, printable, without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.evaluation.comparability import alike
from coding_framework.evaluation.comparison_records import Comparison, Difference, Pair, TaskDifference
from coding_framework.monitoring.figure_rows import METHODS
from coding_framework.monitoring.intervals import Estimate
from coding_framework.monitoring.markup import Html, join, tag, text
from coding_framework.monitoring.report import page_style
from coding_framework.monitoring.report_table import TITLES, figure_table, task_table
from coding_framework.records import TaskSplit

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
"""
_WIDTH, _ROW = 520, 22
"""Of the plot of differences, in its own units."""


def comparison_page(comparison: Comparison) -> str:
    """The whole file."""
    names = [model.name for model in comparison.models]
    title = " · ".join(names)
    notices = join(tag("p", note, class_="notice") for note in comparison.notes)
    main = tag(
        "main",
        tag("header", tag("p", "CUDA kernel models compared", class_="eyebrow"), tag("h1", title), notices),
        *(_pair(pair) for pair in comparison.pairs),
        tag("section", tag("h2", "Each model by itself"), *_tables(comparison)),
        tag("footer", _settings(comparison)),
    )
    head = f"{_HEAD}<title>{text(title)} · comparison</title>\n{page_style()}\n</head>"
    return f"{head}\n<body>{main}</body>\n</html>\n"


def _tables(comparison: Comparison) -> list[Html]:
    tables = []
    groups = alike([model.figures for model in comparison.models])
    for models in groups:
        if len(groups) > 1:
            tables.append(tag("h3", ", ".join(model.label for model in models)))
        tables += [figure_table(models), tag("h4", "Task by task"), task_table(models)]
    return tables


def _pair(pair: Pair) -> Html:
    notes = [tag("p", note, class_="notice") for note in pair.notes]
    parts = [tag("h2", f"{pair.before} → {pair.after}"), *notes]
    if pair.differences:
        parts += [_differences(pair), tag("h4", "pass@1, task by task"), *_plots(pair), _legend(pair)]
    return tag("section", *parts)


def _differences(pair: Pair) -> Html:
    names = (
        "Figure",
        pair.before,
        pair.after,
        "Difference (points, or factor)",
        "Tasks better / worse / same",
        "Sign test",
    )
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    splits = dict.fromkeys(one.split for one in pair.differences)
    bodies = [_split(split, [one for one in pair.differences if one.split == split]) for split in splits]
    return tag("div", tag("table", head, *bodies, class_="results"), class_="scroll")


def _split(split: TaskSplit, differences: Sequence[Difference]) -> Html:
    header = tag("tr", tag("th", TITLES[split], scope="rowgroup", colspan=6), class_="group-head")
    return tag("tbody", header, *map(_row, differences))


def _row(one: Difference) -> Html:
    words = difference_words(one.difference, one.unit == "times")
    shown = tag("strong", words) if one.is_clear else words
    same = one.tasks - one.better - one.worse
    return tag(
        "tr",
        tag(
            "th",
            one.figure,
            tag("span", f"{one.tasks} task{'s' * (one.tasks > 1)}", class_="note block"),
            scope="row",
        ),
        tag("td", _value(one.before, one)),
        tag("td", _value(one.after, one)),
        tag("td", shown, class_="change"),
        tag("td", f"{one.better} / {one.worse} / {same}"),
        tag("td", f"p = {one.p_value:.2g}"),
    )


def _value(value: float, one: Difference) -> str:
    return f"{value:.2f}×" if one.unit == "times" else f"{value:.0%}"


def difference_words(estimate: Estimate, is_factor: bool) -> str:
    """`+12 [+3, +21]` in points, or `×1.32 [1.10, 1.58]`."""
    form = "{:.2f}".format if is_factor else _points
    words = f"×{estimate.value:.2f}" if is_factor else _points(estimate.value)
    return words if estimate.method == "none" else f"{words} [{form(estimate.low)}, {form(estimate.high)}]"


def _points(share: float) -> str:
    points = round(100 * share)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _plots(pair: Pair) -> list[Html]:
    plots = []
    for split in dict.fromkeys(one.split for one in pair.differences):
        tasks = [task for task in pair.tasks if task.task.split == split]
        tasks = sorted(tasks, key=lambda one: one.difference.value, reverse=True)
        title = tag("figcaption", tag("h3", TITLES[split]))
        plots.append(tag("figure", title, _plot(tasks, pair), class_="card"))
    return [tag("div", *plots, class_="plots")]


def _plot(tasks: Sequence[TaskDifference], pair: Pair) -> Html:
    """Each task's difference with its interval, from −100 to +100 points."""
    height = _ROW * len(tasks) + 44
    parts = [_line(at, 14, at, height - 24, "grid") for at in map(_x, (-1.0, -0.5, 0.5, 1.0))]
    parts.append(_line(_x(0), 14, _x(0), height - 24, "axis"))
    ticks = (-1.0, -0.5, 0.0, 0.5, 1.0)
    parts += [tag("text", _points(at), x=_x(at), y=height - 8, text_anchor="middle") for at in ticks]
    for row, one in enumerate(tasks):
        y = 28 + _ROW * row
        shown = f"{one.task.name}: {one.before.value:.0%} → {one.after.value:.0%}"
        difference = one.difference
        parts += [
            tag("text", one.task.name, x=168, y=y + 4, text_anchor="end"),
            _line(_x(max(-1, difference.low)), y, _x(min(1, difference.high)), y, "whisker"),
            tag("circle", tag("title", shown), cx=_x(difference.value), cy=y, r=4.5, class_="dot s1"),
        ]
    label = f"difference in pass@1 of each task, {pair.after} less {pair.before}, in points"
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=label, class_="plot")


def _x(share: float) -> float:
    return 180 + (_WIDTH - 200) * (share + 1) / 2


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Html:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def _legend(pair: Pair) -> Html:
    methods = [one.difference.method for one in pair.differences]
    methods += [one.difference.method for one in pair.tasks]
    found = "; ".join(METHODS[method] for method in dict.fromkeys(methods))
    return tag(
        "p",
        f"Paired by task, {pair.after} less {pair.before}; a speedup's difference is a factor, over the "
        f"tasks that both passed. In brackets the 95 % interval: {found}. A difference is bold where its "
        "interval leaves no difference out. The sign test counts tasks that became better and worse.",
        class_="caption",
    )


def _settings(comparison: Comparison) -> Html:
    rows = []
    for model in comparison.models:
        figures = model.figures
        rows.append(tag("h4", model.name))
        about = f"{figures.model}, weights {figures.weights}, {figures.samples_per_task} samples a task"
        rows.append(tag("p", about, class_="note"))
        rows.append(tag("pre", figures.settings.model_dump_json(indent=2)))
    return tag("details", tag("summary", "How each was evaluated"), *rows)
