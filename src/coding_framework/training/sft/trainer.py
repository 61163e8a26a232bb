"""Fine-tuning on judged answers: an adapter or all weights.

Guaranteed: the loss covers answer tokens only, the end token included; a run that was stopped and
resumed gives the losses of one that was not; whatever ends a run early, the last checkpoint stays
whole; the pairs of a step do not depend on how
they are cut into forward passes, nor on how many processes share them (`sft.workers`). Not guaranteed: equal
losses across machines or thread counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from coding_framework.agents.models.loading import load_tokenizer, require_transformers
from coding_framework.config import SFTConfig
from coding_framework.training.sft.checkpoint import SavedSteps
from coding_framework.training.sft.examples import tokenize_pairs
from coding_framework.training.sft.interrupts import deferred_interrupts
from coding_framework.training.sft.job import Listener, SFTJob, SFTLeft, do_job
from coding_framework.training.sft.results import PairLike, SFTResult, SFTStep
from coding_framework.training.sft.team import Team
from coding_framework.training.sft.workers import train_in_team


def run_sft(
    pairs: Sequence[PairLike],
    config: SFTConfig,
    model_path: Path,
    output_dir: Path,
    *,
    attention: str = "sdpa",
    on_start: Callable[[int], object] = lambda _: None,
    on_step: Callable[[SFTStep], None] = lambda _: None,
    on_saved: Callable[[int], object] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    seed: int = 0,
) -> SFTResult:
    """Train, then write what `export_model` writes below `output_dir`.

    `attention` is the resolved `model.attention`: with `packed` or `flash_attention_2` rows are packed.
    `on_start` is told how many steps were done before, `on_saved` up to which step a checkpoint has them.
    With more steps than at first a finished run goes on.
    """
    require_transformers()
    examples, too_long = tokenize_pairs(load_tokenizer(model_path), pairs, config.max_length)
    job = SFTJob(tuple(examples), config, model_path, output_dir, seed, attention, resume)
    with deferred_interrupts() as interrupted:
        saved = SavedSteps(output_dir / "checkpoints", on_saved)

        def stepped(step: SFTStep) -> None:
            saved.look()  # at what was saved after the step before
            on_step(step)

        listener = Listener(on_start, stepped, lambda: interrupted() or should_stop())
        try:
            left = _do(job, config.workers or 1, listener)
        finally:
            saved.look()
    return SFTResult(
        adapter_dir=left.adapter_dir,
        model_dir=left.model_dir,
        losses=left.losses,
        pairs_used=len(examples),
        pairs_too_long=too_long,
    )


def count_steps(pairs: Sequence[PairLike], config: SFTConfig, model_path: Path) -> int:
    """How many steps `run_sft` will take: passes count the pairs that fit, which only the tokenizer tells."""
    if config.epochs is None:
        return config.num_steps(len(pairs))
    require_transformers()
    examples, _ = tokenize_pairs(load_tokenizer(model_path), pairs, config.max_length)
    return config.num_steps(len(examples))


def _do(job: SFTJob, workers: int, listener: Listener) -> SFTLeft:
    if workers > 1:
        return train_in_team(job, workers, listener)
    left = do_job(job, Team(), listener)
    assert left is not None, "a team of one exports"
    return left
