"""Load models and tokenizers, quietly, with a clear error when the libraries are missing."""

from __future__ import annotations

import ctypes
import gc
import json
import logging as standard_logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from coding_framework.errors import MissingExtraError, ModelNotFoundError

BRIEF_SPIN = "2000"
"""`GOMP_SPINCOUNT`, read when torch loads. Threads that spin for long starve whatever runs beside them,
threads that never spin wake up too late. Tokens a second on two cores, alone and beside a busy process:
default 109 and 28, never spinning 75 and 58, this 96 and 46."""


def require_transformers() -> None:
    """Raise `MissingExtraError` unless torch and transformers can be imported."""
    os.environ.setdefault("GOMP_SPINCOUNT", BRIEF_SPIN)
    for package in ("torch", "transformers"):
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtraError(package, "train") from error


def release_memory() -> None:
    """Give a finished model's memory back, on host and card: what comes next runs in other processes.

    torch keeps what it once took of a card: 75 GB after an SFT of a 1.5B model.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No bars and hints of the libraries on the terminal: progress is ours to show."""
    from transformers.utils import logging

    standard_logging.getLogger("bitsandbytes").setLevel(standard_logging.ERROR)
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load_tokenizer(path: Path) -> Any:
    """The tokenizer of a model folder; it must bring a chat template and an end token."""
    require_transformers()
    with quiet_transformers():
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(path)
    if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
        raise ModelNotFoundError(
            f"the tokenizer of {path} has no chat template or no end token: choose an instruct model"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_causal_model(
    path: Path, *, dtype: str = "float32", device: str = "cpu", adapter: Path | None = None
) -> Any:
    """A causal language model; an adapter is merged into it, so it costs nothing afterwards."""
    require_transformers()
    prepare_cpu_arithmetic()
    with quiet_transformers():
        import torch
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype))
    if adapter is not None:
        model = merge_adapter(model, adapter)
    return model.to(device).eval()


def stored_dtype(path: Path) -> str | None:
    """The number format of a model folder's weights, as its config.json says; None where it does not."""
    file = path / "config.json"
    settings = json.loads(file.read_text()) if file.is_file() else {}
    name = settings.get("dtype") or settings.get("torch_dtype")
    return str(name) if name else None


def sampling_dtype(path: Path, training: str) -> str:
    """In what a model answers that came out of a training in `training`: what is stored in float16 would
    lose small changes in bfloat16 (`training/rl/export.py`)."""
    return "float16" if training == "bfloat16" and stored_dtype(path) == "float16" else training


def merge_adapter(model: Any, adapter: Path) -> Any:
    """The same model with a LoRA adapter folded into its weights."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise MissingExtraError("peft", "train") from error
    if not (adapter / "adapter_config.json").is_file():
        raise ModelNotFoundError(f"{adapter} holds no adapter (no adapter_config.json)")
    with quiet_transformers():
        return PeftModel.from_pretrained(model, adapter).merge_and_unload()


def prepare_cpu_arithmetic() -> None:
    """Keep bfloat16 products to instructions that the processor has.

    Some processors announce more than they execute, and the matrix library then dies with an
    illegal instruction. It reads this setting at its first product, so it must be set before.
    Processors with tile instructions (`amx_bf16`) keep the library's own choice.
    """
    flags = cpu_flags()
    if "avx512_bf16" in flags and "amx_bf16" not in flags:
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


DEVICE_VARIABLE = "CODING_FRAMEWORK_DEVICE"
"""`cpu`: no model is computed on a GPU, by this process and those that it starts."""


def keep_to_cpu() -> None:
    """For a training that uses none of the machine's GPUs; the judge may still measure on one."""
    os.environ[DEVICE_VARIABLE] = "cpu"


def default_device() -> str:
    """The GPU when torch sees one and it may be used."""
    require_transformers()
    import torch

    if os.environ.get(DEVICE_VARIABLE) == "cpu":
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def compute_dtype(device: str) -> str:
    """bfloat16 wherever the hardware multiplies it."""
    if device == "cuda" or cpu_flags() & {"avx512_bf16", "amx_bf16"}:
        return "bfloat16"
    return "float32"


def cpu_flags() -> frozenset[str]:
    """Instruction sets of the processor; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())
