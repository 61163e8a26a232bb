"""What of two evaluations can be compared, and in words what cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coding_framework.monitoring.evaluation_folder import EvaluatedTask, EvaluationHead, EvaluationSettings
from coding_framework.monitoring.figure_records import ModelFigures
from coding_framework.records import EvaluationSample, Record

NAMED = 8
"""How many tasks a note names."""
MUST_AGREE = (
    "max_turns",
    "temperature",
    "max_prompt_tokens",
    "max_response_tokens",
    "tester",
    "compile_flags",
)
"""Settings without which two models were not given the same chance."""
MAY_DIFFER = ("engine", "dtype")
"""Settings that change how answers round, and are only told."""


class Loaded(Record):
    """A model with everything that was sampled of it."""

    name: str
    """Unique in the comparison."""
    head: EvaluationHead
    """What was asked."""
    folder: Path
    """Where."""
    samples: tuple[EvaluationSample, ...]
    """Everything that was sampled."""


def why_unfair(before: EvaluationHead, after: EvaluationHead) -> str:
    """In words, if the two were not given the same chance."""
    words = settings_that_differ(before.settings, after.settings)
    return f"not compared: they were sampled under other settings: {', '.join(words)}" if words else ""


def settings_that_differ(one: EvaluationSettings, other: EvaluationSettings) -> list[str]:
    """In words, those without which two models were not given the same chance."""
    names = [name for name in MUST_AGREE if getattr(one, name) != getattr(other, name)]
    words = [f"{name} ({getattr(one, name)} and {getattr(other, name)})" for name in names]
    if max(one.max_turns, other.max_turns) > 1:
        early = (one.early_stop_reward, one.reward) != (other.early_stop_reward, other.reward)
        words += ["what ends an episode early (early_stop_reward, reward)"] if early else []
    return words


def alike(models: Sequence[ModelFigures]) -> list[list[ModelFigures]]:
    """Models that may stand in one table: settings and times alike; what has no time goes with any."""
    groups: list[list[ModelFigures]] = []
    for model in models:
        fitting = (group for group in groups if all(_fit(model, other) for other in group))
        found = next(fitting, None)
        if found is None:
            groups.append([model])
        else:
            found.append(model)
    return groups


def _fit(one: ModelFigures, other: ModelFigures) -> bool:
    times = [(model.time_kind, model.device) for model in (one, other) if model.time_kind]
    return len(set(times)) <= 1 and not settings_that_differ(one.settings, other.settings)


def settings_told(before: EvaluationHead, after: EvaluationHead) -> list[str]:
    """What differs and is only told."""
    one, other = before.settings, after.settings
    differ = [name for name in MAY_DIFFER if getattr(one, name) != getattr(other, name)]
    notes = [f"{name}: {getattr(one, name)} and {getattr(other, name)}" for name in differ]
    if before.samples_per_task != after.samples_per_task:
        notes.append(f"samples of each task: {before.samples_per_task} and {after.samples_per_task}")
    if before.weights == after.weights:
        notes.append("both evaluations are of the same weights")
    if before.version != after.version:
        notes.append(f"versions of this package: {before.version} and {after.version}")
    return notes


def shared_tasks(before: Loaded, after: Loaded) -> tuple[list[EvaluatedTask], list[str]]:
    """Tasks that can be paired, and in words those that cannot."""
    old = {task.name: task for task in before.head.tasks}
    new = {task.name: task for task in after.head.tasks}
    both = [(task, new[name]) for name, task in old.items() if name in new]
    restated = [task.name for task, other in both if task.digest != other.digest]
    moved = [task.name for task, other in both if task.digest == other.digest and task.split != other.split]
    notes = [
        _named(f"only {before.name} was asked", [name for name in old if name not in new]),
        _named(f"only {after.name} was asked", [name for name in new if name not in old]),
        _named("stated or judged in another way", restated),
        _named("trained on in one and not in the other", moved),
    ]
    paired = [task for task, other in both if (task.digest, task.split) == (other.digest, other.split)]
    if not paired:
        notes.append("not compared: there is no task that both were asked alike")
    return paired, [note for note in notes if note]


def _named(words: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"tasks that are left out, {words}: {', '.join(names[:NAMED])}{more}"


def why_speeds_differ(before: Loaded, after: Loaded) -> str:
    """In words, if times of the two cannot be compared."""
    times = [_times(one.samples) for one in (before, after)]
    judged = [f"{one.head.settings.executor}, {one.head.settings.architecture}" for one in (before, after)]
    if all(times) and times[0] != times[1]:
        return f"speeds are not compared: times are {times[0][0]} and {times[1][0]}"
    if judged[0] != judged[1]:
        return f"speeds are not compared: kernels were judged by {judged[0]} and by {judged[1]}"
    return ""


def _times(samples: Sequence[EvaluationSample]) -> list[str]:
    turns = [turn for sample in samples for turn in sample.turns if turn.passed]
    return sorted({f"{turn.time_kind} on {turn.device}" for turn in turns})
