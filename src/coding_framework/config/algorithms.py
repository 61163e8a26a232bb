"""Settings of single algorithms of RL, and of what can be added to any of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record


class DAPOConfig(Record):
    """What DAPO adds to group-relative credit (arXiv 2503.14476); its asymmetric clip is `rl.clip_low` and
    `rl.clip_high`, and the mean over tokens is what every algorithm here takes."""

    extra_draws: int = Field(default=3, ge=0)
    """Dynamic sampling: so many times `rl.prompts_per_step` new tasks at most are drawn in one step, in the
    place of tasks whose answers all earned the same. When they are used up the step makes do with less
    signal; 0 draws none."""
    overlong_tokens: int | None = Field(default=None, ge=1)
    """The last tokens before `conversation.max_response_tokens`, in which an answer loses more of its return
    with every token; None: a fifth of that limit (the paper: 4,096 of 20,480)."""
    overlong_weight: float = Field(default=0.5, ge=0)
    """What an answer of full length loses; 0 punishes none. The paper takes 1 where rewards span 2; ours
    span 1."""


class PPOConfig(Record):
    """PPO with a critic (arXiv 1707.06347): a second model that values every token. Within the tokens of a
    turn nothing is discounted; `conversation.discount` does that between turns."""

    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    """Generalised advantage estimation (arXiv 1506.02438): 1 trusts what was earned, 0 the critic alone."""
    critic_learning_rate: float | None = Field(default=None, gt=0)
    """Constant; None: 1e-4 for an adapter (`rl.lora_rank`), a tenth of it for all weights."""
    critic_warmup_steps: int = Field(default=2, ge=0)
    """First steps in which the critic alone learns: a fresh one would point the policy anywhere (VC-PPO,
    arXiv 2503.01491)."""
    value_clip: float = Field(default=0.5, gt=0)
    """A value moves by so much in one update at most."""


class KLBandConfig(Record):
    """Keeps the distance to the start model within a band, by changing `rl.kl_coef` from step to step (the
    idea of arXiv 1909.08593, which aims at one value). Off unless both ends are given, e.g. 0.02 and 0.08."""

    low: float | None = Field(default=None, gt=0)
    """Nearer than this (mean KL of a token, `reference_kl` of a step) the coefficient falls."""
    high: float | None = Field(default=None, gt=0)
    """Farther than this it rises."""
    factor: float = Field(default=1.5, gt=1)
    """By how much, each step; it stays within a hundredth and a hundred times `rl.kl_coef`."""

    @property
    def enabled(self) -> bool:
        return self.low is not None

    @model_validator(mode="after")
    def _is_a_band(self) -> KLBandConfig:
        if (self.low is None) != (self.high is None):
            raise ValueError("rl.kl_band needs both ends: give low and high, or neither")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("rl.kl_band.low must be below rl.kl_band.high")
        return self


class CorrectionConfig(Record):
    """For answers that were not quite sampled from the policy that is trained: what samples computes in
    another number format or with other kernels (fengyao.notion.site/off-policy-rl,
    richardli.xyz/rl-collapse). A ratio is the probability of a token under the trained policy over that
    under what sampled it. All off: rollout and policy agree up to rounding, as `logprob_gap` shows."""

    importance: Literal["off", "token", "turn"] = "off"
    """Truncated importance sampling: the loss of a token is weighted with its ratio, or with the product of
    all ratios of its turn."""
    importance_limit: float = Field(default=2.0, ge=1)
    """Where weights are cut off."""
    mean_ratio_limit: float | None = Field(default=None, gt=1)
    """Rejection: a turn is left out whose ratios have a geometric mean above this, or below its inverse."""
    token_ratio_limit: float | None = Field(default=None, gt=1)
    """Veto: a turn is left out that has a single ratio above this, or below its inverse; e.g. 1e4."""

    @property
    def rejects(self) -> bool:
        return self.mean_ratio_limit is not None or self.token_ratio_limit is not None

    @property
    def enabled(self) -> bool:
        return self.importance != "off" or self.rejects
