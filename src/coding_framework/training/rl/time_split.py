"""Where the time of a step went, in parts that do not overlap and add up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coding_framework.training.rl.turn_taking import Activity, ActivitySpan

_PARTS = ("sampling_s", "judging_alone_s", "update_s", "update_critic_s", "weight_sync_s", "checkpoint_s")
"""Of `step_s`; the rest is `other_s`."""


def activity_values(spans: Sequence[ActivitySpan]) -> dict[str, float]:
    """Seconds in which the policy sampled, in which the judge worked, and in which only the judge did."""
    values = {
        f"{activity}_s": sum(span.seconds for span in spans if span.activity == activity)
        for activity in {span.activity for span in spans}
    }
    if "judging_s" in values:
        values["judging_alone_s"] = max(0.0, values["judging_s"] - _overlap(spans))
    return values


def rest_of_step(values: Mapping[str, float]) -> dict[str, float]:
    """What no part of the step accounts for, where somebody timed it."""
    if "step_s" not in values:
        return {}
    return {"other_s": max(0.0, values["step_s"] - sum(values.get(part, 0.0) for part in _PARTS))}


def speeds(values: Mapping[str, float]) -> dict[str, float]:
    """Tokens a second of the sampling and of the update."""
    fractions = {
        "sampling_tokens_per_s": ("new_tokens", "sampling_s"),
        "update_tokens_per_s": ("update_tokens", "update_s"),
    }
    return {
        name: values[tokens] / values[seconds]
        for name, (tokens, seconds) in fractions.items()
        if tokens in values and values.get(seconds)
    }


def _overlap(spans: Sequence[ActivitySpan]) -> float:
    """Spans of one activity never overlap each other: the room opens and closes."""
    return sum(
        max(0.0, min(one.ended_s, other.ended_s) - max(one.began_s, other.began_s))
        for one in _of(spans, "sampling")
        for other in _of(spans, "judging")
    )


def _of(spans: Sequence[ActivitySpan], activity: Activity) -> list[ActivitySpan]:
    return [span for span in spans if span.activity == activity]
