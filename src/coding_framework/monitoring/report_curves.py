"""The report's further curves of RL and of the machine, as one table: which metrics share a plot.

Drawn is what was recorded; a run of an earlier version, or a machine without a GPU, has fewer plots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from coding_framework.monitoring import charts
from coding_framework.monitoring.charts import Format, Series
from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.monitoring.report_frames import figure, frame, key
from coding_framework.monitoring.run_history import Curve, RunHistory
from coding_framework.monitoring.run_state import MetricPhase

_STYLES = 6
"""Lines that can be told apart; further ones are left to the table of all metrics."""


@dataclass(frozen=True)
class Plot:
    """Metrics that belong together."""

    title: str
    unit: str
    names: dict[str, str]
    """Pattern of a metric's whole name → what the line is called; `\\1` is the pattern's group."""
    y_format: Format = charts.compact
    per_unit: float = 1.0
    """So much of what was recorded is one of `unit`."""


def whole(value: float) -> str:
    return f"{value:,.0f}"


LEARNING = (
    Plot("Reward by turn", "mean", {r"reward_turn(\d+)": r"turn \1"}),
    Plot("Reward by agent", "mean", {r"reward_(generator|optimizer|tester)": r"\1"}),
    Plot("Pass rate by tier", "of episodes", {r"pass_rate_tier(\d+)": r"tier \1"}, charts.percent),
    Plot("Compile rate by tier", "of episodes", {r"compile_rate_tier(\d+)": r"tier \1"}, charts.percent),
    Plot(
        "Distance of the policy",
        "KL divergence",
        {"policy_kl": "to what sampled", "reference_kl": "to the start model"},
    ),
    Plot(
        "Entropy",
        "nats a token",
        {"entropy": "of the policy", "entropy_sampled": "of what was sampled"},
    ),
    Plot(
        "Clipped",
        "share of tokens",
        {"clip_fraction": "clipped", "dual_clip_fraction": "at the bound for bad answers"},
    ),
    Plot(
        "Length of answers",
        "tokens",
        {"answer_tokens_mean": "mean", "answer_tokens_p90": "nine in ten below"},
    ),
    Plot("Lost", "each step", {"episodes_lost": "episodes", "judge_faults": "judgements asked for again"}),
)
MACHINE = (
    Plot(
        "Tokens a second",
        "",
        {
            "tokens_per_s": "trained on",
            "sampling_tokens_per_s": "sampled",
            "update_tokens_per_s": "trained on",
        },
        whole,
    ),
    Plot("Judge", "", {"judgements_per_s": "judgements a second", "judge_queue": "mean length of its queue"}),
    Plot(
        "What the judge had to do",
        "each step",
        {
            "judged": "judged",
            "verdicts_remembered": "same text",
            "verdicts_shared": "same code",
            "compiles": "compiled",
            "compile_cache_hits": "from the compile cache",
        },
    ),
    Plot("Cores at work", "of the host", {"host_cores_busy": "cores"}),
    Plot("Memory", "GiB of the host", {"host_memory_bytes": "taken"}, per_unit=2**30),
    Plot("GPUs at work", "share of the time", {r"gpu(\d+)_busy": r"GPU \1"}, charts.percent),
    Plot("Memory of the GPUs", "GiB", {r"gpu(\d+)_memory_bytes": r"GPU \1"}, per_unit=2**30),
    Plot("Power of the GPUs", "watts", {r"gpu(\d+)_power_w": r"GPU \1"}),
)
_TIME_PARTS = (
    ("sampling_s", "sampling", "w-sampling"),
    ("judging_alone_s", "judging alone", "w-judging"),
    ("update_s", "update", "w-update"),
    ("update_critic_s", "update of the critic", "w-critic"),
    ("weight_sync_s", "weights to the sampler", "w-sync"),
    ("checkpoint_s", "checkpoint", "w-checkpoint"),
    ("other_s", "other", "w-other"),
)


def learning(history: RunHistory) -> Iterator[Html]:
    """What the policy learns, and what is refused."""
    for plot in LEARNING:
        yield from _drawn(plot, "rl", history)
    yield from _refused(history)


def machine(history: RunHistory) -> Html:
    """Folded: one looks at it when something is slow."""
    phases: tuple[tuple[MetricPhase, str], ...] = (("sft", "SFT"), ("rl", "RL"))
    drawn = [
        one for phase, words in phases for plot in MACHINE for one in _drawn(plot, phase, history, words)
    ]
    if not drawn:
        return join([])
    return tag("details", tag("summary", "The machine, step by step"), tag("div", *drawn, class_="plots"))


def time_split(history: RunHistory) -> Html | None:
    """Shares of each step's time."""
    recorded = history.metrics.get("rl", {})
    steps = sorted(recorded.get("other_s", {}))
    used = [part for part in _TIME_PARTS if part[0] in recorded]
    if not steps:
        return None
    columns = [(str(step), [recorded[name].get(step, 0.0) for name, _, _ in used]) for step in steps]
    categories = [(words, style) for _, words, style in used]
    chart = charts.stacked_bars(columns, categories, label="Where the time of each RL step went")
    keys = [key(words, f"swatch {style}") for words, style in categories]
    below = tag("p", "Source: as the trainer recorded it, in seconds.", class_="caption")
    return frame("Where the time of a step goes", "share of the step", chart, keys, below, class_="wide")


def _drawn(plot: Plot, phase: MetricPhase, history: RunHistory, where: str = "") -> Iterator[Html]:
    found = list(_curves(plot, phase, history))[:_STYLES]
    if found:
        series = [
            Series(label, tuple((step, value / plot.per_unit) for step, value in curve.points), style)
            for style, (label, curve) in enumerate(found, start=1)
        ]
        title = f"{plot.title}, {where}" if where else plot.title
        limits = (0.0, 1.0) if plot.y_format is charts.percent else None
        chart = charts.line_chart(
            series, label=f"{title} over steps", y_format=plot.y_format, y_limits=limits
        )
        yield figure(title, plot.unit, chart, series, found[0][1].source)


def _curves(plot: Plot, phase: MetricPhase, history: RunHistory) -> Iterator[tuple[str, Curve]]:
    for pattern, label in plot.names.items():
        names = [name for name in history.metrics.get(phase, {}) if re.fullmatch(pattern, name)]
        for name in sorted(names, key=lambda one: (len(one), one)):
            curve = history.curve(phase, name)
            if curve is not None:
                yield re.sub(pattern, label, name), curve


def _refused(history: RunHistory) -> Iterator[Html]:
    """Only the kinds that occurred; a flat line where none did."""
    recorded = history.metrics.get("rl", {})
    occurred = [n for n in recorded if re.fullmatch(r"refused_[a-z_]+", n) and any(recorded[n].values())]
    names = {name: name.removeprefix("refused_").replace("_", " ") for name in sorted(occurred)}
    yield from _drawn(Plot("Refused as hacks", "turns", names or {"refused": "of any kind"}), "rl", history)
