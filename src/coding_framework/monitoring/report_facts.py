"""The head of the report: what was run, where, for how long, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from coding_framework.config.tree import FrameworkConfig, RLConfig, SFTConfig
from coding_framework.monitoring.figure_records import SPLIT_NAMES, EvaluationReport, splits_of
from coding_framework.monitoring.intervals import Estimate
from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_history import RunHistory
from coding_framework.monitoring.run_state import MachineFacts, MetricPhase, RunState
from coding_framework.monitoring.secrets import without_secrets
from coding_framework.monitoring.sinks.settled import Settled

_PHASES: tuple[tuple[MetricPhase, str], ...] = (
    ("sft", "SFT"),
    ("rl", "RL"),
    ("evaluation", "Evaluation"),
)
_NOT_RECORDED = "not recorded"
_TIME_KINDS = {"emulator": "modelled", "gpu": "measured", "auto": "no"}
"""What can be said before anything was evaluated."""


def read_config(run: RunFolder) -> FrameworkConfig | None:
    """None for a configuration that another version wrote; the report then shows it as it is."""
    try:
        return FrameworkConfig.model_validate_json(run.config_json)
    except ValidationError:
        return None


def duration(seconds: float) -> str:
    """`42 s`, `3 min 05 s`, `2 h 07 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def facts(config: FrameworkConfig | None, state: RunState, evaluation: EvaluationReport | None) -> Html:
    """The list of what a reader needs in order to repeat the run."""
    rows = [
        ("Model", f"{config.model.name} ({config.model.dtype})" if config else _NOT_RECORDED),
        ("Seed", str(config.run.seed) if config else _NOT_RECORDED),
        ("Executor", _executor(config, evaluation)),
        ("Reward", config.reward.title if config else _NOT_RECORDED),
        ("Started", state.created_at.strftime("%Y-%m-%d %H:%M UTC")),
        ("Machine", _machine(state.machine)),
    ]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows), class_="facts")


def _executor(config: FrameworkConfig | None, evaluation: EvaluationReport | None) -> str:
    """With the kind of the times that were recorded: `auto` may have been either."""
    if config is None:
        return _NOT_RECORDED
    seen = ", ".join(sorted(evaluation.time_kinds)) if evaluation is not None else ""
    kind = seen or _TIME_KINDS[config.judge.executor]
    return f"{config.judge.executor}, {config.judge.architecture}, {kind} times"


def _machine(machine: MachineFacts) -> str:
    memory = f", {machine.memory_bytes / 2**30:.0f} GiB" if machine.memory_bytes else ""
    hardware = f"{machine.processor}, {machine.cores} cores{memory}, {', '.join(machine.gpus) or 'no GPU'}"
    return f"{hardware}; {machine.system}, Python {machine.python}"


def phases(config: FrameworkConfig | None, state: RunState, history: RunHistory) -> Html:
    """One row a phase: finished, skipped, unfinished or not started, and its time."""
    rows = []
    for name, title in _PHASES:
        status, style = _status(name, config, state, history)
        spent = tag("td", _spent(name, state, history), class_="number")
        rows.append(
            tag("tr", tag("th", title, scope="row"), tag("td", tag("span", status, class_=style)), spent)
        )
    head = tag(
        "thead", tag("tr", tag("th", "Phase"), tag("th", "Status"), tag("th", "Duration", class_="number"))
    )
    return tag("table", head, tag("tbody", *rows), _total(state, history), class_="plain")


def _status(
    phase: MetricPhase, config: FrameworkConfig | None, state: RunState, history: RunHistory
) -> tuple[str, str]:
    last = history.last_step(phase)
    plans: dict[str, SFTConfig | RLConfig] = {"sft": config.sft, "rl": config.rl} if config else {}
    planned = plans.get(phase)
    if state.phase(phase):
        return (f"finished, {last} steps" if last and phase != "evaluation" else "finished"), "ok"
    if planned is not None and not planned.enabled:
        return "skipped by configuration", "muted"
    if last is None:
        return "not started", "muted"
    of = f" of {steps}" if (steps := _steps(planned)) else ""
    return f"unfinished: last recorded step is {last}{of}", "warn"


def _steps(planned: SFTConfig | RLConfig | None) -> int | None:
    """None where they depend on the number of pairs."""
    if isinstance(planned, SFTConfig):
        return planned.steps
    return planned.all_steps if planned else None


def _spent(phase: MetricPhase, state: RunState, history: RunHistory) -> str:
    finished = state.phase(phase)
    parts = [p.seconds for p in state.phases if p.name == phase or p.name.startswith(f"{phase}_")]
    seconds = [part for part in parts if part is not None]
    if finished and seconds:
        return duration(sum(seconds))
    if phase in history.elapsed_s:
        words = duration(history.elapsed_s[phase])
        return words if finished else f"{words} so far"
    return "–"


def _total(state: RunState, history: RunHistory) -> Html | None:
    seconds = [phase.seconds for phase in state.phases if phase.seconds is not None]
    if not seconds:
        return None
    counted = f"{history.num_conversations} conversations stored"
    cells = tag("td", counted), tag("td", duration(sum(seconds)), class_="number")
    return tag("tfoot", tag("tr", tag("th", "Together", scope="row"), *cells))


def headline(evaluation: EvaluationReport | None, history: RunHistory) -> Html:
    """The few numbers that one looks for first."""
    tiles = []
    if evaluation is not None:
        for split in splits_of(evaluation.models):
            groups = [(model.label, model.group(split)) for model in evaluation.models]
            rates = [(label, group.best.pass_at[1]) for label, group in groups if group is not None]
            tiles.append(_rate_tile(f"Passed, tasks {SPLIT_NAMES[split]} (pass@1)", rates))
    reward = history.curve("rl", "reward_mean")
    if reward is not None and len(reward.points) > 1:
        first, last = reward.points[0], reward.points[-1]
        note = f"step {first[0]} → step {last[0]}, single steps: see the curve for the noise"
        tiles.append(_tile("RL reward, mean", f"{first[1]:.2f} → {last[1]:.2f}", note))
    return tag("div", *tiles, class_="tiles") if tiles else join([])


def _rate_tile(title: str, rates: Sequence[tuple[str, Estimate]]) -> Html:
    value = " → ".join(f"{rate.value * 100:.0f} %" for _, rate in rates)
    note = " · ".join(f"{label} {rate.low * 100:.0f}–{rate.high * 100:.0f} %" for label, rate in rates)
    return _tile(title, value, f"95 % intervals: {note}")


def _tile(title: str, value: str, note: str) -> Html:
    parts = tag("p", title, class_="label"), tag("p", value, class_="value"), tag("p", note, class_="note")
    return tag("div", *parts, class_="tile")


def notices(
    run: RunFolder, config: FrameworkConfig | None, history: RunHistory, missing: Sequence[str] = ()
) -> Html:
    """What the reader must know before believing the rest; `missing` is what the tables lack."""
    found = list(missing)
    if config is None:
        found.append("config.json was written by another version; its values are shown below as they are.")
    if history.skipped_lines:
        found.append(
            f"{history.skipped_lines} unreadable line(s) of metrics.jsonl and conversations.jsonl were left "
            "out: a process was probably killed while writing."
        )
    found += [
        f"The sink `{name}` was switched off ({why}). metrics.jsonl has its numbers, and it gets them when "
        "the run is resumed."
        for name, why in Settled.read(run.path).failed.items()
    ]
    if not history.metrics and not history.num_conversations:
        found.append(f"Nothing was recorded in {run.path.name} yet.")
    return join(tag("p", words, class_="notice") for words in found)


def config_listing(run: RunFolder) -> Html:
    """The whole resolved configuration, less the judge's secret."""
    shown = without_secrets(run.config_json)
    return tag("details", tag("summary", "Resolved configuration"), tag("pre", shown))
