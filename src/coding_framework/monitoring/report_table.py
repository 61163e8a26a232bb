"""The before/after table: tasks by models, every share with its interval, every time with its kind."""

from __future__ import annotations

from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.monitoring.results import EvaluationReport, Interval, ModelResult, TaskResult
from coding_framework.monitoring.run_state import RunState

_NAMES = {"base": "Base model", "sft": "After SFT", "rl": "After RL", "model": "Model"}


def evaluation_of(state: RunState) -> EvaluationReport | None:
    """The whole report if the evaluation finished, else the models whose results were stored singly."""
    whole = [phase for phase in state.phases if phase.result_type == "EvaluationReport"]
    if whole:
        return whole[-1].result_as(EvaluationReport)
    single = [phase.result_as(ModelResult) for phase in state.phases if phase.result_type == "ModelResult"]
    return EvaluationReport(models=tuple(single)) if single else None


def before_after(report: EvaluationReport | None) -> Html:
    if report is None:
        return tag("p", "No model has been evaluated in this run yet.", class_="empty")
    head = tag(
        "thead", tag("tr", tag("th", "Task", scope="col"), *map(_column, report.models), _last(report))
    )
    held_out = [row for row in report.rows if row.held_out]
    trained = [row for row in report.rows if not row.held_out]
    groups = [
        _group(report, "Held-out tasks: never seen in training", held_out, held_out_group=True),
        _group(report, "Training tasks", trained, held_out_group=False),
    ]
    return join([tag("div", tag("table", head, *groups, class_="results"), class_="scroll"), _legend(report)])


def _column(model: ModelResult) -> Html:
    seconds = tag("span", f"evaluated in {model.seconds:.0f} s", class_="note")
    return tag("th", _NAMES[model.label], tag("br"), seconds, scope="col", title=str(model.model))


def _last(report: EvaluationReport) -> Html | None:
    if len(report.models) < 2:
        return None
    first, last = report.models[0].label, report.models[-1].label
    words = tag("span", f"{first} → {last}, points", class_="note")
    return tag("th", "Change", tag("br"), words, scope="col", class_="number")


def _group(
    report: EvaluationReport, title: str, rows: list[TaskResult], *, held_out_group: bool
) -> Html | None:
    if not rows:
        return None
    totals = [model.pass_rate(held_out=held_out_group) for model in report.models]
    cells = [tag("td", _share(rate) if rate else "–", class_="total") for rate in totals]
    header = tag(
        "tr", tag("th", title, scope="rowgroup"), *cells, _change(totals, report), class_="group-head"
    )
    return tag("tbody", header, *(_row(report, row) for row in rows))


def _row(report: EvaluationReport, row: TaskResult) -> Html:
    results = [model.task(row.task) for model in report.models]
    mark = tag("span", "held out", class_="badge") if row.held_out else None
    name = tag(
        "th",
        tag("span", row.task, class_="task"),
        mark,
        tag("span", f"tier {row.tier}", class_="note block"),
        scope="row",
    )
    rates = [result.pass_rate if result else None for result in results]
    return tag("tr", name, *map(_cell, results), _change(rates, report))


def _cell(result: TaskResult | None) -> Html:
    if result is None:
        return tag("td", "not evaluated", class_="muted")
    rate = result.pass_rate
    passed = tag("span", f"{result.passed}/{result.samples}", class_="count")
    speed = f"{result.median_speedup:.2f}× {result.time_kind}" if result.median_speedup else "none passed"
    compiled = f"compiled {result.compile_rate.value * 100:.0f} %"
    below = tag("span", f"{compiled} · {speed}", class_="note block", title=_best(result))
    return tag("td", passed, " ", tag("span", _share(rate), class_="note"), _bar(rate), below)


def _best(result: TaskResult) -> str | None:
    return f"best speedup {result.best_speedup:.2f}× ({result.time_kind})" if result.best_speedup else None


def _share(rate: Interval) -> str:
    return f"{rate.value * 100:.0f} % ({rate.low * 100:.0f}–{rate.high * 100:.0f})"


def _bar(rate: Interval) -> Html:
    """The share as a bar and its interval as a line across it, on a scale from 0 to 100 %."""
    parts = [
        tag("rect", x=0, y=2, width=100, height=6, class_="track"),
        tag("rect", x=0, y=2, width=rate.value * 100, height=6, class_="fill"),
        tag("line", x1=rate.low * 100, x2=rate.high * 100, y1=5, y2=5, class_="whisker"),
    ]
    label = f"passed {_share(rate)}"
    return tag(
        "svg",
        *parts,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_="bar",
    )


def _change(rates: list[Interval | None], report: EvaluationReport) -> Html | None:
    """From the first model to the last; strong only where the two intervals do not overlap."""
    if len(report.models) < 2:
        return None
    first, last = rates[0], rates[-1]
    if first is None or last is None:
        return tag("td", "–", class_="number")
    points = (last.value - first.value) * 100
    apart = last.low > first.high or last.high < first.low
    words = f"{points:+.0f}".replace("-", "−") if round(points) else "0"
    return tag("td", tag("strong", words) if apart else words, class_="number change")


def _legend(report: EvaluationReport) -> Html:
    kind = ", ".join(sorted(report.time_kinds))
    times = (
        f"Speedups are medians over the naive baseline among kernels that passed; these times are {kind}"
        + (
            " from exact instruction and memory counts, not clocked on a GPU. "
            if kind == "modelled"
            else ". "
        )
        if kind
        else "No kernel passed, so there is no speedup. "
    )
    return tag(
        "p",
        "Passed kernels of all samples; the share and its 95 % Wilson interval in percent (bar and line); "
        "a group's share is over all samples of its tasks. ",
        times,
        "A change is bold where the two intervals do not overlap.",
        class_="caption",
    )
