"""verl plug-in: the critic's engine, which verl ties to flash-attn.

verl loads a value model with flash-attn alone and has none for the CPU. This engine loads it with the
attention that the policy has, on a GPU and on the CPU. The value head starts at zero: the first values
are 0, whatever the seed and the number of workers, and the critic begins as no baseline at all instead
of a random one. With an adapter the head is trained as a whole beside it.

Not supported: models that transformers cannot open with one output for each token.
"""

from __future__ import annotations

from typing import Any

import torch
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithValueHead

from coding_framework.errors import TrainingError

_BACKENDS = ["fsdp", "fsdp2"]
_HEAD = "score"
"""Of every model that transformers builds for token classification out of a decoder."""


@EngineRegistry.register(model_type="value_model", backend=_BACKENDS, device="cpu")
@EngineRegistry.register(model_type="value_model", backend=_BACKENDS, device="cuda", vendor="nvidia")
class CriticEngine(FSDPEngineWithValueHead):  # type: ignore[misc]
    """FSDP around a decoder with one value for each token."""

    def _build_module(self) -> Any:
        from transformers import AutoModelForTokenClassification
        from verl.models.transformers.monkey_patch import apply_monkey_patch
        from verl.utils.torch_dtypes import PrecisionType

        config = self.model_config.hf_config
        config.num_labels, config.classifier_dropout = 1, 0.0
        module = AutoModelForTokenClassification.from_pretrained(
            self.model_config.local_path,
            config=config,
            dtype=PrecisionType.to_dtype(self.engine_config.model_dtype or "fp32"),
            attn_implementation=self.model_config.override_config.get("attn_implementation", "sdpa"),
            trust_remote_code=self.model_config.trust_remote_code,
        )
        _begin_at_zero(module)
        apply_monkey_patch(model=module, use_remove_padding=self.use_remove_padding, use_fused_kernels=False)
        if self.model_config.enable_gradient_checkpointing:
            module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return module

    def _build_lora_module(self, module: Any) -> Any:
        """verl's own would make it a model that writes, which this one is not."""
        from peft import LoraConfig, get_peft_model

        module.enable_input_require_grads()
        adapted = get_peft_model(
            module,
            LoraConfig(
                r=self.model_config.lora_rank,
                lora_alpha=self.model_config.lora_alpha,
                target_modules=self.model_config.target_modules,
                exclude_modules=[_HEAD],
            ),
        )
        getattr(adapted.get_base_model(), _HEAD).requires_grad_(True)
        return adapted


def _begin_at_zero(module: Any) -> None:
    head = getattr(module, _HEAD, None)
    if not isinstance(head, torch.nn.Linear):
        raise TrainingError(
            f"{type(module).__name__} has no value head of the usual kind: rl.algorithm=ppo cannot train it"
        )
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
