"""Tables of names are written as running words; this turns them into sets."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The blank-separated words of a text."""
    return frozenset(text.split())
