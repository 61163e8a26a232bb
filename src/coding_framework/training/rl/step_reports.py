"""What a finished step amounts to, from the files that the workers write.

verl's own numbers come from its file logger; rewards, rates and speedups are computed here from the
conversations of the step, so the plots and the stored conversations can never disagree.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev

from coding_framework.records import Conversation
from coding_framework.training.rl.conversation_curves import TierOf, curve_values
from coding_framework.training.rl.episode_runner import EpisodeFault
from coding_framework.training.rl.task_choice import CurriculumStep

_FROM_VERL = {
    "actor/pg_loss": "policy_loss",
    "actor/grad_norm": "grad_norm",
    "actor/ppo_kl": "policy_kl",
    "actor/logprob_gap": "logprob_gap",
    "actor/pg_clipfrac": "clip_fraction",
    "actor/pg_clipfrac_lower": "dual_clip_fraction",
    "actor/entropy": "entropy",
    "actor/kl_loss": "reference_kl",
    "actor/kl_coef": "kl_coef",
    "critic/vf_loss": "value_loss",
    "critic/vf_explained_var": "value_explained",
    "rollout_corr/rollout_is_mean": "importance_mean",
    "training/turns_rejected": "turns_rejected",
    "training/groups_drawn": "groups_drawn",
    "training/groups_without_signal": "groups_without_signal",
    "training/groups_thrown_away": "groups_thrown_away",
    "training/rows": "turns_sampled",
    "training/rows_used": "turns_used",
    "training/tokens_used": "update_tokens",
    "training/updates": "updates",
    "timing_s/gen": "rollout_s",
    "timing_s/update_actor": "update_s",
    "timing_s/update_critic": "update_critic_s",
    "timing_s/update_weights": "weight_sync_s",
    "timing_s/save_checkpoint": "checkpoint_s",
    "timing_s/step": "step_s",
}


class LineTail:
    """Reads the lines that were completed since the last look."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._offset = path.stat().st_size if from_end and path.exists() else 0

    def new_lines(self) -> list[bytes]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            data = stream.read()
        complete = data.rfind(b"\n") + 1
        self._offset += complete
        return [line for line in data[:complete].splitlines() if line.strip()]


def parse_verl_line(line: bytes) -> tuple[int, dict[str, float]]:
    """Step and the numbers that we report, under our names."""
    record = json.loads(line)
    data = record["data"]
    values = {
        ours: float(data[theirs]) for theirs, ours in _FROM_VERL.items() if data.get(theirs) is not None
    }
    return int(record["step"]), values


def conversation_values(
    conversations: Sequence[Conversation],
    faults: Sequence[EpisodeFault],
    tier_of: TierOf,
) -> dict[str, float]:
    """Means over the episodes of one step, without their openings; a speedup only where a kernel passed."""
    values = {"episodes": float(len(conversations)), "episodes_lost": float(len(faults))}
    if not conversations:
        return values
    turns = [turn for conversation in conversations for turn in conversation.own_turns]
    rewards = [conversation.best_turn.reward.total for conversation in conversations]
    values |= {
        "reward_mean": fmean(rewards),
        "reward_std": pstdev(rewards),
        "reward_first_turn": fmean(c.own_turns[0].reward.total for c in conversations),
        "reward_last_turn": fmean(c.own_turns[-1].reward.total for c in conversations),
        "compile_rate": fmean(any(t.evaluation.compiled for t in c.own_turns) for c in conversations),
        "pass_rate": fmean(any(t.evaluation.passed for t in c.own_turns) for c in conversations),
        "turns_mean": fmean(len(c.own_turns) for c in conversations),
        "new_tokens": float(sum(len(t.generation.token_ids) for t in turns)),
        "answer_tokens_mean": fmean(len(t.generation.token_ids) for t in turns),
    }
    return values | curve_values(conversations, tier_of)


def curriculum_values(steps: Sequence[CurriculumStep]) -> dict[str, float]:
    """Where the curriculum stood, and what it expected of what it drew."""
    values: dict[str, float] = {}
    for one in steps:
        values |= {"curriculum_tier": float(one.tier_index), "learnability_mean": one.learnability}
    return values
