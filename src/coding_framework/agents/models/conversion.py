"""Unpack a GGUF file into an ordinary Hugging Face folder.

Weights are stored as bfloat16: half the size, and finer than the 4-bit numbers they come from.
Whoever loads them chooses the format to compute in.
"""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from coding_framework.agents.models.catalogue import EmbeddedModel
from coding_framework.agents.models.loading import quiet_transformers, require_transformers
from coding_framework.errors import MissingExtraError


def convert_gguf(embedded: EmbeddedModel, weights: Path, output: Path) -> None:
    """Write model, tokenizer and chat template to `output`."""
    require_transformers()
    _require_gguf()
    # The unpacking draws a bar of its own that no setting of transformers turns off.
    with quiet_transformers(), redirect_stderr(StringIO()):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
        model = AutoModelForCausalLM.from_pretrained(
            weights.parent, gguf_file=weights.name, dtype=torch.float32, **_unpacking()
        )
        embedded.correct(model, tokenizer)
        model.config.name_or_path = embedded.name
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.to(torch.bfloat16).save_pretrained(output)
        tokenizer.save_pretrained(output)


def _unpacking() -> dict[str, Any]:
    """Newer transformers keep GGUF weights packed unless told otherwise; older ones lack the class."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def _require_gguf() -> None:
    try:
        import gguf  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("gguf", "train") from error
