"""Leave behind what the next stage loads: the whole model, and the adapter where one was trained.

The adapter is merged into the original weights in float32, also when training used packed or
rounded ones, and the result is stored as bfloat16, as every model at rest is here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coding_framework.agents.models.loading import load_causal_model, quiet_transformers
from coding_framework.errors import StorageError
from coding_framework.monitoring.storage import replacing_folder
from coding_framework.training.sft.checkpoint import write_adapter


def export_model(model: Any, tokenizer: Any, model_path: Path, output_dir: Path) -> tuple[Path | None, Path]:
    """Write `adapter/` and `merged/`, or `full/` alone; each appears whole or not at all."""
    if not hasattr(model, "get_base_model"):
        full = output_dir / "full"
        _write_whole(full, lambda folder: _write_model(folder, model, tokenizer))
        return None, full
    adapter = output_dir / "adapter"
    merged = merged_beside(adapter)
    _write_whole(adapter, lambda folder: write_adapter(folder, model))
    _write_whole(
        merged,
        lambda folder: _write_model(
            folder, load_causal_model(model_path, dtype="float32", adapter=adapter), tokenizer
        ),
    )
    return adapter, merged


def merged_beside(adapter: Path) -> Path:
    """The model with this adapter in it."""
    return adapter.with_name("merged")


def _write_model(folder: Path, model: Any, tokenizer: Any) -> None:
    import torch

    with quiet_transformers():
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _write_whole(target: Path, write: Callable[[Path], None]) -> None:
    from safetensors import SafetensorError

    try:
        with replacing_folder(target) as beside:
            write(beside)
    except (OSError, SafetensorError) as error:
        raise StorageError(f"{target} could not be written: {error}. Free some space and resume") from error
