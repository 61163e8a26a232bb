"""Keeps a prompt within its limit."""

from __future__ import annotations


def cut_middle(ids: list[int], limit: int) -> list[int]:
    """A prompt over the limit loses tokens in its middle.

    The task stands at its start, the judge's last words and the opening of the answer at its end:
    neither may be cut.
    """
    if len(ids) <= limit:
        return ids
    head = limit // 2
    return ids[:head] + ids[len(ids) - (limit - head) :]
