"""From our config to verl's, as hydra overrides.

Choices worth knowing, all for the sake of few rows and little time:

- where one optimizer step follows each batch, rollout log-probabilities are used as the old ones
  (`bypass_mode`): both sides compute in the same number format, and this saves a forward pass;
- micro-batches are packed by tokens, not by rows, since turns differ in length;
- no reward workers (the episode brings its reward), no validation, no dashboard.
"""

from __future__ import annotations

from collections.abc import Mapping

from coding_framework.config import FrameworkConfig
from coding_framework.training.packed_attention import ATTENTION_NAME as PACKED
from coding_framework.training.rl.algorithm_overrides import (
    Value,
    algorithm_overrides,
    decoder,
    number_formats,
    repeatable_weights,
    update_tokens,
)
from coding_framework.training.rl.model_shape import cache_bytes_per_token
from coding_framework.training.rl.names import ROLLOUT_NAME, TRAINER_NAME
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.placement import placement

_MODEL = "actor_rollout_ref.model"
_GRAPH_SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
"""Numbers of answers at a time that vLLM records a graph for; others are padded to the next."""
_MOST_AT_ONCE = 512
_CACHE_BLOCK = 16
_CACHE_RESERVE_BYTES = 2**28


CHECKPOINTS_KEPT = 2
"""The last one, and the one before in case it is damaged."""


def build_overrides(config: FrameworkConfig, paths: RLPaths) -> list[str]:
    """What differs from the defaults of verl, as `key=value` for hydra; the config is a resolved one."""
    rollout = ROLLOUT_NAME if config.rl.rollout == "transformers" else config.rl.rollout
    settings: dict[str, Value] = {
        **algorithm_overrides(config, paths),
        **_data(config, paths),
        **_model(config, paths),
        **_actor(config),
        **_reference(config),
        **_rollout(config, rollout, paths),
        **_trainer(config, paths),
        **_processes(config),
        **placement(config, paths),
    }
    return [f"{name}={value}" for name, value in settings.items()]


def _data(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    return {
        "data.train_files": str(paths.prompts),
        "data.val_files": str(paths.prompts),
        "data.val_max_samples": 1,
        "data.train_batch_size": config.rl.prompts_per_step,
        # Dynamic sampling draws any number of tasks.
        "data.gen_batch_size": 1 if config.rl.algorithm == "dapo" else config.rl.prompts_per_step,
        "data.max_prompt_length": config.conversation.max_prompt_tokens,
        "data.max_response_length": config.conversation.max_response_tokens,
        "data.dataloader_num_workers": 0,
        "data.shuffle": False,
        "data.filter_overlong_prompts": False,
    }


def _model(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    found = decoder(_MODEL, config, paths)
    if not config.rl.num_gpus:
        own = f"+{_MODEL}.override_config"
        return {**found, f"{own}.attn_implementation": PACKED, f"{own}.attention_dropout": 0.0}
    return {
        **found,
        # Log-probabilities in pieces: the logits of all tokens at once would fill the card.
        f"{_MODEL}.use_fused_kernels": config.model.attention != "sdpa",
        f"{_MODEL}.fused_kernel_options.impl_backend": "triton",
    }


def _reference(config: FrameworkConfig) -> Mapping[str, Value]:
    """It computes as the actor does, or their distance would not begin at 0."""
    return number_formats("actor_rollout_ref.ref.fsdp_config", config)


def _actor(config: FrameworkConfig) -> Mapping[str, Value]:
    rl = config.rl
    actor = "actor_rollout_ref.actor"
    return {
        f"{actor}.strategy": "fsdp2",
        f"{actor}.optim.lr": rl.learning_rate,
        f"{actor}.ppo_mini_batch_size": rl.prompts_per_step,
        f"{actor}.ppo_epochs": rl.epochs,
        f"{actor}.shuffle": rl.update_turns is not None,
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.ppo_max_token_len_per_gpu": update_tokens(config),
        f"{actor}.use_torch_compile": False,
        # The weights below an adapter lie in the start model's folder already.
        f"+{actor}.checkpoint.save_lora_only": bool(rl.lora_rank),
        f"{actor}.use_kl_loss": rl.kl_coef > 0,
        f"{actor}.kl_loss_coef": rl.kl_coef,
        f"{actor}.clip_ratio": rl.clip_low,
        f"{actor}.clip_ratio_low": rl.clip_low,
        f"{actor}.clip_ratio_high": rl.clip_high,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.data_loader_seed": config.run.seed,
        **number_formats(f"{actor}.fsdp_config", config),
        **repeatable_weights(f"{actor}.fsdp_config", config),
    }


def _rollout(config: FrameworkConfig, rollout: str, paths: RLPaths) -> Mapping[str, Value]:
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
        f"{prefix}.log_prob_max_token_len_per_gpu": update_tokens(config),
        f"{prefix}.agent.num_workers": 1,
        **(_vllm(config, paths) if rollout == "vllm" else {f"{prefix}.free_cache_engine": False}),
    }


def _vllm(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    prefix = "actor_rollout_ref.rollout"
    rl = config.rl
    row_tokens = config.conversation.max_prompt_tokens + config.conversation.max_response_tokens
    needed = cache_bytes_per_token(paths.model_path, config.model.dtype) * (row_tokens + _CACHE_BLOCK)
    cache = rl.rollout_cache_bytes or needed * _MOST_AT_ONCE
    at_once = max(1, min(_MOST_AT_ONCE, rl.prompts_per_step * rl.group_size, cache // needed))
    return {
        f"{prefix}.load_format": "safetensors",
        f"{prefix}.gpu_memory_utilization": rl.rollout_memory_share or 0.5,
        f"{prefix}.max_num_seqs": at_once,
        f"{prefix}.free_cache_engine": bool(rl.rollout_sleeps),
        f"+{prefix}.enable_sleep_mode": bool(rl.rollout_sleeps),
        f"{prefix}.enforce_eager": not rl.rollout_graphs,
        f"{prefix}.cudagraph_capture_sizes": [size for size in _GRAPH_SIZES if size <= at_once],
        # One process fewer to start: the engine's own does the work where there is one card.
        f"+{prefix}.engine_kwargs.vllm.distributed_executor_backend": "uni",
        # Said, not measured: a probe of the card would have to be alone on it.
        f"+{prefix}.engine_kwargs.vllm.kv_cache_memory_bytes": needed * at_once + _CACHE_RESERVE_BYTES,
    }


def _trainer(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    return {
        "trainer.v1.trainer_mode": TRAINER_NAME,
        "trainer.device": "cpu" if not config.rl.num_gpus else "cuda",
        "trainer.logger": "[file]",
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.save_freq": config.rl.save_every,
        "trainer.max_actor_ckpt_to_keep": CHECKPOINTS_KEPT,
        "trainer.max_critic_ckpt_to_keep": CHECKPOINTS_KEPT,
        "trainer.total_training_steps": config.rl.steps,
        "trainer.total_epochs": 2,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(paths.checkpoints),
    }


def _processes(config: FrameworkConfig) -> Mapping[str, Value]:
    storage = "transfer_queue.backend.SimpleStorage"
    rows = config.rl.draws_per_step * (1 + config.rl.group_size * (1 + config.conversation.max_turns))
    return {
        f"{storage}.num_data_storage_units": 1,
        f"{storage}.total_storage_size": max(1000, 4 * rows),
        "reward.num_workers": 0,
    }
