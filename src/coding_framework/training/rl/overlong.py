"""Overlong shaping: an answer that comes near its limit loses part of its return (DAPO, arXiv 2503.14476).

An answer that is cut off teaches little, and one that is only just not cut off will be. So the last
tokens before the limit cost more and more, up to a fixed weight at the limit itself. It is the return of
that turn alone that falls: earlier turns did not write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from pydantic import Field

from coding_framework.config import FrameworkConfig
from coding_framework.records import Conversation, Record


class OverlongShaping(Record):
    """Where the punishment begins, and how large it becomes."""

    limit_tokens: int = Field(ge=1)
    """Of one answer."""
    buffer_tokens: int = Field(ge=1)
    """Before the limit, in which it grows."""
    weight: float = Field(gt=0)
    """At the limit."""

    def penalty(self, tokens: int) -> float:
        """What an answer of so many tokens loses."""
        into_the_buffer = tokens - (self.limit_tokens - self.buffer_tokens)
        return self.weight * min(1.0, max(0.0, into_the_buffer / self.buffer_tokens))


def overlong_shaping(config: FrameworkConfig) -> OverlongShaping | None:
    """What this config asks for."""
    dapo, limit = config.rl.dapo, config.conversation.max_response_tokens
    if config.rl.algorithm != "dapo" or not dapo.overlong_weight:
        return None
    buffer = dapo.overlong_tokens or max(1, limit // 5)
    return OverlongShaping(limit_tokens=limit, buffer_tokens=buffer, weight=dapo.overlong_weight)


def overlong_values(
    conversations: Sequence[Conversation], shaping: OverlongShaping | None
) -> dict[str, float]:
    """Of one step: the share of answers that lost something, and the mean loss over all of them."""
    turns = [turn for conversation in conversations for turn in conversation.own_turns]
    if shaping is None or not turns:
        return {}
    lost = [shaping.penalty(len(turn.generation.token_ids)) for turn in turns]
    return {"overlong_share": fmean(loss > 0 for loss in lost), "overlong_penalty": fmean(lost)}
