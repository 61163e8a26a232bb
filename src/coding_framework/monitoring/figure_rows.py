"""The rows of every table of figures: the same names in the terminal, the report and a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from coding_framework.monitoring.figure_records import GroupFigures, ModelFigures, TurnFigures
from coding_framework.monitoring.figures import SPEEDUPS
from coding_framework.monitoring.intervals import Estimate
from coding_framework.records import TaskSplit

Unit = Literal["share", "times"]
Get = Callable[[GroupFigures], Estimate | None]
METHODS = {
    "wilson": "Wilson's interval over independent samples",
    "wilson over tasks": "Wilson's interval over tasks, as all tasks say the same",
    "bootstrap over tasks": "bootstrap over tasks",
    "bootstrap over samples": "bootstrap over the samples of one task",
    "newcombe": "Newcombe's interval over independent samples",
    "none": "no interval, as no two tasks differ",
}


MAIN = ("pass@1", "fast_1", "speedup")
"""What is shown of every tier."""


class FigureRow(NamedTuple):
    """One figure of several models."""

    name: str
    what: str
    """In words."""
    unit: Unit
    cells: tuple[Estimate | None, ...]
    """One for each model; None where there is none."""


class Figure(NamedTuple):
    """One figure, wherever it is shown or compared."""

    name: str
    what: str
    unit: Unit
    get: Get


def figures_shown(ks: Sequence[int], *, turns: bool) -> tuple[Figure, ...]:
    """All of a group; `turns` adds those of the first turn."""
    shown = [*_of_turn(ks, lambda group: group.best, ""), *_OF_ALL_TURNS]
    if turns:
        wanted = {f"{name}, turn 1" for name in ("compiles", "pass@1", "fast_1", "speedup")}
        shown += [one for one in _of_turn(ks, lambda group: group.first, ", turn 1") if one.name in wanted]
    return tuple(shown)


def figure_rows(models: Sequence[ModelFigures], split: TaskSplit, tier: int | None = None) -> list[FigureRow]:
    """Every figure of a group of tasks, for each model; of a single tier the main ones."""
    groups = [model.group(split, tier) for model in models]
    everything = [group for model in models for group in model.groups]
    ks = sorted({k for group in everything for k in group.best.pass_at})
    shown = figures_shown(ks, turns=any(group.first is not None for group in everything))
    return [
        FigureRow(
            one.name, one.what, one.unit, tuple(None if group is None else one.get(group) for group in groups)
        )
        for one in shown
        if tier is None or one.name in MAIN
    ]


def value_words(estimate: Estimate, unit: Unit) -> str:
    """`28%` or `1.32x`."""
    return f"{estimate.value:.0%}" if unit == "share" else f"{estimate.value:.2f}x"


def interval_words(estimate: Estimate, unit: Unit) -> str:
    """`16–45` or `1.10–1.52`; nothing where one sample has no spread."""
    if estimate.method == "none" or (estimate.count == 1 and estimate.low == estimate.high):
        return ""
    scale, digits = (100, 0) if unit == "share" else (1, 2)
    return f"{estimate.low * scale:.{digits}f}–{estimate.high * scale:.{digits}f}"


def estimate_words(estimate: Estimate | None, unit: Unit) -> str:
    """`28% [16–45]`."""
    if estimate is None:
        return "–"
    interval = interval_words(estimate, unit)
    return value_words(estimate, unit) + (f" [{interval}]" if interval else "")


def _of_turn(
    ks: Sequence[int], turn_of: Callable[[GroupFigures], TurnFigures | None], where: str
) -> list[Figure]:
    def of(get: Callable[[TurnFigures], Estimate | None]) -> Get:
        def found(group: GroupFigures) -> Estimate | None:
            turn = turn_of(group)
            return None if turn is None else get(turn)

        return found

    shown = [Figure(f"compiles{where}", "samples with a kernel that compiles", "share", of(_compile_rate))]
    for k in ks:
        words = "samples with a kernel that passes every check"
        words = words if k == 1 else f"chance that one of {k} samples passes"
        shown.append(Figure(f"pass@{k}{where}", words, "share", of(partial(_pass_at, k=k))))
    for p in SPEEDUPS:
        words = f"samples that pass and are over {p:g} times as fast as the reference"
        shown.append(Figure(f"fast_{p:g}{where}", words, "share", of(partial(_fast, p=p))))
    words = "geometric mean over the reference, among those that passed"
    return [*shown, Figure(f"speedup{where}", words, "times", of(_geometric_mean))]


def _compile_rate(turn: TurnFigures) -> Estimate:
    return turn.compile_rate


def _pass_at(turn: TurnFigures, k: int) -> Estimate | None:
    return turn.pass_at.get(k)


def _fast(turn: TurnFigures, p: float) -> Estimate | None:
    return turn.fast.get(p)


def _geometric_mean(turn: TurnFigures) -> Estimate | None:
    return turn.geometric_mean_speedup


_OF_ALL_TURNS = (
    Figure(
        "hidden failures",
        "of the kernels that are right on the visible shapes: wrong on a hidden one",
        "share",
        lambda group: group.hidden_failures,
    ),
    Figure(
        "refused hacks",
        "samples with a kernel that was refused for what no honest kernel needs",
        "share",
        lambda group: group.refused_hacks,
    ),
)
