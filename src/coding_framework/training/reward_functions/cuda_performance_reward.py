"""The reward: a pure function from what was measured to named parts.

Guarantees: the same evaluations give the same reward; totals stay in [-0.1, 1]; among candidates equal in
all else a faster one never earns less; a speedup that cannot be told from 1 earns nothing for speed; a
candidate that does not pass earns nothing for speed, and nothing at all under the gated preset; a counter
that nobody read is neither reward nor penalty. A fault of the judge never gets here: it is raised, so it
can never become a low reward.

Not guaranteed: that two rewards with different counters at hand compare (one profiled, one not): they are
on the same scale, but not made of the same parts. `left_out` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from coding_framework.config import RewardConfig
from coding_framework.errors import ConfigError
from coding_framework.records import Evaluation, RewardComponents
from coding_framework.records.conversation import AgentRole
from coding_framework.records.reward import clip_reward
from coding_framework.training.reward_functions import presets
from coding_framework.training.reward_functions.explanation import explain
from coding_framework.training.reward_functions.speedup import normalised, speedup_of

__all__ = ["CUDAPerformanceReward", "RewardComponents"]


class CUDAPerformanceReward:
    """`reward(evaluation, earlier)`: what this attempt earns after the earlier ones."""

    def __init__(self, config: RewardConfig | None = None, *, agent: AgentRole | None = None) -> None:
        self.config = config or RewardConfig()
        if type(self) is CUDAPerformanceReward and not self.config.is_built_in:
            raise ConfigError(
                f"reward.function names {self.config.function}, which the built-in reward would not run: "
                "make it with own_reward.reward_of(config.reward)"
            )
        self.agent = agent
        own = self.config.agents.get(agent) if agent else None
        self.weights = own or self.config.weights
        """Of the weighted preset, as they are for this agent."""

    def for_agent(self, role: AgentRole) -> CUDAPerformanceReward:
        """The same reward, of the same class, with the weights that the config gives this agent."""
        same = copy(self)
        same.agent, same.weights = role, self.config.agents.get(role) or self.config.weights
        return same

    def __call__(self, evaluation: Evaluation, earlier: Sequence[Evaluation] = ()) -> RewardComponents:
        parts = self._parts(evaluation, earlier)
        total = clip_reward(sum(parts.values.values()))
        return RewardComponents(
            preset=self.config.preset,
            parts=parts.values,
            total=total,
            explanation=explain(evaluation, parts, total),
            terms=parts.terms,
            left_out=parts.left_out,
        )

    def _parts(self, evaluation: Evaluation, earlier: Sequence[Evaluation]) -> presets.Parts:
        if self.config.preset == "gated":
            return presets.gated(evaluation, self.config)
        if self.config.preset == "mixed":
            return presets.mixed(evaluation, earlier, self.config, self.weights)
        return presets.weighted(evaluation, earlier, self.config, self.weights)

    def normalised_speedup(self, evaluation: Evaluation) -> float:
        """0 at 1× and where the interval holds 1, full at the target and above, logarithmic between."""
        return normalised(speedup_of(evaluation), self.config)
