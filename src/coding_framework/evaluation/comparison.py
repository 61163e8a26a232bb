"""Two models on the same tasks: differences paired by task, with intervals, and what cannot be compared.

Guarantees: only tasks that both were asked in the same words, and that training saw in both or in neither,
are paired; times of different kinds or cards never meet; models that were sampled under other settings are
not compared at all. Whatever is left out is said. Not guaranteed: that two trainings differ for the reason
one has in mind; a difference between two runs holds for these two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean

from pydantic import Field

from coding_framework.errors import UserError
from coding_framework.monitoring.evaluation_folder import (
    EvaluatedTask,
    EvaluationFolder,
    EvaluationHead,
    EvaluationSettings,
    evaluation_folders,
)
from coding_framework.monitoring.figure_rows import Unit
from coding_framework.monitoring.figures import (
    SPLIT_NAMES,
    ModelFigures,
    by_task,
    figures_of,
    is_fast,
)
from coding_framework.monitoring.intervals import (
    Estimate,
    difference_of_shares,
    mean_difference,
    pass_at_k,
    sign_test,
    wilson_estimate,
)
from coding_framework.records import EvaluationSample, Record, TaskSplit

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


class ComparedModel(Record):
    """One column."""

    name: str
    """Unique in the comparison."""
    folder: Path
    """Where its samples are."""
    figures: ModelFigures
    """Its own figures."""


class TaskDifference(Record):
    """One task, before and after."""

    task: EvaluatedTask
    """Which."""
    before: Estimate
    """Share of samples that passed."""
    after: Estimate
    """The same of the other model."""
    difference: Estimate
    """`after` less `before`."""


class Difference(Record):
    """One figure of two models over the tasks that they share."""

    split: TaskSplit
    """Of which tasks."""
    figure: str
    """Which."""
    unit: Unit
    """A share's difference is a difference, a speedup's a factor."""
    tasks: int = Field(ge=1)
    """How many are paired."""
    before: float
    """Mean over these tasks."""
    after: float
    """The same of the other model."""
    difference: Estimate
    """Paired by task."""
    better: int = Field(ge=0)
    """Tasks on which the other model does better."""
    worse: int = Field(ge=0)
    """Tasks on which it does worse."""
    p_value: float = Field(ge=0, le=1)
    """Of the sign test over these tasks."""

    @property
    def is_clear(self) -> bool:
        """Whether there is a difference, with 95 % confidence."""
        none = 1.0 if self.unit == "times" else 0.0
        if self.difference.method == "none":
            return self.difference.value != none and self.p_value < 0.05
        return self.difference.low > none or self.difference.high < none


class Pair(Record):
    """Two models."""

    before: str
    """Name of the one that is compared with."""
    after: str
    """Name of the other."""
    notes: tuple[str, ...]
    """What could not be compared, and what to know."""
    differences: tuple[Difference, ...]
    """By split; none where nothing can be compared."""
    tasks: tuple[TaskDifference, ...]
    """Every task that is paired."""


class Comparison(Record):
    """All models, and the pairs among them."""

    models: tuple[ComparedModel, ...] = Field(min_length=2)
    """In the order in which they were named."""
    pairs: tuple[Pair, ...] = Field(min_length=1)
    """Each with the first, and each with the one before it."""
    notes: tuple[str, ...] = ()
    """Evaluations that were left out."""


class _Loaded(Record):
    """A model with everything that was sampled of it."""

    name: str
    head: EvaluationHead
    folder: Path
    samples: tuple[EvaluationSample, ...]


def compare(paths: Sequence[Path]) -> Comparison:
    """Everything that lies in these run folders and results of `cuda-rl evaluate`."""
    loaded, notes = _load(paths)
    if len(loaded) < 2:
        names = ", ".join(one.name for one in loaded) or "none"
        raise UserError(
            "\n".join([f"a comparison needs two finished evaluations, and here is {names}", *notes])
        )
    numbers = range(1, len(loaded))
    pairs = dict.fromkeys([*((0, n) for n in numbers), *((n - 1, n) for n in numbers)])
    return Comparison(
        models=tuple(_compared(one) for one in loaded),
        pairs=tuple(pair(loaded[first], loaded[second]) for first, second in pairs),
        notes=tuple(notes),
    )


def _compared(one: _Loaded) -> ComparedModel:
    figures = figures_of(one.head, one.samples)
    return ComparedModel(
        name=one.name, folder=one.folder, figures=figures.model_copy(update={"label": one.name})
    )


def _load(paths: Sequence[Path]) -> tuple[list[_Loaded], list[str]]:
    found: list[tuple[Path, EvaluationFolder]] = []
    for path in paths:
        folders = evaluation_folders(path)
        if not folders:
            raise UserError(
                f"{path} holds no evaluation: name a run folder whose models were evaluated, or a folder "
                "that cuda-rl evaluate made"
            )
        found += [(path, folder) for folder in folders]
    if len({folder.path.resolve() for _, folder in found}) < len(found):
        raise UserError("an evaluation is named twice: a model cannot be compared with itself")
    loaded, notes = [], []
    for path, folder in found:
        head = folder.head()
        samples, wanted = folder.stored(head), len(head.tasks) * head.samples_per_task
        if len(samples) < wanted:
            notes.append(f"{folder.path} is left out: it has {len(samples)} of {wanted} samples")
            continue
        name = _name(path, folder, several=len(paths) > 1)
        loaded.append(_Loaded(name=name, head=head, folder=folder.path, samples=tuple(samples)))
    return _with_own_names(loaded), notes


def _name(path: Path, folder: EvaluationFolder, *, several: bool) -> str:
    if folder.path == path:
        return path.resolve().name
    return f"{path.resolve().name}:{folder.path.name}" if several else folder.path.name


def _with_own_names(loaded: Sequence[_Loaded]) -> list[_Loaded]:
    """Two of one name are called by their whole paths."""
    names = [one.name for one in loaded]
    return [
        one.model_copy(update={"name": str(one.folder)}) if names.count(one.name) > 1 else one
        for one in loaded
    ]


def pair(before: _Loaded, after: _Loaded) -> Pair:
    """All that can be said of two models, and all that cannot."""
    notes = list(_told(before.head, after.head))
    unfair = _unfair(before.head, after.head)
    common, left_out = ([], []) if unfair else _common(before, after)
    notes += [unfair] if unfair else left_out
    speeds = _speeds_that_differ(before, after)
    notes += [speeds] if speeds and common else []
    old, new = by_task(before.samples), by_task(after.samples)
    differences = [
        one for split in SPLIT_NAMES for one in _differences(split, common, old, new, with_speed=not speeds)
    ]
    return Pair(
        before=before.name,
        after=after.name,
        notes=tuple(notes),
        differences=tuple(differences),
        tasks=tuple(_task_difference(task, old[task.name], new[task.name]) for task in common),
    )


def _unfair(before: EvaluationHead, after: EvaluationHead) -> str:
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


def _told(before: EvaluationHead, after: EvaluationHead) -> list[str]:
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


def _common(before: _Loaded, after: _Loaded) -> tuple[list[EvaluatedTask], list[str]]:
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


def _speeds_that_differ(before: _Loaded, after: _Loaded) -> str:
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


_Samples = Sequence[EvaluationSample]
_OfTask = Callable[[_Samples], float | None]


def _differences(
    split: TaskSplit,
    common: Sequence[EvaluatedTask],
    old: dict[str, list[EvaluationSample]],
    new: dict[str, list[EvaluationSample]],
    *,
    with_speed: bool,
) -> list[Difference]:
    pairs = [(old[task.name], new[task.name]) for task in common if task.split == split]
    if not pairs:
        return []
    k = min(len(own) for both in pairs for own in both)
    figures: dict[str, _OfTask] = {"compiles": _compiles, "pass@1": _passes}
    if k > 1:
        figures[f"pass@{k}"] = lambda own: pass_at_k(len(own), _count_passed(own), k)
    if with_speed:
        figures |= {"fast_1": lambda own: _fast(own, 1.0), "fast_1.5": lambda own: _fast(own, 1.5)}
    found = [_share(split, name, get, pairs) for name, get in figures.items()]
    speed = _speed(split, pairs) if with_speed else None
    return [*found, *([speed] if speed else [])]


def _share(
    split: TaskSplit, name: str, get: _OfTask, pairs: Sequence[tuple[_Samples, _Samples]]
) -> Difference:
    values = [(get(one) or 0.0, get(other) or 0.0) for one, other in pairs]
    difference = mean_difference([other - one for one, other in values])
    if len(pairs) == 1 and (name == "pass@1" or not name.startswith("pass@")):
        counted = zip(values[0], pairs[0], strict=True)
        before, after = (wilson_estimate(round(value * len(own)), len(own)) for value, own in counted)
        difference = difference_of_shares(before, after)
    assert difference is not None
    return _difference(split, name, "share", values, difference)


def _speed(split: TaskSplit, pairs: Sequence[tuple[_Samples, _Samples]]) -> Difference | None:
    """The factor between geometric means, over the tasks that both passed."""
    logs = [(_mean_log(one), _mean_log(other)) for one, other in pairs]
    known = [(one, other) for one, other in logs if one is not None and other is not None]
    factor = mean_difference([other - one for one, other in known])
    if factor is None:
        return None
    ends = {"value": exp(factor.value), "low": exp(factor.low), "high": exp(factor.high)}
    values = [(exp(one), exp(other)) for one, other in known]
    return _difference(split, "speedup", "times", values, factor.model_copy(update=ends))


def _difference(
    split: TaskSplit, name: str, unit: Unit, values: Sequence[tuple[float, float]], difference: Estimate
) -> Difference:
    better = sum(other > one for one, other in values)
    worse = sum(other < one for one, other in values)
    mean = _geometric if unit == "times" else fmean
    return Difference(
        split=split,
        figure=name,
        unit=unit,
        tasks=len(values),
        before=mean([one for one, _ in values]),
        after=mean([other for _, other in values]),
        difference=difference,
        better=better,
        worse=worse,
        p_value=sign_test(better, worse),
    )


def _geometric(values: Sequence[float]) -> float:
    return exp(fmean(log(value) for value in values))


def _task_difference(task: EvaluatedTask, old: _Samples, new: _Samples) -> TaskDifference:
    before, after = (wilson_estimate(_count_passed(own), len(own)) for own in (old, new))
    return TaskDifference(
        task=task, before=before, after=after, difference=difference_of_shares(before, after)
    )


def _count_passed(own: _Samples) -> int:
    return sum(one.best_turn.passed for one in own)


def _passes(own: _Samples) -> float:
    return _count_passed(own) / len(own)


def _compiles(own: _Samples) -> float:
    return sum(one.best_turn.compiled for one in own) / len(own)


def _fast(own: _Samples, speedup: float) -> float:
    return sum(is_fast(one.best_turn, speedup) for one in own) / len(own)


def _mean_log(own: _Samples) -> float | None:
    logs = [log(one.best_turn.speedup) for one in own if one.best_turn.speedup]
    return fmean(logs) if logs else None
