"""What the choice of an algorithm means in verl's words: estimator, critic, sampler, correction."""

from __future__ import annotations

import math
from collections.abc import Mapping

from coding_framework.config import CorrectionConfig, FrameworkConfig
from coding_framework.errors import ConfigError
from coding_framework.training.packed_attention import ATTENTION_NAME
from coding_framework.training.rl.names import ADVANTAGE_NAME, SAMPLER_CLASS, SAMPLER_MODULE
from coding_framework.training.rl.paths import RLPaths

Value = str | int | float | bool | list[int]


def algorithm_overrides(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    """All that depends on `rl.algorithm`, `rl.kl_band` and `rl.correction`; the loss of the actor aside."""
    by_name = {"grpo": _groups, "dapo": _dapo, "ppo": _ppo}
    return {
        **by_name[config.rl.algorithm](config, paths),
        "algorithm.use_kl_in_reward": False,
        **_correction(config.rl.correction, recompute=config.rl.recomputes_log_probs),
    }


def _groups(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    return {
        "algorithm.adv_estimator": ADVANTAGE_NAME,
        "algorithm.norm_adv_by_std_in_grpo": True,
        "critic.enable": False,
    }


def _dapo(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    sampler = "trainer.v1.sampler"
    return {
        **_groups(config, paths),
        f"{sampler}.custom_sampler.path": f"pkg://{SAMPLER_MODULE}",
        f"{sampler}.custom_sampler.name": SAMPLER_CLASS,
        f"+{sampler}.sampler_kwargs.extra_draws": config.rl.dapo.extra_draws,
    }


def _ppo(config: FrameworkConfig, paths: RLPaths) -> Mapping[str, Value]:
    """verl lets the actor join in the step that is called `critic_warmup`."""
    ppo, tokens = config.rl.ppo, update_tokens(config)
    return {
        "algorithm.adv_estimator": "gae",
        "algorithm.gamma": 1.0,
        "algorithm.lam": ppo.gae_lambda,
        "trainer.critic_warmup": ppo.critic_warmup_steps + 1,
        "critic.enable": True,
        "critic.strategy": "fsdp2",
        "critic.optim.lr": config.rl.critic_learning_rate,
        "critic.cliprange_value": ppo.value_clip,
        "critic.ppo_max_token_len_per_gpu": tokens,
        "+critic.ppo_infer_max_token_len_per_gpu": tokens,
        "critic.data_loader_seed": config.run.seed,
        **number_formats("critic.fsdp", config),
        **repeatable_weights("critic.fsdp", config),
        **decoder("critic.model", config, paths),
    }


def _correction(correction: CorrectionConfig, *, recompute: bool) -> Mapping[str, Value]:
    """Whole turns are rejected, never single tokens: a turn's return lies on its last one."""
    rejected: dict[str, str] = {}
    if correction.mean_ratio_limit is not None:
        rejected["seq_mean_k1"] = f"{1 / correction.mean_ratio_limit}_{correction.mean_ratio_limit}"
    if correction.token_ratio_limit is not None:
        rejected["seq_max_k2"] = str(0.5 * math.log(correction.token_ratio_limit) ** 2)
    prefix = "algorithm.rollout_correction"
    found: dict[str, Value] = {f"{prefix}.bypass_mode": not recompute}
    if correction.importance != "off":
        found[f"{prefix}.rollout_is"] = {"token": "token", "turn": "sequence"}[correction.importance]
        found[f"{prefix}.rollout_is_threshold"] = correction.importance_limit
    if rejected:
        found[f"{prefix}.rollout_rs"] = f"'{','.join(rejected)}'"
        found[f"{prefix}.rollout_rs_threshold"] = f"'{','.join(rejected.values())}'"
    return found


def decoder(prefix: str, config: FrameworkConfig, paths: RLPaths) -> dict[str, Value]:
    """The model that policy and critic begin as, and what of it is trained."""
    attention = config.model.attention
    name = ATTENTION_NAME if attention == "packed" else attention
    return {
        f"{prefix}.path": str(paths.model_path),
        f"{prefix}.use_remove_padding": attention != "sdpa",
        f"+{prefix}.override_config.attn_implementation": name,
        f"{prefix}.enable_gradient_checkpointing": bool(config.rl.checkpoint_activations),
        f"{prefix}.lora_rank": config.rl.lora_rank,
        f"{prefix}.lora_alpha": config.rl.lora_alpha,
        f"{prefix}.target_modules": "all-linear",
    }


def number_formats(prefix: str, config: FrameworkConfig) -> dict[str, Value]:
    """Of an engine: weights in float32, products in what the config says."""
    short = {"float32": "fp32", "bfloat16": "bf16"}[config.model.dtype]
    return {
        f"{prefix}.model_dtype": "fp32",
        f"{prefix}.dtype": config.model.dtype,
        f"+{prefix}.mixed_precision": f"{{param_dtype:{short},reduce_dtype:fp32,buffer_dtype:fp32}}",
    }


def repeatable_weights(prefix: str, config: FrameworkConfig) -> dict[str, Value]:
    """Of an engine: what it trains begins with the same weights in every process."""
    return {
        f"{prefix}.seed": config.run.seed,
        # On a GPU it would slow the update.
        f"{prefix}.full_determinism": not config.rl.num_gpus,
    }


def update_tokens(config: FrameworkConfig) -> int:
    if config.rl.update_tokens is None:
        raise ConfigError("the config has open settings: training.plan.resolve settles them")
    return config.rl.update_tokens
