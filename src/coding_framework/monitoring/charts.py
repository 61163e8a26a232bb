"""Plots as inline SVG, drawn here: no plotting library, no script, colours from the page's scheme.

Series differ in dash and marker as well as in colour (Okabe and Ito's palette), so they can be told apart
in print and with any colour vision. Every point carries its numbers as a native tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from coding_framework.monitoring.markup import Html, join, tag

WIDTH, WIDE, HEIGHT = 560.0, 1132.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 12.0, 40.0
_MAX_POINTS = 400
_MAX_BARS = 60

Point = tuple[float, float]
Format = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """One line. `spread` is a half-width around each point, drawn as a band."""

    label: str
    points: tuple[Point, ...]
    style: int = 1
    spread: tuple[float, ...] = ()
    faint: bool = False


@dataclass(frozen=True)
class Scale:
    """A linear map from values to pixels, with round ticks."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, count: int = 5, *, whole: bool = False) -> list[float]:
        step = _round_step((self.high - self.low) / count)
        if whole:
            step = max(1.0, step)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


def _round_step(rough: float) -> float:
    size = 10.0 ** floor(log10(rough))
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)


def line_chart(
    series: Sequence[Series],
    *,
    label: str,
    y_format: Format,
    y_limits: tuple[float, float] | None = None,
    reference: tuple[float, str] | None = None,
) -> Html:
    """Lines over steps. `label` says the whole plot in words; `reference` is a marked level."""
    series = [_thinned(one) for one in series]
    xs = [x for one in series for x, _ in one.points]
    low, high = y_limits or _limits(series, reference)
    horizontal = Scale(min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1, _LEFT, WIDTH - _RIGHT)
    vertical = Scale(low, high, HEIGHT - _BOTTOM, _TOP)
    drawn = [_line(one, horizontal, vertical, y_format) for one in series]
    parts = [_axes(horizontal, vertical, y_format), _reference(reference, vertical), *drawn]
    return _svg(label, parts)


def stacked_bars(
    columns: Sequence[tuple[str, Sequence[float]]], categories: Sequence[tuple[str, str]], *, label: str
) -> Html:
    """Shares of each category (name and CSS class) in each column, the first at the bottom."""
    columns = _grouped(columns)
    vertical = Scale(0, 1, HEIGHT - _BOTTOM, _TOP)
    slot = (WIDE - _LEFT - _RIGHT) / len(columns)
    parts = [_y_axis(vertical, percent, WIDE)]
    every = ceil(len(columns) / 20)
    for index, (name, counts) in enumerate(columns):
        left, width = _LEFT + index * slot + slot * 0.08, slot * 0.84
        parts.append(_bar(name, counts, categories, vertical, left, width))
        if index % every == 0:
            parts.append(_x_tick(left + width / 2, name))
    return _svg(label, [*parts, _x_title(WIDE)], WIDE)


def percent(value: float) -> str:
    return f"{value * 100:.0f} %"


def compact(value: float) -> str:
    return f"{value:.3g}"


def times(value: float) -> str:
    return f"{value:.3g}×"


def _svg(label: str, parts: Iterable[Html], width: float = WIDTH) -> Html:
    view = f"0 0 {width:g} {HEIGHT:g}"
    return tag("svg", *parts, viewBox=view, role="img", aria_label=label, class_="plot")


def _limits(series: Sequence[Series], reference: tuple[float, str] | None) -> tuple[float, float]:
    """From one round tick to another, from zero unless that would flatten the curve."""
    values = [reference[0]] if reference else []
    for one in series:
        values += [y for _, y in one.points]
        for (_, y), half in zip(one.points, one.spread, strict=False):
            values += [y - half, y + half]
    low, high = min(values), max(values)
    if 0 <= low < 0.6 * high:
        low = 0.0
    step = _round_step((high - low or abs(high) or 1.0) / 5)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    if first == last:
        first, last = first - (1 if first else 0), last + 1
    return first * step, last * step


def _thinned(series: Series) -> Series:
    """Means of equal buckets when there are more points than pixels can show."""
    finite = [
        (point, series.spread[index] if series.spread else 0.0)
        for index, point in enumerate(series.points)
        if isfinite(point[1]) and (not series.spread or isfinite(series.spread[index]))
    ]
    size = ceil(len(finite) / _MAX_POINTS)
    buckets = [finite[start : start + size] for start in range(0, len(finite), size or 1)]
    points = tuple(
        (sum(p[0] for p, _ in bucket) / len(bucket), sum(p[1] for p, _ in bucket) / len(bucket))
        for bucket in buckets
    )
    spread = (
        tuple(sum(half for _, half in bucket) / len(bucket) for bucket in buckets) if series.spread else ()
    )
    return Series(series.label, points, series.style, spread, series.faint)


def _line(series: Series, horizontal: Scale, vertical: Scale, y_format: Format) -> Html:
    place = [(horizontal(x), vertical(y)) for x, y in series.points]
    parts = [_band(series, horizontal, vertical)] if series.spread else []
    shade = " faint" if series.faint else ""
    parts.append(tag("path", d=_path(place), class_=f"line s{series.style}{shade}"))
    if not series.faint:
        radius = 3.2 if len(place) <= 60 else 1.2
        for (x, y), (step, value) in zip(place, series.points, strict=True):
            words = tag("title", f"step {step:g}: {series.label} {y_format(value)}")
            parts.append(tag("circle", words, cx=x, cy=y, r=radius, class_=f"dot s{series.style}"))
    return join(parts)


def _band(series: Series, horizontal: Scale, vertical: Scale) -> Html:
    def clamp(value: float) -> float:
        return vertical(min(vertical.high, max(vertical.low, value)))

    pairs = list(zip(series.points, series.spread, strict=True))
    upper = [(horizontal(x), clamp(y + half)) for (x, y), half in pairs]
    lower = [(horizontal(x), clamp(y - half)) for (x, y), half in reversed(pairs)]
    return tag("path", d=_path(upper + lower) + "Z", class_=f"band s{series.style}")


def _path(points: Sequence[Point]) -> str:
    return "".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))


def _axes(horizontal: Scale, vertical: Scale, y_format: Format) -> Html:
    ticks = [_x_tick(horizontal(value), f"{value:g}") for value in horizontal.ticks(8, whole=True)]
    return join([_y_axis(vertical, y_format), *ticks, _x_title()])


def _y_axis(vertical: Scale, y_format: Format, width: float = WIDTH) -> Html:
    parts = []
    for value in vertical.ticks():
        y = vertical(value)
        parts.append(tag("line", x1=_LEFT, x2=width - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", y_format(value), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    base = HEIGHT - _BOTTOM
    return join([*parts, tag("line", x1=_LEFT, x2=width - _RIGHT, y1=base, y2=base, class_="axis")])


def _x_tick(x: float, words: str) -> Html:
    return tag("text", words, x=x, y=HEIGHT - _BOTTOM + 17, text_anchor="middle")


def _x_title(width: float = WIDTH) -> Html:
    middle = (_LEFT + width - _RIGHT) / 2
    return tag("text", "step", x=middle, y=HEIGHT - 5, text_anchor="middle", class_="axis-title")


def _reference(reference: tuple[float, str] | None, vertical: Scale) -> Html:
    if reference is None:
        return join([])
    y = vertical(reference[0])
    line = tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="reference")
    words = tag("text", reference[1], x=WIDTH - _RIGHT, y=y - 5, text_anchor="end", class_="axis-title")
    return join([line, words])


def _bar(
    name: str,
    counts: Sequence[float],
    categories: Sequence[tuple[str, str]],
    vertical: Scale,
    left: float,
    width: float,
) -> Html:
    total, below, parts = sum(counts) or 1.0, 0.0, []
    for (category, style), count in zip(categories, counts, strict=True):
        share = count / total
        if share:
            words = tag("title", f"step {name}: {category} {count:g} of {total:g}")
            top = vertical(below + share)
            height = vertical(below) - top
            parts.append(
                tag("rect", words, x=left, y=top, width=width, height=height, class_=f"segment {style}")
            )
        below += share
    return join(parts)


def _grouped(columns: Sequence[tuple[str, Sequence[float]]]) -> list[tuple[str, Sequence[float]]]:
    """Neighbouring columns added up until they fit side by side."""
    size = ceil(len(columns) / _MAX_BARS)
    groups = [columns[start : start + size] for start in range(0, len(columns), size)]
    return [
        (
            group[0][0] if len(group) == 1 else f"{group[0][0]}–{group[-1][0]}",
            [sum(values) for values in zip(*(counts for _, counts in group), strict=True)],
        )
        for group in groups
    ]
