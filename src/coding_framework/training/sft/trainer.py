"""LoRA fine-tuning on judged answers.

Guaranteed: the loss covers answer tokens only, the end token included; a run that was stopped and
resumed gives the losses of one that was not; whatever ends a run early, the last checkpoint stays
whole. Not guaranteed: equal losses across machines or thread counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from coding_framework.agents.models.loading import load_tokenizer, require_transformers
from coding_framework.config import SFTConfig
from coding_framework.errors import TrainingError, TrainingInterrupted
from coding_framework.training.sft.adapter import load_trainable, mixed_precision
from coding_framework.training.sft.checkpoint import (
    TrainerState,
    checkpoints_in,
    load_checkpoint,
    save_checkpoint,
)
from coding_framework.training.sft.examples import Example, fingerprint, plan_batches, tokenize_pairs
from coding_framework.training.sft.export import export_model
from coding_framework.training.sft.interrupts import deferred_interrupts
from coding_framework.training.sft.loss import answer_loss, learning_rate_at
from coding_framework.training.sft.results import PairLike, SFTResult, SFTStep

MAX_GRADIENT_NORM = 1.0


def run_sft(
    pairs: Sequence[PairLike],
    config: SFTConfig,
    model_path: Path,
    output_dir: Path,
    *,
    on_step: Callable[[SFTStep], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    seed: int = 0,
) -> SFTResult:
    """Train, then write `adapter/` and `merged/` below `output_dir`."""
    require_transformers()
    tokenizer = load_tokenizer(model_path)
    examples, too_long = tokenize_pairs(tokenizer, pairs, config.max_length)
    run = _Run(examples, config, model_path, output_dir / "checkpoints", tokenizer.pad_token_id, seed)
    if resume:
        run.resume()
    with deferred_interrupts() as interrupted:
        run.train(on_step, lambda: interrupted() or should_stop())
    adapter_dir, merged_dir = export_model(run.model, tokenizer, model_path, output_dir)
    return SFTResult(
        adapter_dir=adapter_dir,
        merged_dir=merged_dir,
        losses=run.state.losses,
        pairs_used=len(examples),
        pairs_too_long=too_long,
    )


def _lasting(config: SFTConfig) -> str:
    """The settings that shape the result; the others may change between stop and resume."""
    return config.model_dump_json(exclude={"enabled", "pairs", "agents", "checkpoint_every"})


class _Run:
    """Model, optimizer and position of one training run."""

    def __init__(
        self,
        examples: Sequence[Example],
        config: SFTConfig,
        model_path: Path,
        checkpoints: Path,
        padding_id: int,
        seed: int,
    ) -> None:
        import torch

        torch.manual_seed(seed)
        self.examples = examples
        self.config = config
        self.checkpoints = checkpoints
        self.padding_id = padding_id
        self.model = load_trainable(model_path, config)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=config.learning_rate, weight_decay=0.0)
        batches = config.steps * config.gradient_accumulation_steps
        self.plan = plan_batches([ex.length for ex in examples], config.batch_size, batches, seed)
        self.state = TrainerState(0, (), fingerprint(examples, _lasting(config), seed, str(model_path)))

    def resume(self) -> None:
        """Continue from the newest checkpoint; from the start when there is none."""
        found = checkpoints_in(self.checkpoints)
        if found:
            self.state = load_checkpoint(found[-1], self.model, self.optimizer, self.state.fingerprint)

    def train(self, on_step: Callable[[SFTStep], None], should_stop: Callable[[], bool]) -> None:
        self.model.train()
        while self.state.step < self.config.steps:
            step = self._step()
            self.state = self.state._replace(step=step.step, losses=(*self.state.losses, step.loss))
            on_step(step)
            stop = should_stop()
            if stop or step.step % self.config.checkpoint_every == 0 or step.step == self.config.steps:
                save_checkpoint(self.checkpoints, self.state, self.model, self.optimizer)
            if stop and step.step < self.config.steps:
                raise TrainingInterrupted(
                    f"stopped after SFT step {step.step} of {self.config.steps}; --resume continues there"
                )

    def _step(self) -> SFTStep:
        import torch

        started = time.monotonic()
        rate = self._set_learning_rate()
        loss, tokens = self._backward()
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT_NORM))
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss of SFT step {self.state.step + 1} is {loss}: start again with a lower "
                f"sft.learning_rate (checkpoints up to here are in {self.checkpoints})"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return SFTStep(
            step=self.state.step + 1,
            steps=self.config.steps,
            loss=loss,
            learning_rate=rate,
            gradient_norm=norm,
            answer_tokens=tokens,
            seconds=time.monotonic() - started,
        )

    def _set_learning_rate(self) -> float:
        rate = learning_rate_at(
            self.state.step,
            steps=self.config.steps,
            peak=self.config.learning_rate,
            warmup_steps=self.config.warmup_steps,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _backward(self) -> tuple[float, int]:
        """Gradients of one step. Every answer token weighs the same, in whichever batch it stands."""
        first = self.state.step * self.config.gradient_accumulation_steps
        batches: list[list[Example]] = [
            [self.examples[index] for index in batch]
            for batch in self.plan[first : first + self.config.gradient_accumulation_steps]
        ]
        tokens = sum(len(example.answer_ids) for batch in batches for example in batch)
        total = 0.0
        for batch in batches:
            with mixed_precision(self.model):
                loss = answer_loss(self.model, batch, self.padding_id) / tokens
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        return total, tokens
