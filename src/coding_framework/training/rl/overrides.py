"""From our config to verl's: hydra overrides and the environment of its processes.

Choices worth knowing, all for the sake of few rows and little time:

- rollout log-probabilities are used as the old ones (`bypass_mode`), since one optimizer step follows
  each batch and both sides compute in the same number format: this saves a forward pass;
- micro-batches are packed by tokens, not by rows, since turns differ in length;
- no reward workers (the episode brings its reward), no validation, no dashboard.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coding_framework.config import FrameworkConfig
from coding_framework.training.rl.names import (
    ADVANTAGE_NAME,
    COMMON_PLUGINS,
    CPU_PLUGINS,
    ROLLOUT_NAME,
    TRAINER_NAME,
    WORKER_SETTINGS_ENV,
)

Value = str | int | float | bool
_OBJECT_STORE_BYTES = 400_000_000
_RAY_CPU_SLOTS = 8
"""Logical: verl's helper actors each ask for one and mostly wait."""


@dataclass(frozen=True)
class RLPaths:
    """Files of one RL phase."""

    run_dir: Path
    model_path: Path
    ray_temp_dir: Path

    @property
    def rl_dir(self) -> Path:
        return self.run_dir / "rl"

    @property
    def prompts(self) -> Path:
        return self.rl_dir / "prompts.parquet"

    @property
    def checkpoints(self) -> Path:
        return self.run_dir / "checkpoints" / "rl"

    @property
    def exported_model(self) -> Path:
        return self.run_dir / "models" / "rl"

    @property
    def log(self) -> Path:
        return self.run_dir / "logs" / "verl.log"

    @property
    def step_metrics(self) -> Path:
        """Written by verl's file logger, which empties it at every start."""
        return self.rl_dir / "verl_metrics.jsonl"


def build_overrides(config: FrameworkConfig, paths: RLPaths, *, rollout: str = ROLLOUT_NAME) -> list[str]:
    """Everything that differs from verl's defaults, as `key=value` for hydra."""
    settings: dict[str, Value] = {
        **_algorithm(config),
        **_data(config, paths),
        **_model(config, paths),
        **_actor(config),
        **_rollout(config, rollout),
        **_trainer(config, paths),
        **_processes(config, paths),
    }
    return [f"{name}={_literal(value)}" for name, value in settings.items()]


def build_environment(config: FrameworkConfig, paths: RLPaths, worker_settings: Path) -> dict[str, str]:
    """The environment of verl's processes; Ray hands it on to all of its workers."""
    on_cpu = config.rl.num_gpus == 0
    package_root = Path(__file__).resolve().parents[3]
    inherited = os.environ.get("PYTHONPATH", "")
    added = {
        "VERL_USE_EXTERNAL_MODULES": ",".join((*CPU_PLUGINS, *COMMON_PLUGINS) if on_cpu else COMMON_PLUGINS),
        "VERL_USE_EXTERNAL_PLUGINS": "none",
        "VERL_FILE_LOGGER_PATH": str(paths.step_metrics),
        WORKER_SETTINGS_ENV: str(worker_settings),
        "PYTHONPATH": os.pathsep.join(part for part in (str(package_root), inherited) if part),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "HYDRA_FULL_ERROR": "1",
    }
    if on_cpu:
        added |= {"VERL_PLATFORM": "cpu", **_cpu_threads()}
    # An empty list of devices makes Ray refuse the logical GPU slots.
    hidden = {"CUDA_VISIBLE_DEVICES"} if on_cpu else set()
    return {name: value for name, value in os.environ.items() if name not in hidden} | added


def _cpu_threads() -> dict[str, str]:
    """Sampling and updating alternate, so each may use every core; waiting threads must not spin.

    The instruction-set limit avoids an illegal instruction in oneDNN's bfloat16 kernels on some CPUs.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(cores)),
        "OMP_WAIT_POLICY": "PASSIVE",
        "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"),
    }


def _algorithm(config: FrameworkConfig) -> Mapping[str, Value]:
    return {
        "algorithm.adv_estimator": ADVANTAGE_NAME,
        "algorithm.norm_adv_by_std_in_grpo": True,
        "algorithm.use_kl_in_reward": False,
        "algorithm.rollout_correction.bypass_mode": True,
    }


def _data(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    return {
        "data.train_files": str(paths.prompts),
        "data.val_files": str(paths.prompts),
        "data.val_max_samples": 1,
        "data.train_batch_size": config.rl.prompts_per_step,
        "data.max_prompt_length": config.conversation.max_prompt_tokens,
        "data.max_response_length": config.conversation.max_response_tokens,
        "data.dataloader_num_workers": 0,
        "data.shuffle": False,
        "data.filter_overlong_prompts": False,
    }


def _model(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    on_cpu = config.rl.num_gpus == 0
    settings: dict[str, Value] = {
        "actor_rollout_ref.model.path": str(paths.model_path),
        "actor_rollout_ref.model.use_remove_padding": not on_cpu,
        "actor_rollout_ref.model.enable_gradient_checkpointing": not on_cpu,
        "actor_rollout_ref.model.lora_rank": config.rl.lora_rank,
        "actor_rollout_ref.model.lora_alpha": config.rl.lora_alpha,
        "actor_rollout_ref.model.target_modules": "all-linear",
    }
    if on_cpu:
        settings["+actor_rollout_ref.model.override_config.attn_implementation"] = "sdpa"
    return settings


def _actor(config: FrameworkConfig) -> Mapping[str, Value]:
    rl = config.rl
    row_tokens = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    short = {"float32": "fp32", "bfloat16": "bf16"}[config.model.dtype]
    actor = "actor_rollout_ref.actor"
    return {
        f"{actor}.strategy": "fsdp2",
        f"{actor}.optim.lr": rl.learning_rate,
        f"{actor}.ppo_mini_batch_size": rl.prompts_per_step,
        f"{actor}.ppo_epochs": 1,
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.ppo_max_token_len_per_gpu": rl.micro_batch_size * row_tokens,
        f"{actor}.use_torch_compile": False,
        f"{actor}.use_kl_loss": rl.kl_coef > 0,
        f"{actor}.kl_loss_coef": rl.kl_coef,
        f"{actor}.clip_ratio": rl.clip_low,
        f"{actor}.clip_ratio_low": rl.clip_low,
        f"{actor}.clip_ratio_high": rl.clip_high,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.data_loader_seed": config.run.seed,
        f"{actor}.fsdp_config.model_dtype": "fp32",
        f"{actor}.fsdp_config.dtype": config.model.dtype,
        f"+{actor}.fsdp_config.mixed_precision": f"{{param_dtype:{short},reduce_dtype:fp32,buffer_dtype:fp32}}",
    }


def _rollout(config: FrameworkConfig, rollout: str) -> Mapping[str, Value]:
    row_tokens = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    prefix = "actor_rollout_ref.rollout"
    return {
        f"{prefix}.name": rollout,
        f"{prefix}.n": config.rl.group_size,
        f"{prefix}.temperature": config.rl.temperature,
        f"{prefix}.top_p": config.rl.top_p,
        f"{prefix}.seed": config.run.seed,
        f"{prefix}.dtype": config.model.dtype,
        f"{prefix}.calculate_log_probs": True,
        f"{prefix}.tensor_model_parallel_size": 1,
        f"{prefix}.max_model_len": row_tokens,
        f"{prefix}.log_prob_use_dynamic_bsz": True,
        f"{prefix}.log_prob_max_token_len_per_gpu": config.rl.micro_batch_size * row_tokens,
        f"{prefix}.free_cache_engine": rollout != ROLLOUT_NAME,
        f"{prefix}.agent.num_workers": 1,
    }


def _trainer(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    return {
        "trainer.v1.trainer_mode": TRAINER_NAME,
        "trainer.device": "cpu" if config.rl.num_gpus == 0 else "cuda",
        "trainer.n_gpus_per_node": max(1, config.rl.num_gpus),
        "trainer.nnodes": 1,
        "trainer.logger": "[file]",
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.save_freq": config.rl.save_every,
        "trainer.max_actor_ckpt_to_keep": 2,
        "trainer.total_training_steps": config.rl.steps,
        "trainer.total_epochs": 2,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(paths.checkpoints),
        "hydra.run.dir": str(paths.rl_dir / "hydra"),
        "hydra.output_subdir": "null",
    }


def _processes(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    storage = "transfer_queue.backend.SimpleStorage"
    rows = config.rl.prompts_per_step * (1 + config.rl.group_size * (1 + config.conversation.max_turns))
    return {
        f"{storage}.num_data_storage_units": 1,
        f"{storage}.total_storage_size": max(1000, 4 * rows),
        "reward.num_workers": 0,
        "ray_kwargs.ray_init.num_cpus": _RAY_CPU_SLOTS,
        "+ray_kwargs.ray_init.num_gpus": max(1, config.rl.num_gpus),
        "+ray_kwargs.ray_init.include_dashboard": False,
        "+ray_kwargs.ray_init.object_store_memory": _OBJECT_STORE_BYTES,
        "+ray_kwargs.ray_init._temp_dir": str(paths.ray_temp_dir),
    }


def _literal(value: Value) -> str:
    return str(value)
