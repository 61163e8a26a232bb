"""The before/after table in a terminal."""

from __future__ import annotations

from rich.table import Table

from coding_framework.monitoring.results import EvaluationReport, ModelResult, TaskResult

LABELS = {"base": "base", "sft": "SFT", "rl": "RL", "model": "model"}


def evaluation_table(report: EvaluationReport) -> Table:
    """Tasks × models: passed of samples, and the median speedup with its kind."""
    kind = ", ".join(sorted(report.time_kinds)) or "no times"
    table = Table(title=f"Passed of samples, median speedup over the naive baseline ({kind})")
    table.add_column("task")
    table.add_column("seen in training")
    for model in report.models:
        table.add_column(LABELS[model.label], justify="right")
    for row in report.rows:
        cells = [_cell(model.task(row.task)) for model in report.models]
        table.add_row(row.task, "held out" if row.held_out else "yes", *cells)
    table.add_section()
    table.add_row("all held out", "", *(_total(model, held_out=True) for model in report.models))
    if any(not row.held_out for row in report.rows):
        table.add_row("all trained", "", *(_total(model, held_out=False) for model in report.models))
    return table


def _cell(result: TaskResult | None) -> str:
    if result is None:
        return "–"
    speedup = f"  {result.median_speedup:.2f}x" if result.median_speedup else ""
    return f"{result.passed}/{result.samples}{speedup}"


def _total(model: ModelResult, *, held_out: bool) -> str:
    rate = model.pass_rate(held_out=held_out)
    return f"{rate.value:.0%} [{rate.low:.0%}–{rate.high:.0%}]" if rate else "–"
