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

from coding_framework.errors import UserError
from coding_framework.evaluation.comparability import (
    Loaded,
    settings_told,
    shared_tasks,
    why_speeds_differ,
    why_unfair,
)
from coding_framework.evaluation.comparison_records import (
    ComparedModel,
    Comparison,
    Difference,
    Pair,
    TaskDifference,
)
from coding_framework.monitoring.evaluation_folder import EvaluatedTask, EvaluationFolder, evaluation_folders
from coding_framework.monitoring.figure_records import SPLIT_NAMES
from coding_framework.monitoring.figure_rows import Unit
from coding_framework.monitoring.figures import by_task, figures_of, is_fast
from coding_framework.monitoring.intervals import (
    Estimate,
    difference_of_shares,
    mean_difference,
    pass_at_k,
    sign_test,
    wilson_estimate,
)
from coding_framework.records import EvaluationSample, TaskSplit

_Samples = Sequence[EvaluationSample]
_OfTask = Callable[[_Samples], float | None]


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


def _compared(one: Loaded) -> ComparedModel:
    figures = figures_of(one.head, one.samples)
    return ComparedModel(
        name=one.name, folder=one.folder, figures=figures.model_copy(update={"label": one.name})
    )


def _load(paths: Sequence[Path]) -> tuple[list[Loaded], list[str]]:
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
        loaded.append(Loaded(name=name, head=head, folder=folder.path, samples=tuple(samples)))
    return _with_own_names(loaded), notes


def _name(path: Path, folder: EvaluationFolder, *, several: bool) -> str:
    if folder.path == path:
        return path.resolve().name
    return f"{path.resolve().name}:{folder.path.name}" if several else folder.path.name


def _with_own_names(loaded: Sequence[Loaded]) -> list[Loaded]:
    """Two of one name are called by their whole paths."""
    names = [one.name for one in loaded]
    return [
        one.model_copy(update={"name": str(one.folder)}) if names.count(one.name) > 1 else one
        for one in loaded
    ]


def pair(before: Loaded, after: Loaded) -> Pair:
    """All that can be said of two models, and all that cannot."""
    notes = settings_told(before.head, after.head)
    unfair = why_unfair(before.head, after.head)
    common, left_out = ([], []) if unfair else shared_tasks(before, after)
    notes += [unfair] if unfair else left_out
    speeds = why_speeds_differ(before, after)
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
