"""The parts of the algorithms that need no trainer: shaping, the KL weight, cuts, signal, and the words for
verl."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from rl_numpy import clipped_loss
from verl_composition import built, composed

from coding_framework.config import (
    ConversationConfig,
    CorrectionConfig,
    DAPOConfig,
    FrameworkConfig,
    KLBandConfig,
    PPOConfig,
    RLConfig,
)
from coding_framework.errors import ConfigError, TrainingError
from coding_framework.training.plan import memory
from coding_framework.training.plan.devices import card_users
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.plan.shape import model_shape
from coding_framework.training.rl.advantage import has_signal
from coding_framework.training.rl.kept_rows import TrainedRow, read_rows, write_rows
from coding_framework.training.rl.kl_band import KLWeight
from coding_framework.training.rl.overlong import OverlongShaping, overlong_shaping
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.update_cut import UpdateCut
from tiny_model import write_tiny_model

MACHINE = Machine(
    cores=8,
    memory_bytes=64 * 10**9,
    packages=frozenset(
        {"torch", "transformers", "peft", "verl", "ray", "transfer_queue", "tensordict", "pyarrow"}
    ),
)


def config(**rl: object) -> FrameworkConfig:
    return FrameworkConfig(
        rl=RLConfig.model_validate({"num_gpus": 0} | rl),
        conversation=ConversationConfig(max_prompt_tokens=300, max_response_tokens=100),
    )


def test_an_answer_near_its_limit_loses_more_with_every_token() -> None:
    shaping = OverlongShaping(limit_tokens=100, buffer_tokens=20, weight=0.5)
    assert [shaping.penalty(tokens) for tokens in (1, 80, 85, 90, 100, 120)] == [0, 0, 0.125, 0.25, 0.5, 0.5]


def test_only_dapo_punishes_long_answers_and_a_fifth_of_the_limit_is_its_buffer() -> None:
    assert overlong_shaping(config()) is None
    assert overlong_shaping(config(algorithm="dapo", dapo={"overlong_weight": 0})) is None
    assert overlong_shaping(config(algorithm="dapo")) == OverlongShaping(
        limit_tokens=100, buffer_tokens=20, weight=0.5
    )


def test_the_kl_weight_follows_the_distance_until_it_is_in_the_band() -> None:
    band, start = KLBandConfig(low=0.02, high=0.08, factor=2), 0.1
    weight = KLWeight(coef=start)
    assert weight.after(0.05, band, start) == weight
    assert weight.after(0.09, band, start).coef == pytest.approx(0.2)
    assert weight.after(0.01, band, start).coef == pytest.approx(0.05)


def test_the_kl_weight_stays_within_a_hundred_times_where_it_began() -> None:
    band, start = KLBandConfig(low=0.02, high=0.08, factor=3), 0.1
    far = near = KLWeight(coef=start)
    for _ in range(20):
        far, near = far.after(1.0, band, start), near.after(0.0, band, start)
    assert (far.coef, near.coef) == (pytest.approx(10), pytest.approx(0.001))


def test_the_kl_weight_brings_a_simulated_policy_into_the_band() -> None:
    """A policy that drifts at a constant pull, and that the term draws back."""
    band, start = KLBandConfig(low=0.02, high=0.08), 0.01
    weight, distance = KLWeight(coef=start), 0.0
    for _ in range(200):
        distance = max(0.0, distance + 0.01 - 0.5 * weight.coef * distance)
        weight = weight.after(distance, band, start)
    assert 0.02 <= distance <= 0.08


def test_the_kl_weight_is_read_back_from_its_checkpoint(tmp_path: Path) -> None:
    KLWeight(coef=0.3).write(tmp_path / "global_step_4")
    assert KLWeight.read(tmp_path / "global_step_4").coef == 0.3
    with pytest.raises(TrainingError, match=r"kl_coef\.json is missing"):
        KLWeight.read(tmp_path / "global_step_5")


@pytest.mark.parametrize(("workers", "size"), [(1, None), (1, 7), (2, 8), (4, 6), (6, 512)])
def test_a_batch_is_cut_evenly_and_no_piece_is_padding_alone(workers: int, size: int | None) -> None:
    cut = UpdateCut(workers, size)
    for rows, used in product(range(1, 60), repeat=2):
        updates, padded = cut.updates(rows), cut.padded(rows)
        assert padded % (updates * workers) == 0
        assert 0 <= padded - rows < padded // updates
        assert used > rows or cut.padded(used) <= padded, "fewer rows can be filled up from the batch"


def test_without_a_size_there_is_one_update() -> None:
    assert UpdateCut(4, None).updates(1000) == 1
    assert UpdateCut(4, 512).updates(1000) == 2


def test_a_group_has_a_signal_only_where_answers_of_the_same_turn_differ() -> None:
    assert not has_signal([0.2, 0.2, 0.9, 0.9], [0, 0, 1, 1], [True] * 4), "turns differ, answers do not"
    assert not has_signal([0.2, 0.2, 0.9], [0, 0, 1], [True] * 3), "one alone is compared with nobody"
    assert not has_signal([0.2, 0.9], [0, 0], [True, False]), "a lost episode says nothing"
    assert has_signal([0.2, 0.3, 0.9], [0, 0, 1], [True] * 3)


@pytest.fixture
def paths(tmp_path: Path) -> RLPaths:
    return RLPaths(tmp_path, write_tiny_model(tmp_path / "model"), Path("/tmp/ray-of-a-test"))


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "ppo"])
@pytest.mark.parametrize(("lora_rank", "num_gpus"), [(0, 0), (8, 0), (8, 1)])
def test_verl_takes_every_algorithm_with_everything_switched_on(
    algorithm: str, lora_rank: int, num_gpus: int, paths: RLPaths
) -> None:
    card = Card(name="a card", memory_bytes=80 * 10**9)
    settings = resolve(
        config(
            algorithm=algorithm,
            num_gpus=num_gpus,
            lora_rank=lora_rank,
            kl_coef=0.01,
            kl_band={"low": 0.02, "high": 0.08},
            epochs=3,
            update_turns=16,
            correction={"importance": "turn", "mean_ratio_limit": 2.0, "token_ratio_limit": 1e4},
        ),
        MACHINE.model_copy(update={"cards": (card,) * num_gpus}),
    )
    verl = composed(settings, paths)
    records = built(verl)
    assert verl.algorithm.adv_estimator == ("gae" if algorithm == "ppo" else "turn_grpo")
    assert ("critic" in records) == (algorithm == "ppo")
    assert records["actor_rollout_ref.actor"].ppo_epochs == 3
    correction = verl.algorithm.rollout_correction
    assert not correction.bypass_mode, "ratios are to the policy before the first pass"
    assert (correction.rollout_is, correction.rollout_is_threshold) == ("sequence", 2.0)
    assert correction.rollout_rs == "seq_mean_k1,seq_max_k2"
    low_high, worst = correction.rollout_rs_threshold.split(",")
    assert low_high == "0.5_2.0"
    assert np.exp(np.sqrt(2 * float(worst))) == pytest.approx(1e4)


def test_rejection_leaves_out_whole_turns_as_their_settings_say(paths: RLPaths) -> None:
    torch = pytest.importorskip("torch")
    limits = {"mean_ratio_limit": 2.0, "token_ratio_limit": 100.0}
    verl = composed(resolve(config(correction=limits), MACHINE), paths).algorithm.rollout_correction
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_rejection_mask

    ratios = [[1.0, 1.1, 0.9], [2.5, 2.5, 2.5], [1.0, 0.005, 150.0], [0.45, 0.4, 0.5], [1.9, 2.2, 0.6]]
    _, mask, _ = compute_rollout_correction_and_rejection_mask(
        old_log_prob=torch.log(torch.tensor(ratios)),
        rollout_log_prob=torch.zeros(5, 3),
        response_mask=torch.ones(5, 3),
        rollout_rs=verl.rollout_rs,
        rollout_rs_threshold=verl.rollout_rs_threshold,
    )
    assert mask.tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]


def test_the_loss_in_the_worker_clips_as_the_settings_say(paths: RLPaths) -> None:
    """Ratios far from 1, which the first update of a run never has."""
    torch = pytest.importorskip("torch")
    settings = resolve(config(clip_low=0.1, clip_high=0.4), MACHINE)
    actor = built(composed(settings, paths))["actor_rollout_ref.actor"]
    from verl.trainer.ppo.core_algos import get_policy_loss_fn

    draw = np.random.default_rng(3)
    old, now = -draw.exponential(size=(6, 5)), -draw.exponential(size=(6, 5))
    advantages = draw.normal(size=(6, 5)) * 2
    tensors = [torch.tensor(one) for one in (old, now, advantages)]
    loss, _ = partial(get_policy_loss_fn(actor.policy_loss.loss_mode), config=actor)(
        old_log_prob=tensors[0],
        log_prob=tensors[1],
        advantages=tensors[2],
        response_mask=torch.ones(6, 5),
        loss_agg_mode=actor.loss_agg_mode,
    )
    rows = [row(old[number], advantages[number]) for number in range(6)]
    assert float(loss) == pytest.approx(clipped_loss(rows, list(now), 0.1, 0.4))


def row(old: np.ndarray, advantages: np.ndarray) -> TrainedRow:
    return TrainedRow(
        task="scale",
        group="g",
        episode=0,
        turn=0,
        prompt_ids=(1,),
        answer_ids=tuple(range(len(old))),
        mask=(1,) * len(old),
        turn_return=0.5,
        sampled_log_probs=tuple(old),
        old_log_probs=tuple(old),
        advantages=tuple(advantages),
        returns=tuple(advantages),
        used=True,
    )


def test_kept_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    rows = [row(np.array([-0.5, -0.25]), np.array([1.0, 2.0])), row(np.array([-1.0]), np.array([0.0]))]
    write_rows(tmp_path, 3, rows)
    assert read_rows(tmp_path, 3) == rows


@pytest.mark.parametrize(
    ("rl", "words"),
    [
        ({"dapo": {"extra_draws": 1}}, r"rl\.dapo\.extra_draws is for rl\.algorithm=dapo alone"),
        ({"algorithm": "dapo", "ppo": {"gae_lambda": 1.0}}, r"rl\.ppo\.gae_lambda is for rl\.algorithm=ppo"),
        ({"kl_band": {"low": 0.02, "high": 0.08}}, r"rl\.kl_coef is 0"),
        ({"kl_coef": 0.01, "kl_band": {"factor": 2.0}}, r"rl\.kl_band\.factor needs a band"),
        ({"correction": {"importance_limit": 3.0}}, r"rl\.correction\.importance=off"),
        ({"algorithm": "dapo", "dapo": {"overlong_tokens": 101}}, r"has 100 tokens at most"),
        (
            {"algorithm": "dapo", "dapo": {"overlong_tokens": 9, "overlong_weight": 0}},
            r"rl\.dapo\.overlong_weight is 0",
        ),
        (
            {"algorithm": "ppo", "steps": 4, "ppo": {"critic_warmup_steps": 4}},
            r"the policy would never learn",
        ),
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(rl: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_plan(config(**rl), MACHINE)


@pytest.mark.parametrize("algorithm", ["grpo", "dapo"])
def test_comparing_needs_two(algorithm: str) -> None:
    with pytest.raises(ValidationError, match="compares answers with each other"):
        RLConfig.model_validate({"algorithm": algorithm, "group_size": 1})
    assert RLConfig(algorithm="ppo", group_size=1).group_size == 1


@pytest.mark.parametrize("band", [{"low": 0.02}, {"high": 0.08}, {"low": 0.08, "high": 0.02}])
def test_a_band_has_two_ends(band: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="band"):
        KLBandConfig.model_validate(band)


def test_the_plan_knows_the_critic() -> None:
    shape = model_shape("smollm2-135m-instruct")
    assert shape is not None
    without, with_one = (resolve(config(algorithm=name, lora_rank=0), MACHINE) for name in ("grpo", "ppo"))
    more = memory.rl_host(with_one, shape).total - memory.rl_host(without, shape).total
    assert more == 16 * shape.parameters
    plans = [make_plan(config(algorithm=name, lora_rank=0), MACHINE) for name in ("grpo", "ppo")]
    phases = [next(one for one in plan.phases if one.name == "rl") for plan in plans]
    assert phases[1].what.startswith("PPO with a critic (2 steps of it alone)")
    assert ["critic" in plan.devices[0].used_by for plan in plans] == [False, True]
    assert plans[1].disk_bytes.value > plans[0].disk_bytes.value  # type: ignore[union-attr]
    assert card_users(resolve(config(algorithm="ppo", num_gpus=2), MACHINE))[1][:2] == ["actor", "critic"]


def test_the_plan_knows_what_transformers_samples_with() -> None:
    shape = model_shape("smollm2-135m-instruct")
    assert shape is not None
    with_adapter, without = (resolve(config(lora_rank=rank), MACHINE) for rank in (16, 0))
    held = memory.rl_host(with_adapter, shape).parts
    kept = "its layers without the adapter"
    assert held["sampling model"] == 4 * shape.parameters
    assert 0.9 * held["sampling model"] > held[kept] > 0.7 * held["sampling model"]
    assert memory.rl_host(without, shape).parts[kept] == 0
    on_cards = [
        resolve(config(num_gpus=2, rollout="transformers", gpus=gpus), MACHINE)
        for gpus in ({}, {"rollout": 1})
    ]
    beside, apart = (memory.rl_actor_card(one, shape).parts for one in on_cards)
    assert beside["sampling model"] == 2 * shape.parameters
    assert "sampling model" not in apart
    assert memory.rl_rollout_card(on_cards[1], shape).parts["sampling model"] == 2 * shape.parameters


def test_log_probabilities_are_recomputed_where_a_batch_is_used_more_than_once() -> None:
    assert not RLConfig().recomputes_log_probs
    assert RLConfig(epochs=2).recomputes_log_probs
    assert RLConfig(update_turns=64).recomputes_log_probs
    assert RLConfig(correction=CorrectionConfig(token_ratio_limit=1e4)).recomputes_log_probs


def test_every_draw_of_a_step_has_a_prompt() -> None:
    assert RLConfig(prompts_per_step=4).draws_per_step == 4
    dapo = RLConfig(algorithm="dapo", prompts_per_step=4, dapo=DAPOConfig(extra_draws=2))
    assert dapo.draws_per_step == 12
    assert RLConfig(algorithm="ppo", ppo=PPOConfig(critic_warmup_steps=0)).draws_per_step == 4
