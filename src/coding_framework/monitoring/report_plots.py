"""The report's plots: what training did, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from coding_framework.monitoring import charts, report_curves
from coding_framework.monitoring.charts import Point, Series
from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.monitoring.report_frames import figure, frame, key
from coding_framework.monitoring.run_history import RunHistory
from coding_framework.records import Gate, Verdict

_STACK = (
    ("passed", "v-passed"),
    ("time", "v-time"),
    ("check", "v-check"),
    ("run", "v-run"),
    ("compile", "v-compile"),
    ("safety", "v-safety"),
    ("contract", "v-contract"),
)
"""From the bottom: the nearer to passing, the lower."""
_SMOOTH_FROM = 40


def plots(history: RunHistory) -> Html:
    """All plots that there is data for."""
    first = [sft_loss(history), reward(history), rates(history), speedup(history), tier(history)]
    last = [verdicts(history), report_curves.time_split(history)]
    found = [plot for plot in (*first, *report_curves.learning(history), *last) if plot is not None]
    if not found:
        return tag("p", "No training step has been recorded in this run.", class_="empty")
    return join([tag("div", *found, class_="plots"), report_curves.machine(history)])


def sft_loss(history: RunHistory) -> Html | None:
    curve = history.curve("sft", "loss")
    if curve is None:
        return None
    series = [Series("loss", curve.points)]
    if len(curve.points) >= _SMOOTH_FROM:
        window = max(5, len(curve.points) // 15 | 1)
        smooth = Series(f"mean of {window} steps", _running_mean(curve.points, window))
        series = [Series("each step", curve.points, faint=True), smooth]
    chart = charts.line_chart(series, label="SFT loss over steps", y_format=charts.compact)
    return figure("SFT loss", "cross-entropy on answer tokens", chart, series, curve.source)


def reward(history: RunHistory) -> Html | None:
    curve, spread = history.curve("rl", "reward_mean"), history.curve("rl", "reward_std")
    if curve is None:
        return None
    halves = dict(spread.points) if spread else {}
    known = tuple(halves.get(step, 0.0) for step, _ in curve.points) if spread else ()
    series = [Series("mean reward ± standard deviation" if known else "mean reward", curve.points, 1, known)]
    chart = charts.line_chart(
        series, label="RL reward over steps", y_format=charts.compact, y_limits=(0.0, 1.0)
    )
    return figure("RL reward", "0 to 1", chart, series, curve.source)


def rates(history: RunHistory) -> Html | None:
    named = (("compile_rate", "compiled", 1), ("pass_rate", "passed", 2))
    curves = [(history.curve("rl", name), label, style) for name, label, style in named]
    known = [(curve, Series(label, curve.points, style)) for curve, label, style in curves if curve]
    if not known:
        return None
    series = [one for _, one in known]
    chart = charts.line_chart(
        series, label="Compile and pass rate over RL steps", y_format=charts.percent, y_limits=(0.0, 1.0)
    )
    return figure("RL compile rate and pass rate", "share of answers", chart, series, known[0][0].source)


def speedup(history: RunHistory) -> Html | None:
    curve = history.curve("rl", "speedup_median")
    if curve is None:
        return None
    kind = " and ".join(sorted(history.time_kinds)) or "kind of time not recorded"
    series = [Series(f"median speedup ({kind})", curve.points, 3)]
    best = history.curve("rl", "speedup_best")
    series += [Series("best of the step", best.points, 1, faint=True)] if best else []
    chart = charts.line_chart(
        series,
        label=f"Median {kind} speedup over RL steps",
        y_format=charts.times,
        reference=(1.0, "naive baseline"),
    )
    return figure(f"RL speedup, {kind}", "over the naive baseline", chart, series, curve.source)


def tier(history: RunHistory) -> Html | None:
    """Which tier of the curriculum each step practised."""
    curve = history.curve("rl", "curriculum_tier")
    if curve is None:
        return None
    series = [Series("tier", tuple((step, number + 1) for step, number in curve.points), 1)]
    chart = charts.line_chart(series, label="Tier of the curriculum over RL steps", y_format=charts.compact)
    return figure("Curriculum", "tier that was practised, 1 is the easiest", chart, series, curve.source)


def verdicts(history: RunHistory) -> Html | None:
    """Which gate stopped the answers, as shares of all turns of a step."""
    if not history.steps:
        return None
    columns = [(str(step), _by_gate(history.steps[step].verdicts)) for step in sorted(history.steps)]
    used = [index for index in range(len(_STACK)) if any(counts[index] for _, counts in columns)]
    stack = [_STACK[index] for index in used]
    chart = charts.stacked_bars(
        [(name, [counts[index] for index in used]) for name, counts in columns],
        stack,
        label="Verdicts over RL steps by the gate that stopped the answer",
    )
    keys = [key(_gate_words(name), f"swatch {style}") for name, style in stack]
    return frame(
        "Where answers stop", "share of all turns", chart, keys, _verdict_table(history), class_="wide"
    )


def _gate_words(name: str) -> str:
    return name if name == "passed" else f"stopped at {name}"


def _by_gate(counts: Counter[Verdict]) -> list[int]:
    by_name: Counter[str] = Counter()
    for verdict, count in counts.items():
        by_name["passed" if verdict is Verdict.PASSED else verdict.gate.value] += count
    return [by_name[name] for name, _ in _STACK]


def _verdict_table(history: RunHistory) -> Html:
    """The exact verdicts behind the bars, most frequent first."""
    total: Counter[Verdict] = Counter()
    for step in history.steps.values():
        total.update(step.verdicts)
    number = sum(total.values())
    rows = [
        tag(
            "tr",
            tag("td", verdict.value.replace("_", " ")),
            tag("td", _gate_of(verdict)),
            tag("td", str(count), class_="number"),
            tag("td", f"{count / number * 100:.1f} %", class_="number"),
        )
        for verdict, count in total.most_common()
    ]
    head = tag("tr", tag("th", "Verdict"), tag("th", "Gate"), *_number_heads("Turns", "Share"))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    return tag("details", tag("summary", f"All verdicts of {number} turns"), table)


def _gate_of(verdict: Verdict) -> str:
    gate: Gate = verdict.gate
    return "–" if verdict is Verdict.PASSED else gate.value


def _number_heads(*names: str) -> list[Html]:
    return [tag("th", name, class_="number") for name in names]


def metric_table(history: RunHistory) -> Html:
    """Every metric by its name, those that have no plot among them."""
    rows = []
    for phase, by_name in history.metrics.items():
        for name, values in sorted(by_name.items()):
            ordered = [values[step] for step in sorted(values)]
            figures = (
                str(len(ordered)),
                *map(_figure_text, (ordered[0], ordered[-1], min(ordered), max(ordered))),
            )
            cells = [tag("td", figure, class_="number") for figure in figures]
            rows.append(tag("tr", tag("td", phase), tag("td", tag("code", name)), *cells))
    if not rows:
        return join([])
    numbers = _number_heads("Steps", "First", "Last", "Least", "Most")
    head = tag("thead", tag("tr", tag("th", "Phase"), tag("th", "Metric"), *numbers))
    table = tag("div", tag("table", head, tag("tbody", *rows), class_="plain"), class_="scroll")
    return tag("details", tag("summary", "All recorded metrics"), table)


def _figure_text(value: float) -> str:
    return f"{value:.4g}"


def _running_mean(points: Sequence[tuple[int, float]], window: int) -> tuple[Point, ...]:
    """Centred, so that a falling curve is not drawn too high; narrower at the ends."""
    values, half = [value for _, value in points], window // 2
    return tuple(
        (step, fmean(values[index - reach : index + reach + 1]))
        for index, (step, _) in enumerate(points)
        for reach in (min(half, index, len(values) - 1 - index),)
    )
