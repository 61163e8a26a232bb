"""The trainable part: LoRA on all linear layers of a frozen model.

On a GPU the frozen weights may be packed to 4 bits (QLoRA). On the CPU they stay whole, in
bfloat16 where the processor multiplies it in hardware (twice as fast), else in float32. The
adapter itself is always float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coding_framework.agents.models.loading import (
    compute_dtype,
    default_device,
    load_causal_model,
    quiet_transformers,
    require_transformers,
)
from coding_framework.config import SFTConfig
from coding_framework.errors import MissingExtraError, NotAvailableError
from coding_framework.training.sft.attention import register_attention


def load_trainable(model_path: Path, config: SFTConfig) -> Any:
    """The base model with a fresh adapter; only the adapter learns."""
    require_transformers()
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise MissingExtraError("peft", "train") from error
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        target_modules="all-linear",
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
    )
    base = _load_packed(model_path) if use_4bit(config) else _load_whole(model_path)
    base.set_attn_implementation(register_attention())
    return get_peft_model(base, lora)


@contextmanager
def mixed_precision(model: Any) -> Iterator[None]:
    """Multiply the adapter's matrices in the format of the frozen ones.

    Otherwise every layer's input would be widened to float32 for them and the result narrowed
    again: a tenth of a step. The adapter's own weights and gradients stay float32.
    """
    import torch
    from peft.helpers import disable_input_dtype_casting

    device = next(model.parameters()).device.type
    if compute_dtype(device) == "float32":
        yield
        return
    with torch.autocast(device, torch.bfloat16), disable_input_dtype_casting(model):
        yield


def use_4bit(config: SFTConfig) -> bool:
    """What `quantize` means on this machine."""
    import torch

    if config.quantize == "4bit" and not torch.cuda.is_available():
        raise NotAvailableError("sft.quantize=4bit needs a CUDA GPU: set it to auto or none")
    return config.quantize != "none" and torch.cuda.is_available()


def _load_whole(model_path: Path) -> Any:
    device = default_device()
    return load_causal_model(model_path, dtype=compute_dtype(device), device=device)


def _load_packed(model_path: Path) -> Any:
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bitsandbytes", "train") from error
    import torch
    from peft import prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    packing = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    with quiet_transformers():
        model = AutoModelForCausalLM.from_pretrained(
            model_path, quantization_config=packing, dtype=torch.bfloat16, device_map={"": 0}
        )
    return prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
