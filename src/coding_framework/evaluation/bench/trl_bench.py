"""TRL's SFTTrainer on the pairs of the benchmark, as fast as its own settings make it.

It gets the tokens of each of our steps as one step: joined without padding where our rows are packed
(`padding_free`, with the attention that was resolved for us, which it does not bring itself), padded
where ours are; bfloat16 where the hardware multiplies it; no recomputed activations unless asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coding_framework.agents.models.loading import (
    compute_dtype,
    default_device,
    load_tokenizer,
    quiet_transformers,
)
from coding_framework.config import FrameworkConfig
from coding_framework.errors import MissingExtraError
from coding_framework.evaluation.bench.sft_records import SFTFigures
from coding_framework.training.sft.adapter import load_base, lora_settings, training_attention
from coding_framework.training.sft.examples import Example, plan_batches, tokenize_pairs
from coding_framework.training.sft.memory import peak_memory_bytes
from coding_framework.training.sft.results import PairLike

IGNORED = -100
"""The label that torch's cross entropy passes over."""


def require_trl() -> None:
    """Raise before anything is measured if the comparison cannot be made."""
    if find_spec("trl") is None:
        raise MissingExtraError("trl", "compare")


def measure_trl(
    pairs: Sequence[PairLike],
    config: FrameworkConfig,
    model_path: Path,
    *,
    steps: int,
    warm_up: int,
    on_step: Callable[[], None],
) -> SFTFigures:
    """The same steps as ours took."""
    import torch

    tokenizer = load_tokenizer(model_path)
    examples, _ = tokenize_pairs(tokenizer, pairs, config.sft.max_length)
    batches = _batches(examples, config, steps + warm_up)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with TemporaryDirectory(prefix="cf-bench-") as folder, quiet_transformers():
        trainer, clock = _trainer(tokenizer, batches, config, model_path, Path(folder), on_step)
        trainer.train()
    counted = batches[warm_up * config.sft.gradient_accumulation_steps :]
    chosen = [example for batch in counted for example in batch]
    return SFTFigures(
        trainer=f"TRL {_version()}",
        steps=steps,
        tokens=sum(example.length for example in chosen),
        answer_tokens=sum(len(example.answer_ids) for example in chosen),
        seconds=sum(clock.seconds[warm_up:]),
        peak_memory_bytes=peak_memory_bytes(),
        losses=tuple(entry["loss"] for entry in trainer.state.log_history if "loss" in entry),
    )


def _batches(examples: Sequence[Example], config: FrameworkConfig, steps: int) -> list[list[Example]]:
    sft = config.sft
    plan = plan_batches(
        [example.length for example in examples],
        sft.batch_size,
        steps * sft.gradient_accumulation_steps,
        config.run.seed,
        by_length=sft.batch_tokens is None,
    )
    return [[examples[index] for index in batch] for batch in plan]


def _trainer(
    tokenizer: Any,
    batches: Sequence[Sequence[Example]],
    config: FrameworkConfig,
    model_path: Path,
    folder: Path,
    on_step: Callable[[], None],
) -> tuple[Any, Any]:
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import SFTConfig as TRLConfig
    from trl import SFTTrainer

    class Clock(TrainerCallback):  # type: ignore[misc]
        """Seconds of every step, the device's work included."""

        def __init__(self) -> None:
            self.seconds: list[float] = []
            self._begun = 0.0

        def on_step_begin(self, *_: object, **__: object) -> None:
            self._begun = _now()

        def on_step_end(self, *_: object, **__: object) -> None:
            self.seconds.append(_now() - self._begun)
            on_step()

    sft = config.sft
    packed = sft.batch_tokens is not None
    model = load_base(model_path, sft.method)
    model.set_attn_implementation(training_attention(config.model.attention) if packed else "sdpa")
    settings = TRLConfig(
        output_dir=str(folder),
        max_steps=len(batches) // sft.gradient_accumulation_steps,
        per_device_train_batch_size=sft.batch_size,
        gradient_accumulation_steps=sft.gradient_accumulation_steps,
        learning_rate=sft.peak_learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=sft.warmup_steps,
        max_length=None,
        padding_free=packed,
        shuffle_dataset=False,
        train_sampling_strategy="sequential",
        gradient_checkpointing=bool(sft.checkpoint_activations),
        bf16=compute_dtype(default_device()) == "bfloat16",
        use_cpu=default_device() == "cpu",
        optim="adamw_torch_fused" if default_device() == "cuda" else "adamw_torch",
        logging_steps=1,
        logging_strategy="steps",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=config.run.seed,
    )
    clock = Clock()
    trainer = SFTTrainer(
        model=model,
        args=settings,
        train_dataset=Dataset.from_list([_labelled(one) for batch in batches for one in batch]),
        processing_class=tokenizer,
        peft_config=None if sft.method == "full" else lora_settings(sft),
        callbacks=[clock],
    )
    return trainer, clock


def _labelled(example: Example) -> dict[str, list[int]]:
    return {
        "input_ids": [*example.prompt_ids, *example.answer_ids],
        "labels": [*(IGNORED for _ in example.prompt_ids), *example.answer_ids],
    }


def _now() -> float:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _version() -> str:
    import trl

    return str(trl.__version__)
