"""A reward in words: every part with its number, then why."""

from __future__ import annotations

from coding_framework.records import Evaluation
from coding_framework.training.reward_functions.presets import Parts
from coding_framework.training.reward_functions.speedup import Speedup, speedup_of


def explain(evaluation: Evaluation, parts: Parts, total: float) -> str:
    """`0.850 = +0.300 compilation … (passed, 2.00× (modelled) the naive baseline)`."""
    summed = " ".join(f"{value + 0.0:+.3f} {name}" for name, value in parts.values.items())
    if abs(sum(parts.values.values()) - total) > 1e-9:
        summed += ", clipped"
    reasons = [evaluation.verdict.value.replace("_", " "), *_speed_words(evaluation)]
    if not any(parts.values.values()):
        reasons.append("nothing earned")
    if parts.left_out:
        reasons.append(f"not counted, so the rest weighs more: {', '.join(parts.left_out)}")
    return f"{total:.3f} = {summed} ({'; '.join(reasons)})"


def _speed_words(evaluation: Evaluation) -> list[str]:
    speedup = speedup_of(evaluation)
    if speedup is None or evaluation.timing is None:
        return []
    words = [f"{speedup.value:.2f}× ({_kind_words(speedup)}) the {evaluation.timing.reference}"]
    if not speedup.told_from_one:
        exact = speedup.low == speedup.high
        words.append(f"{'no faster' if exact else 'that cannot be told from 1×'}, so speed earns nothing")
    if evaluation.timing.own_kernel_share is not None:
        words.append(
            f"{speedup.own_share:.0%} of the time in kernels of its own, speed is paid by that share"
        )
    return words


def _kind_words(speedup: Speedup) -> str:
    if speedup.low == speedup.high:
        return speedup.kind
    return f"{speedup.kind}, {speedup.low:.2f}–{speedup.high:.2f}"
