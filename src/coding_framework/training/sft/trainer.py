"""Fine-tuning on judged answers: an adapter or all weights.

Guaranteed: the loss covers answer tokens only, the end token included; a run that was stopped and
resumed gives the losses of one that was not; whatever ends a run early, the last checkpoint stays
whole; the pairs of a step do not depend on how they are cut into forward passes. Not guaranteed: equal
losses across machines or thread counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from coding_framework.agents.models.loading import load_tokenizer, require_transformers
from coding_framework.config import SFTConfig
from coding_framework.training.sft.engine import SFTEngine
from coding_framework.training.sft.examples import tokenize_pairs
from coding_framework.training.sft.export import export_model
from coding_framework.training.sft.interrupts import deferred_interrupts
from coding_framework.training.sft.results import PairLike, SFTResult, SFTStep


def run_sft(
    pairs: Sequence[PairLike],
    config: SFTConfig,
    model_path: Path,
    output_dir: Path,
    *,
    attention: str = "sdpa",
    on_start: Callable[[int], object] = lambda _: None,
    on_step: Callable[[SFTStep], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    seed: int = 0,
) -> SFTResult:
    """Train, then write what `export_model` writes below `output_dir`.

    `attention` is the resolved `model.attention`: with `packed` or `flash_attention_2` rows are packed.
    `on_start` is told how many steps were done before. With more steps than at first a finished run goes on.
    """
    require_transformers()
    tokenizer = load_tokenizer(model_path)
    examples, too_long = tokenize_pairs(tokenizer, pairs, config.max_length)
    run = SFTEngine(
        examples, config, model_path, output_dir / "checkpoints", tokenizer.pad_token_id, seed, attention
    )
    if resume:
        run.resume()
    on_start(run.state.step)
    with deferred_interrupts() as interrupted:
        run.train(on_step, lambda: interrupted() or should_stop())
    adapter_dir, model_dir = export_model(run.model, tokenizer, model_path, output_dir)
    return SFTResult(
        adapter_dir=adapter_dir,
        model_dir=model_dir,
        losses=run.state.losses,
        pairs_used=len(examples),
        pairs_too_long=too_long,
    )
