"""The course of one or more conversations as a picture: how fast each turn was, and the best so far.

A stand-alone SVG with its own style, drawn with the parts of `monitoring/charts.py`. A turn that did not
pass has no speed: it is a cross on the base line that names its verdict. Every mark carries its numbers
as a native tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coding_framework.monitoring.charts import Scale, times
from coding_framework.monitoring.markup import Html, join, tag
from coding_framework.records import ConversationTurn

Attempt = Sequence[ConversationTurn]
"""The turns of one conversation."""

_WIDTH, _HEIGHT = 760.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 24.0, 52.0, 76.0
_MAX_LABELS = 24
_STYLE = """
svg { background: #ffffff; font: 12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
text { fill: #5b6673; } .title { fill: #1b2129; font-size: 15px; font-weight: 600; }
.grid { stroke: #e9ecf0; } .axis { stroke: #9aa6b2; } .try { stroke: #dfe3e8; stroke-dasharray: 2 3; }
.naive { stroke: #8a3b00; stroke-dasharray: 6 4; } .naive-label { fill: #8a3b00; }
.best { fill: none; stroke: #0072b2; stroke-width: 2; } .best-label { fill: #0072b2; font-weight: 600; }
.dot { fill: #00795a; } .dot.top { fill: #0072b2; stroke: #ffffff; stroke-width: 1.5; }
.cross { stroke: #d55e00; stroke-width: 1.8; } .verdict { fill: #8a3b00; font-size: 10.5px; }
"""


@dataclass(frozen=True)
class _Mark:
    """One turn at its place in the picture."""

    position: int
    attempt: int
    turn: ConversationTurn

    @property
    def speedup(self) -> float | None:
        return self.turn.evaluation.speedup

    @property
    def verdict(self) -> str:
        return self.turn.evaluation.verdict.value.replace("_", " ")


def trajectory_svg(title: str, attempts: Sequence[Attempt]) -> str:
    """The whole picture; at least one attempt has a turn."""
    marks = _marks(attempts)
    if not marks:
        raise ValueError("there is no turn to draw")
    across = Scale(0.5, max(len(marks), 2) + 0.5, _LEFT, _WIDTH - _RIGHT)
    up = Scale(0.0, _top_of(marks), _HEIGHT - _BOTTOM, _TOP)
    parts = [
        tag("title", title),
        tag("style", Html(_STYLE)),
        tag("text", title, x=_LEFT, y=26, class_="title"),
        _grid(up),
        _tries(marks, across),
        _naive(up),
        _best_line(marks, across, up),
        *(_draw(mark, marks, across, up) for mark in marks),
        tag("text", "turn", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 12, text_anchor="middle"),
    ]
    view = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    space = "http://www.w3.org/2000/svg"
    drawn = tag("svg", *parts, xmlns=space, role="img", width=_WIDTH, height=_HEIGHT, viewBox=view)
    return f"{drawn}\n"


def best_so_far(attempts: Sequence[Attempt]) -> list[float | None]:
    """The highest speedup up to each turn, over all attempts in order; None until one passes."""
    best: float | None = None
    course = []
    for mark in _marks(attempts):
        if mark.speedup is not None:
            best = mark.speedup if best is None else max(best, mark.speedup)
        course.append(best)
    return course


def text_chart(attempts: Sequence[Attempt], width: int = 32) -> list[str]:
    """One line a turn with a bar as long as its speedup; for terminals and logs."""
    marks = _marks(attempts)
    longest = max((mark.speedup or 0.0 for mark in marks), default=0.0)
    lines = []
    for mark in marks:
        head = f"try {mark.attempt + 1} turn {mark.turn.index + 1}"
        if mark.speedup is None:
            lines.append(f"{head}  ·  {mark.verdict}")
        else:
            bar = "█" * max(1, round(width * mark.speedup / longest))
            lines.append(f"{head}  {bar} {mark.speedup:.2f}×")
    return lines


def _marks(attempts: Sequence[Attempt]) -> list[_Mark]:
    turns = [(number, turn) for number, attempt in enumerate(attempts) for turn in attempt]
    return [_Mark(position, number, turn) for position, (number, turn) in enumerate(turns, start=1)]


def _top_of(marks: Sequence[_Mark]) -> float:
    """A little above the highest mark, and above 1, where the naive kernel is."""
    return 1.15 * max(1.3, *(mark.speedup or 0.0 for mark in marks))


def _grid(up: Scale) -> Html:
    parts = []
    for value in up.ticks(5):
        y = up(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", times(value), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    base = _HEIGHT - _BOTTOM
    return join([*parts, tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=base, y2=base, class_="axis")])


def _tries(marks: Sequence[_Mark], across: Scale) -> Html:
    """Where a new attempt begins; nothing to say when there is only one."""
    starts = [mark for mark in marks if mark.turn.index == 0]
    if len(starts) < 2:
        return join([])
    parts = []
    for mark in starts:
        x = across(mark.position - 0.5)
        parts.append(tag("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="try"))
        parts.append(tag("text", f"try {mark.attempt + 1}", x=x + 5, y=_TOP - 6))
    return join(parts)


def _naive(up: Scale) -> Html:
    y = up(1.0)
    return join(
        [
            tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="naive"),
            tag("text", "reference", x=_WIDTH - _RIGHT, y=y - 5, text_anchor="end", class_="naive-label"),
        ]
    )


def _best_line(marks: Sequence[_Mark], across: Scale, up: Scale) -> Html:
    """A staircase: it only rises."""
    steps: list[str] = []
    best: float | None = None
    for mark in marks:
        x = across(mark.position)
        if mark.speedup is not None and (best is None or mark.speedup > best):
            steps.append(
                f"M{x:.1f} {up(mark.speedup):.1f}" if best is None else f"H{x:.1f}V{up(mark.speedup):.1f}"
            )
            best = mark.speedup
    if best is None:
        return join([])
    steps.append(f"H{_WIDTH - _RIGHT:.1f}")
    right, above = _WIDTH - _RIGHT, up(best) - 11
    label = tag("text", f"best {best:.2f}×", x=right, y=above, text_anchor="end", class_="best-label")
    return join([tag("path", d="".join(steps), class_="best"), label])


def _draw(mark: _Mark, marks: Sequence[_Mark], across: Scale, up: Scale) -> Html:
    x, words = across(mark.position), tag("title", _tooltip(mark))
    every = -(-len(marks) // _MAX_LABELS)
    number = (
        tag("text", str(mark.turn.index + 1), x=x, y=_HEIGHT - _BOTTOM + 46, text_anchor="middle")
        if (mark.position - 1) % every == 0
        else join([])
    )
    if mark.speedup is not None:
        is_top = mark.speedup == max(other.speedup or 0.0 for other in marks)
        style = "dot top" if is_top else "dot"
        dot = tag("circle", words, cx=x, cy=up(mark.speedup), r=6 if is_top else 4.5, class_=style)
        return join([dot, number])
    base, arm = up(0.0), 4.5
    cross = f"M{x - arm:.1f} {base - arm:.1f}l{2 * arm:g} {2 * arm:g}m0 {-2 * arm:g}l{-2 * arm:g} {2 * arm:g}"
    parts = [tag("path", words, d=cross, class_="cross"), number]
    if len(marks) <= _MAX_LABELS:
        turned = f"rotate(-18 {x:.1f} {base + 18:.1f})"
        parts.append(
            tag(
                "text",
                mark.verdict,
                x=x,
                y=base + 22,
                text_anchor="middle",
                class_="verdict",
                transform=turned,
            )
        )
    return join(parts)


def _tooltip(mark: _Mark) -> str:
    where = f"try {mark.attempt + 1}, turn {mark.turn.index + 1} ({mark.turn.agent}): {mark.verdict}"
    timing = mark.turn.evaluation.timing
    if timing is None:
        return where
    return f"{where}, {timing.speedup:.2f}×, {timing.median_us:.2f} us ({timing.kind} on {timing.device})"
