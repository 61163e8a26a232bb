"""A reward of one's own: among kernels that pass, the shorter source earns more.

    cuda-rl train --config quick --set reward.function=short_kernels:ShortKernels
    cuda-rl rescore RUN --set reward.function=short_kernels:ShortKernels --set reward.options.prefer=long

Started from this folder, or with it on PYTHONPATH. `reward.options`: `half_length` (characters, comments
included, at which the part for length is down to a half; 800) and `prefer` (`short`, or `long` for the
opposite).
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.config import RewardConfig
from coding_framework.records import Evaluation, RewardComponents
from coding_framework.records.reward import clip_reward


class ShortKernels:
    """Built from the settings, then called once for each turn."""

    def __init__(self, config: RewardConfig) -> None:
        unknown = set(config.options) - {"half_length", "prefer"}
        if unknown:
            raise ValueError(f"no such option: {', '.join(sorted(unknown))}")
        self.config = config  # by which worker processes build the same
        self.half = float(config.options.get("half_length", 800))
        self.prefer_long = {"short": False, "long": True}[str(config.options.get("prefer", "short"))]

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
        parts = {"correctness": 0.3 * evaluation.pass_rate, "length": 0.0}
        words = f"{evaluation.verdict}: length counts once it passes"
        if evaluation.passed and evaluation.candidate is not None:
            length = len(evaluation.candidate.source)
            short = self.half / (self.half + length)
            parts["length"] = 0.7 * (1 - short if self.prefer_long else short)
            words = f"passed, {length} characters"
        return RewardComponents(
            preset="short_kernels", parts=parts, total=clip_reward(sum(parts.values())), explanation=words
        )
