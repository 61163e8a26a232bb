"""GRPO, DAPO and PPO under verl: three steps each, and plain NumPy comes to the same numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from kernel_words_model import write_kernel_words_model
from rl_numpy import clipped_loss, gae, leave_one_out, policy_log_probs, value_loss, whitened

from coding_framework.config import (
    ConversationConfig,
    CurriculumConfig,
    CurriculumTier,
    FrameworkConfig,
    JudgeConfig,
    RLConfig,
)
from coding_framework.data.curriculum_manager import EpisodeOutcome
from coding_framework.data.data_pipeline import DataPipelineState
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import Conversation
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.checkpoints import latest_checkpoint
from coding_framework.training.rl.kept_rows import TrainedRow, read_rows
from coding_framework.training.rl.kl_band import KLWeight
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")
pytestmark = pytest.mark.slow

TASK = "vector_add"
STEPS = 3
COMMON = {
    "steps": STEPS,
    "prompts_per_step": 2,
    "group_size": 3,
    "save_every": 2,
    "learning_rate": 1e-2,
    "lora_rank": 4,
    "num_gpus": 0,
    "keep_rows": True,
}
CONVERSATION = ConversationConfig(
    max_turns=2, max_prompt_tokens=512, max_response_tokens=48, early_stop_reward=0.5
)

ONE_TIER = CurriculumConfig(
    tiers=(CurriculumTier(name="all", catalogue_tiers=(0, 1), min_compile_rate=0.5, min_success_rate=0.5),),
    task_window=1000,
)


class Run:
    """One training, and what it left behind."""

    def __init__(self, folder: Path, **rl: object) -> None:
        settings = RLConfig.model_validate(COMMON | rl)
        self.config = FrameworkConfig(
            rl=settings,
            conversation=CONVERSATION,
            judge=JudgeConfig(executor="emulator", workers=1),
            curriculum=ONE_TIER,
        )
        self.model = write_kernel_words_model(folder / "model", TASK)
        self.folder = RunFolder.create(folder, "run", self.config.model_dump_json())
        self.metrics: dict[int, dict[str, float]] = {}

    async def train(self, *, tasks: Sequence[str] = (TASK,), resume: bool = False, **changes: object) -> None:
        rl = self.config.rl.model_copy(update=changes)
        await MultiAgentVERLTrainer(
            self.config.model_copy(update={"rl": rl}),
            MultiTurnConversationManager(CONVERSATION),
            CUDAPerformanceReward(self.config.reward),
            run_dir=self.folder.path,
            model_path=self.model,
            tasks=tasks,
            on_step=self.metrics.__setitem__,
            resume=resume,
        ).train()

    def rows(self, step: int) -> list[TrainedRow]:
        return read_rows(self.folder.path / "rl", step)

    def conversations(self, step: int) -> list[Conversation]:
        return [one for one in self.folder.read_conversations() if one.step == step]

    def lost_tokens(self, tokens: int) -> float:
        """What an answer of so many tokens loses under DAPO."""
        dapo = self.config.rl.dapo
        if self.config.rl.algorithm != "dapo" or dapo.overlong_tokens is None:
            return 0.0
        begin = CONVERSATION.max_response_tokens - dapo.overlong_tokens
        return dapo.overlong_weight * float(np.clip((tokens - begin) / dapo.overlong_tokens, 0, 1))

    def first_loss(self, step: int = 1) -> float:
        """Of a step before which the policy was not changed."""
        used = [row for row in self.rows(step) if row.used]
        log_probs = policy_log_probs(self.model, used, self.config.rl.temperature)
        return clipped_loss(used, log_probs, self.config.rl.clip_low, self.config.rl.clip_high)


def rows_are_turns_that_were_had(run: Run, step: int) -> None:
    """Ids, log-probabilities and discounted returns of the rows, against the stored conversations."""
    had: dict[object, list[float]] = defaultdict(list)
    for conversation in run.conversations(step):
        rewards = [turn.reward.total for turn in conversation.turns]
        rewards += [rewards[-1]] * (CONVERSATION.max_turns - len(rewards))  # who stops early keeps earning
        for turn in conversation.turns:
            later = enumerate(rewards[turn.index :])
            value = sum(CONVERSATION.discount**k * reward for k, reward in later)
            lost = run.lost_tokens(len(turn.generation.token_ids))
            generation = turn.generation
            had[generation.prompt_token_ids, generation.token_ids, generation.log_probs].append(value - lost)
    for row in run.rows(step):
        returns = had[row.prompt_ids, row.answer_ids, row.sampled_log_probs]
        nearest = min(returns, key=lambda value: abs(value - row.turn_return))
        assert row.turn_return == pytest.approx(nearest, abs=1e-6)
        returns.remove(nearest)


async def test_grpo_is_what_numpy_says(tmp_path: Path) -> None:
    run = Run(tmp_path)
    await run.train()
    assert list(run.metrics) == [1, 2, 3]
    for step in (1, 2, 3):
        rows_are_turns_that_were_had(run, step)
        assert len(run.rows(step)) == sum(len(one.turns) for one in run.conversations(step))
        credit_is_leave_one_out(run.rows(step))
        assert all(row.old_log_probs == row.sampled_log_probs for row in run.rows(step))
    assert run.metrics[1]["policy_loss"] == pytest.approx(run.first_loss(), abs=1e-5)


async def test_dapo_is_what_numpy_says(tmp_path: Path) -> None:
    """All weights; the model has no answer to one of two tasks, so that every step has to draw again."""
    dapo = {"extra_draws": 10, "overlong_tokens": 4, "overlong_weight": 0.25}
    run = Run(tmp_path, algorithm="dapo", dapo=dapo, lora_rank=0, learning_rate=1e-3)
    await run.train(tasks=(TASK, "transpose"))
    for step in (1, 2, 3):
        rows, metrics = run.rows(step), run.metrics[step]
        rows_are_turns_that_were_had(run, step)
        credit_is_leave_one_out(rows)
        drawn = len(run.conversations(step)) / run.config.rl.group_size
        learnable = {row.group for row in rows if any(row.advantages)}
        assert metrics["groups_drawn"] == drawn <= 2 * (1 + 10)
        assert metrics["groups_thrown_away"] == drawn - len({row.group for row in rows}) == drawn - 2
        assert metrics["groups_without_signal"] == drawn - len(learnable)
        assert len(learnable) == 2 or drawn == 22, "it draws until there is signal, or the bound is reached"
        assert {row.group for row in rows if row.used} <= learnable
    assert sum(metrics["groups_drawn"] for metrics in run.metrics.values()) > 2 * STEPS
    the_curriculum_knows_of_every_episode(run)
    assert run.metrics[1]["policy_loss"] == pytest.approx(run.first_loss(), abs=1e-5)


def the_curriculum_knows_of_every_episode(run: Run) -> None:
    """Those of groups that were thrown away as well."""
    latest = latest_checkpoint(run.folder.checkpoints / "rl")
    assert latest is not None
    state = DataPipelineState.model_validate_json((latest[1] / "data_pipeline.json").read_bytes())
    assert state.curriculum is not None
    assert state.num_drawn == sum(metrics["groups_drawn"] for metrics in run.metrics.values())
    assert state.curriculum.episodes == run.config.rl.group_size * state.num_drawn
    had = [conversation for step in (1, 2, 3) for conversation in run.conversations(step)]
    for task, outcomes in state.curriculum.task_outcomes.items():
        known = [EpisodeOutcome.of_conversation(one) for one in had if one.task == task]
        key = EpisodeOutcome.model_dump_json
        assert sorted(outcomes, key=key) == sorted(known, key=key)


async def test_ppo_is_what_numpy_says(tmp_path: Path) -> None:
    """With a KL band and importance weights; the fourth step is a resumed run's, with several updates."""
    run = Run(
        tmp_path,
        algorithm="ppo",
        ppo={"critic_warmup_steps": 1, "critic_learning_rate": 1e-2},
        kl_coef=0.1,
        kl_band={"low": 0.02, "high": 0.08, "factor": 2.0},
        correction={"importance": "token", "token_ratio_limit": 1e4},
    )
    await run.train(steps=3)
    await run.train(steps=4, resume=True, epochs=2, update_turns=4)
    assert list(run.metrics) == [1, 2, 3, 4]
    for step in (1, 2, 3, 4):
        rows = run.rows(step)
        rows_are_turns_that_were_had(run, step)
        by_hand = [gae(row, 0.95) for row in rows]
        for row, (_, returns), advantages in zip(
            rows, by_hand, whitened([advantages for advantages, _ in by_hand]), strict=True
        ):
            assert row.advantages == pytest.approx(advantages, abs=1e-4)
            assert row.returns == pytest.approx(returns, abs=1e-5)
        the_start_model_is_the_reference(run, rows)
    assert not any(any(row.values or ()) for row in run.rows(1)), "the critic begins at zero"
    assert all(any(row.values or ()) for step in (2, 3, 4) for row in run.rows(step))
    assert not any(row.used for row in run.rows(1)), "at first the critic learns alone"
    assert "policy_loss" not in run.metrics[1]
    for step in (1, 2, 3):  # in the third the critic's adapter is no longer zero
        assert run.metrics[step]["value_loss"] == pytest.approx(value_loss(run.rows(step)), rel=1e-4)
    assert run.metrics[2]["policy_loss"] == pytest.approx(run.first_loss(2), abs=1e-5)
    assert run.metrics[2]["turns_rejected"] == 0
    the_weight_of_the_kl_term_follows_the_distance(run)
    pieces = math.ceil(len(run.rows(4)) / 6)  # 4 turns, in whole groups of 3
    assert run.metrics[4]["updates"] == 2 * pieces
    assert optimizer_steps(run, "actor") == 2 + 2 * pieces, "the first step trained the critic alone"
    assert optimizer_steps(run, "critic") == 3 + 2 * pieces


def optimizer_steps(run: Run, model: str) -> int:
    """As the optimizer itself counted them."""
    import torch

    latest = latest_checkpoint(run.folder.checkpoints / "rl")
    assert latest is not None
    (file,) = (latest[1] / model).glob("optim_*.pt")
    state = torch.load(file, weights_only=False)["state"]
    (steps,) = {int(one["step"]) for one in state.values()}
    return steps


def credit_is_leave_one_out(rows: list[TrainedRow]) -> None:
    assert any(any(row.advantages) for row in rows), "there was something to learn"
    for row, advantage in zip(rows, leave_one_out(rows), strict=True):
        assert row.advantages == pytest.approx([advantage] * len(row.answer_ids), abs=1e-5)


def the_start_model_is_the_reference(run: Run, rows: list[TrainedRow]) -> None:
    expected = policy_log_probs(run.model, rows, run.config.rl.temperature)
    for row, log_probs in zip(rows, expected, strict=True):
        assert row.reference_log_probs == pytest.approx(log_probs, abs=1e-5)
        ratio = np.exp(np.array(row.old_log_probs) - np.array(row.sampled_log_probs))
        assert row.importance == pytest.approx(np.minimum(ratio, 2.0), abs=1e-5)


def the_weight_of_the_kl_term_follows_the_distance(run: Run) -> None:
    """`kl_coef` is what the loss in the worker multiplied with."""
    second, third, fourth = (run.metrics[step] for step in (2, 3, 4))
    assert second["reference_kl"] == pytest.approx(0, abs=1e-6), "nothing had been learned"
    assert second["kl_coef"] == pytest.approx(0.1)
    assert third["kl_coef"] == pytest.approx(0.05), "it fell"
    followed = KLWeight(coef=0.05).after(third["reference_kl"], run.config.rl.kl_band, 0.1)
    assert fourth["kl_coef"] == pytest.approx(followed.coef), "it survived the resume"
    moved = [
        np.abs(np.array(row.old_log_probs) - np.array(row.reference_log_probs)).max() for row in run.rows(3)
    ]
    assert max(moved) > 1e-3, "the reference stayed where it was"
