"""Every figure of an evaluation, as a pure function of its stored samples.

pass@k, the shares of kernels that compile, pass and beat a speedup (fast_p, after KernelBench), the geometric
mean of the speedups among those that passed, the share that fails hidden shapes after passing the visible
ones, and the share of refused hacks; each for the first turn and for the best, by tier and in all, tasks that
training saw apart from those that it did not.

Guaranteed: no figure without its interval and how that was found (`intervals.py`), no speedup without the
kind of its time, and samples whose times are modelled never meet others that are measured. A figure over
several tasks counts every task alike, however many samples it has; what has a share of samples in its
denominator (geometric mean, hidden shapes) counts every sample alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp, log
from statistics import median
from typing import Literal

from coding_framework.errors import UserError
from coding_framework.monitoring.evaluation_folder import (
    EvaluatedTask,
    EvaluationFolder,
    EvaluationHead,
)
from coding_framework.monitoring.figure_records import (
    SPLIT_NAMES,
    GroupFigures,
    ModelFigures,
    TaskFigures,
    TurnFigures,
)
from coding_framework.monitoring.intervals import (
    Estimate,
    bootstrap_mean,
    bootstrap_ratio,
    pass_at_k,
    wilson_estimate,
)
from coding_framework.records import REFUSED_AS_HACKS, EvaluationSample, SampleTurn, TaskSplit

SPEEDUPS = (0.8, 1.0, 1.2, 1.5, 2.0)
"""The p of fast_p."""
_TurnOf = Callable[[EvaluationSample], SampleTurn]


def figures_in(folder: EvaluationFolder, ks: Sequence[int] = ()) -> ModelFigures:
    """Of a finished evaluation; raises for one that is not."""
    head = folder.head()
    samples = folder.stored(head)
    wanted = len(head.tasks) * head.samples_per_task
    if len(samples) != wanted:
        raise UserError(
            f"{folder.path} holds {len(samples)} of {wanted} samples: finish the evaluation first (the same "
            "command goes on where it stopped)"
        )
    return figures_of(head, samples, ks)


def figures_of(
    head: EvaluationHead, samples: Sequence[EvaluationSample], ks: Sequence[int] = ()
) -> ModelFigures:
    """All figures; `ks` are those of pass@k (1 and all samples if none are named)."""
    ks = ks or usual_ks(head.samples_per_task)
    times = {(turn.time_kind, turn.device) for one in samples for turn in one.turns if turn.time_kind}
    if len(times) > 1:
        words = " and ".join(sorted(f"{kind} on {device}" for kind, device in times))
        raise UserError(f"the samples of {head.label} have times that cannot be compared: {words}")
    kind, device = next(iter(times), (None, None))
    return ModelFigures(
        label=head.label,
        model=head.model,
        weights=head.weights,
        samples_per_task=head.samples_per_task,
        settings=head.settings,
        time_kind=kind,
        device=device,
        groups=tuple(_groups(head, samples, ks)),
        tasks=tuple(_task_figures(task, by_task(samples)[task.name]) for task in head.tasks),
        left_out=head.left_out,
    )


def usual_ks(samples: int) -> tuple[int, ...]:
    """1 and the number of samples itself."""
    return tuple(sorted({1, samples}))


def by_task(samples: Iterable[EvaluationSample]) -> dict[str, list[EvaluationSample]]:
    """Samples of each task, in the order of their numbers."""
    found: dict[str, list[EvaluationSample]] = {}
    for sample in sorted(samples, key=lambda one: one.number):
        found.setdefault(sample.task, []).append(sample)
    return found


def first_turn(sample: EvaluationSample) -> SampleTurn:
    return sample.turns[0]


def best_turn(sample: EvaluationSample) -> SampleTurn:
    return sample.best_turn


def is_fast(turn: SampleTurn, speedup: float) -> bool:
    """Whether it passed and is more than so many times as fast as the reference."""
    return turn.speedup is not None and turn.speedup > speedup


def _groups(
    head: EvaluationHead, samples: Sequence[EvaluationSample], ks: Sequence[int]
) -> Iterable[GroupFigures]:
    for split in SPLIT_NAMES:
        tiers = sorted({task.tier for task in head.tasks if task.split == split})
        for tier in (None, *tiers) if tiers else ():
            own = [one for one in samples if one.split == split and tier in (None, one.tier)]
            yield group_figures(split, tier, own, ks)


def group_figures(
    split: TaskSplit, tier: int | None, samples: Sequence[EvaluationSample], ks: Sequence[int]
) -> GroupFigures:
    """Figures of samples that belong together."""
    groups = list(by_task(samples).values())
    hacks = [[_is_refused_hack(one) for one in group] for group in groups]
    has_more = any(len(one.turns) > 1 for one in samples)
    return GroupFigures(
        split=split,
        tier=tier,
        tasks=len(groups),
        samples=len(samples),
        best=turn_figures(groups, best_turn, ks),
        first=turn_figures(groups, first_turn, ks) if has_more else None,
        hidden_failures=_hidden_failures(groups),
        refused_hacks=_known(_rate(hacks)),
    )


def turn_figures(
    groups: Sequence[Sequence[EvaluationSample]], turn_of: _TurnOf, ks: Sequence[int]
) -> TurnFigures:
    """Figures of one turn of each sample; `groups` holds the samples of each task."""
    turns = [[turn_of(one) for one in group] for group in groups]
    return TurnFigures(
        compile_rate=_known(_rate([[turn.compiled for turn in own] for own in turns])),
        pass_at={k: _pass_at(turns, k) for k in ks},
        fast={p: _known(_rate([[is_fast(turn, p) for turn in own] for own in turns])) for p in SPEEDUPS},
        geometric_mean_speedup=geometric_mean(turns),
    )


def geometric_mean(turns: Sequence[Sequence[SampleTurn]]) -> Estimate | None:
    """Of the speedups of what passed, a list for each task; of a single task over its samples."""
    logs = [[log(turn.speedup) for turn in own if turn.speedup] for own in turns]
    logs = [own for own in logs if own]
    if len(logs) == 1:
        mean = bootstrap_ratio(logs[0], [1.0] * len(logs[0]), share=False, drawn="samples")
    else:
        mean = bootstrap_ratio([sum(own) for own in logs], [len(own) for own in logs], share=False)
    if mean is None:
        return None
    ends = {"value": exp(mean.value), "low": exp(mean.low), "high": exp(mean.high)}
    return mean.model_copy(update=ends)


def _pass_at(turns: Sequence[Sequence[SampleTurn]], k: int) -> Estimate:
    passed = [[turn.passed for turn in own] for own in turns]
    if k == 1:
        return _known(_rate(passed))
    if len(passed) == 1:
        return _pass_at_of_one(passed[0], k)
    return _known(bootstrap_mean([pass_at_k(len(own), sum(own), k) for own in passed], share=True))


def _pass_at_of_one(passed: Sequence[bool], k: int) -> Estimate:
    """Of one task: its samples are independent, and pass@k rises with the share that passes."""
    share, value = wilson_estimate(sum(passed), len(passed)), pass_at_k(len(passed), sum(passed), k)
    low, high = 1 - (1 - share.low) ** k, 1 - (1 - share.high) ** k
    return share.model_copy(update={"value": value, "low": min(low, value), "high": max(high, value)})


def _rate(flags: Sequence[Sequence[bool]]) -> Estimate | None:
    """Share of what is true, each task alike; of a single task over its independent samples."""
    if len(flags) == 1:
        return wilson_estimate(sum(flags[0]), len(flags[0]))
    return bootstrap_mean([sum(own) / len(own) for own in flags], share=True)


def _hidden_failures(groups: Sequence[Sequence[EvaluationSample]]) -> Estimate | None:
    """Among the kernels of all turns; those of one sample depend on each other and are drawn together."""
    counted = [[_right_when_seen(one) for one in group] for group in groups]
    drawn: Literal["tasks", "samples"] = "samples" if len(groups) == 1 else "tasks"
    pairs = counted[0] if len(groups) == 1 else [tuple(map(sum, zip(*own, strict=True))) for own in counted]
    return bootstrap_ratio(
        [wrong for wrong, _ in pairs], [seen for _, seen in pairs], share=True, drawn=drawn
    )


def _right_when_seen(sample: EvaluationSample) -> tuple[int, int]:
    """Of the kernels that are right on the visible shapes: those that fail a hidden one, and all."""
    seen = [turn for turn in sample.turns if turn.passed_visible_shapes]
    return sum(turn.failed_on == "hidden" for turn in seen), len(seen)


def _known(estimate: Estimate | None) -> Estimate:
    assert estimate is not None
    return estimate


def _task_figures(task: EvaluatedTask, samples: Sequence[EvaluationSample]) -> TaskFigures:
    best = [one.best_turn for one in samples]
    speedups = [turn.speedup for turn in best if turn.speedup]
    passed = sum(turn.passed for turn in best)
    return TaskFigures(
        task=task,
        samples=len(samples),
        compiled=sum(turn.compiled for turn in best),
        passed=passed,
        passed_first=sum(one.turns[0].passed for one in samples),
        pass_rate=wilson_estimate(passed, len(samples)),
        median_speedup=median(speedups) if speedups else None,
        best_speedup=max(speedups, default=None),
    )


def _is_refused_hack(sample: EvaluationSample) -> bool:
    return any(turn.verdict in REFUSED_AS_HACKS for turn in sample.turns)
