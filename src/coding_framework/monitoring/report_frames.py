"""The frame of a plot: title, unit, keys of its lines, and where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.monitoring.charts import Series
from coding_framework.monitoring.markup import Html, tag


def figure(title: str, unit: str, chart: Html, series: Sequence[Series], source: str) -> Html:
    """Of lines."""
    keys = [
        key(one.label, f"swatch line-swatch s{one.style}" + (" faint" if one.faint else "")) for one in series
    ]
    return frame(title, unit, chart, keys, tag("p", f"Source: {source}.", class_="caption"))


def key(label: str, style: str) -> Html:
    return tag("span", tag("i", "", class_=style), label, class_="key")


def frame(title: str, unit: str, chart: Html, keys: list[Html], below: Html, class_: str = "") -> Html:
    caption = tag("figcaption", tag("h3", title), tag("span", unit, class_="note"))
    return tag(
        "figure", caption, tag("div", *keys, class_="keys"), chart, below, class_=f"card {class_}".strip()
    )
