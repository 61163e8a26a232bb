"""The trainable part: LoRA on all linear layers of a frozen model, or all weights.

The frozen weights are packed to 4 bits (`qlora`, on a GPU) or stay whole, in bfloat16 where the
processor multiplies it in hardware (twice as fast), else in float32. What is trained is always
float32: in bfloat16 small changes vanish.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from coding_framework.training.packed_attention import register_packed_attention
from coding_framework.training.sft.attention import register_attention


def load_trainable(model_path: Path, config: SFTConfig, attention: str = "sdpa") -> Any:
    """The model with what `config.method` trains; `attention` as in `model.attention`, resolved."""
    require_transformers()
    model = load_base(model_path, config.method)
    model.set_attn_implementation(training_attention(attention))
    if config.method == "full":
        return model.requires_grad_(True)
    settings = lora_settings(config)
    from peft import get_peft_model

    return get_peft_model(model, settings)


def lora_settings(config: SFTConfig) -> Any:
    """Of the adapter on all linear layers, as peft takes them."""
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise MissingExtraError("peft", "train") from error
    return LoraConfig(
        task_type="CAUSAL_LM",
        target_modules="all-linear",
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
    )


def training_attention(attention: str) -> str:
    """The name of the resolved `model.attention` in transformers."""
    if attention == "packed":
        return register_packed_attention()
    return attention if attention == "flash_attention_2" else register_attention()


def load_base(model_path: Path, method: str) -> Any:
    """The model before anything is added to it, in the format that the method trains on."""
    if method == "qlora":
        return _load_packed(model_path)
    device = default_device()
    dtype = "float32" if method == "full" else compute_dtype(device)
    return load_causal_model(model_path, dtype=dtype, device=device)


@contextmanager
def mixed_precision(model: Any) -> Iterator[None]:
    """Multiply what is trained in the format of the frozen weights, or in the processor's own.

    Otherwise every layer's input would be widened to float32 for the adapter and the result narrowed
    again: a tenth of a step. Trained weights and their gradients stay float32.
    """
    import torch

    device = next(model.parameters()).device.type
    if compute_dtype(device) == "float32":
        yield
        return
    with torch.autocast(device, torch.bfloat16), _inputs_as_they_are(model):
        yield


def _inputs_as_they_are(model: Any) -> AbstractContextManager[Any]:
    if not hasattr(model, "get_base_model"):
        return nullcontext()
    from peft.helpers import disable_input_dtype_casting

    keeping: AbstractContextManager[Any] = disable_input_dtype_casting(model)
    return keeping


def _load_packed(model_path: Path) -> Any:
    import torch

    if not torch.cuda.is_available():
        raise NotAvailableError("sft.method=qlora needs a CUDA GPU: set it to lora or full")
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bitsandbytes", "train") from error
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    packing = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    with quiet_transformers():
        return AutoModelForCausalLM.from_pretrained(
            model_path,
            quantization_config=packing,
            dtype=torch.bfloat16,
            device_map={"": torch.cuda.current_device()},
        )
