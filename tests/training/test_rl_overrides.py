"""The overrides are ones that verl's own configuration accepts, and say what our config says."""

from __future__ import annotations

from pathlib import Path

import pytest
from verl_composition import composed

from coding_framework.config import ConversationConfig, FrameworkConfig, RLConfig
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.rl.environment import build_environment
from coding_framework.training.rl.overrides import build_overrides
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.prompt_limit import cut_middle
from coding_framework.training.rl.prompts_file import write_prompts
from tiny_model import write_tiny_model

MACHINE = Machine(cores=2, memory_bytes=2**34)
CONFIG = resolve(
    FrameworkConfig(
        rl=RLConfig(steps=7, prompts_per_step=3, group_size=5, kl_coef=0.02, clip_high=0.3, save_every=4),
        conversation=ConversationConfig(max_prompt_tokens=300, max_response_tokens=100),
    ),
    MACHINE,
)


@pytest.fixture
def paths(tmp_path: Path) -> RLPaths:
    return RLPaths(tmp_path, write_tiny_model(tmp_path / "model"), Path("/tmp/ray-of-a-test"))


def test_verl_accepts_every_override(paths: RLPaths) -> None:
    verl = composed(CONFIG, paths)
    assert verl.algorithm.adv_estimator == "turn_grpo"
    assert verl.trainer.v1.trainer_mode == "coding_framework_turns"
    assert verl.actor_rollout_ref.rollout.name == "coding_framework_hf"
    assert verl.actor_rollout_ref.rollout.n == 5
    assert verl.data.train_batch_size == 3
    assert (verl.data.max_prompt_length, verl.data.max_response_length) == (300, 100)
    assert verl.actor_rollout_ref.actor.kl_loss_coef == pytest.approx(0.02)
    assert verl.actor_rollout_ref.actor.clip_ratio_high == pytest.approx(0.3)
    assert verl.trainer.total_training_steps == 7
    assert verl.trainer.save_freq == 4
    assert verl.trainer.default_local_dir == str(paths.checkpoints)


def test_no_reference_model_is_loaded_without_a_kl_term(paths: RLPaths) -> None:
    assert "actor_rollout_ref.actor.use_kl_loss=False" in build_overrides(
        resolve(FrameworkConfig(), MACHINE), paths
    )
    assert "actor_rollout_ref.actor.use_kl_loss=True" in build_overrides(CONFIG, paths)


def test_cpu_plug_ins_are_loaded_only_without_gpus(paths: RLPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    cpu = build_environment(CONFIG, paths, Path("worker.json"))
    gpu_config = resolve(FrameworkConfig(rl=RLConfig(num_gpus=2)), MACHINE)
    gpu = build_environment(gpu_config, paths, Path("worker.json"))
    assert cpu["VERL_PLATFORM"] == "cpu"
    assert cpu["VERL_USE_EXTERNAL_MODULES"].startswith("coding_framework.training.rl.cpu_platform,")
    assert "CUDA_VISIBLE_DEVICES" not in cpu
    assert "VERL_PLATFORM" not in gpu
    assert "cpu_platform" not in gpu["VERL_USE_EXTERNAL_MODULES"]
    assert "trainer.n_gpus_per_node=2" in build_overrides(gpu_config, paths)


def test_the_prompts_file_is_a_supply_of_blank_rows_for_our_agent_loop(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_prompts(tmp_path / "deep" / "prompts.parquet", 2)
    rows = parquet.read_table(tmp_path / "deep" / "prompts.parquet").to_pylist()
    assert [row["extra_info"] for row in rows] == [{"index": 0}, {"index": 1}]
    assert {row["agent_name"] for row in rows} == {"coding_framework_episode"}


def test_a_long_prompt_keeps_its_start_and_its_end() -> None:
    assert cut_middle(list(range(10)), 10) == list(range(10))
    assert cut_middle(list(range(10)), 5) == [0, 1, 7, 8, 9]
