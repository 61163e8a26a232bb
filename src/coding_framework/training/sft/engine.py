"""The steps of a warm start: model, optimizer, the plan of its batches and where it stands.

Guaranteed: the pairs of a step do not depend on how they are cut into forward passes; every answer token
of a step weighs the same. Not guaranteed: equal losses across machines or thread counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from coding_framework.config import SFTConfig
from coding_framework.errors import ConfigError, TrainingError, TrainingInterrupted
from coding_framework.training.sft.adapter import load_trainable, mixed_precision
from coding_framework.training.sft.checkpoint import (
    TrainerState,
    load_newest,
    save_checkpoint,
    trained_parameters,
)
from coding_framework.training.sft.examples import Example, fingerprint, plan_batches
from coding_framework.training.sft.laps import Laps
from coding_framework.training.sft.loss import answer_loss, learning_rate_at, row_loss
from coding_framework.training.sft.memory import checkpoints_activations, peak_memory_bytes
from coding_framework.training.sft.results import SFTStep
from coding_framework.training.sft.rows import join, share_out
from coding_framework.training.sft.team import Team

if TYPE_CHECKING:
    import torch

log = structlog.stdlib.get_logger(__name__)

MAX_GRADIENT_NORM = 1.0


_PASSING = (
    "enabled",
    "pairs",
    "agents",
    "checkpoint_every",
    "batch_tokens",
    "checkpoint_activations",
    "workers",
    *("steps", "epochs"),  # a run may be extended
)
"""Settings that may change between stop and resume."""


def _lasting(config: SFTConfig) -> str:
    """The settings that shape the result."""
    return config.model_dump_json(exclude={*_PASSING})


class SFTEngine:
    """Model, optimizer and position of one training run."""

    def __init__(
        self,
        examples: Sequence[Example],
        config: SFTConfig,
        model_path: Path,
        checkpoints: Path,
        padding_id: int,
        seed: int,
        attention: str,
        team: Team,
    ) -> None:
        import torch

        torch.manual_seed(seed)
        self.examples = examples
        self.config = config
        self.checkpoints = checkpoints
        self.padding_id = padding_id
        self.seed = seed
        self.team = team
        self.row_tokens = _row_tokens(config, attention)
        self.model = load_trainable(model_path, config, attention)
        self.device = next(self.model.parameters()).device
        self.parameters = [weight for _, weight in trained_parameters(self.model)]
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=config.peak_learning_rate, weight_decay=0.0, fused=self.device.type == "cuda"
        )
        self._save_memory()
        lengths = [example.length for example in examples]
        self.steps = config.num_steps(len(examples))
        batches = self.steps * config.gradient_accumulation_steps
        by_length = self.row_tokens is None
        self.plan = plan_batches(lengths, config.batch_size, batches, seed, by_length=by_length)
        lasting = (_lasting(config), seed, str(model_path), by_length)
        self.state = TrainerState(0, (), fingerprint(examples, *lasting), self.steps)

    def _save_memory(self) -> None:
        asked = self.config.checkpoint_activations
        if self.row_tokens and checkpoints_activations(self.model, self.row_tokens, asked):
            log.info("activations_are_computed_twice", row_tokens=self.row_tokens)
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    def resume(self) -> None:
        """Continue from the newest checkpoint that can be read; from the start when there is none."""
        found = load_newest(self.checkpoints, self.model, self.optimizer, self.state.fingerprint)
        if found is not None:
            self.state = found.of_length(self.steps)

    def train(self, on_step: Callable[[SFTStep], object], should_stop: Callable[[], bool]) -> None:
        self.model.train()
        while self.state.step < self.steps:
            step = self._step()
            self.state = self.state._replace(step=step.step, losses=(*self.state.losses, step.loss))
            on_step(step)
            stop = self.team.agree(should_stop(), self.device)
            saving = not self.team.rank
            if saving and (stop or step.step % self.config.checkpoint_every == 0 or step.step == self.steps):
                save_checkpoint(self.checkpoints, self.state, self.model, self.optimizer)
            if stop and step.step < self.steps:
                raise TrainingInterrupted(
                    f"stopped after SFT step {step.step} of {self.steps}; --resume continues there"
                )

    def _step(self) -> SFTStep:
        import torch

        started, laps = time.monotonic(), Laps(self.device)
        torch.manual_seed(hash((self.seed, self.state.step)) + self.team.rank)
        rate = self._set_learning_rate()
        pairs = [self.examples[index] for batch in self._planned() for index in batch]
        answer_tokens = sum(len(pair.answer_ids) for pair in pairs)
        loss, norm = self._backward(self._batches(), answer_tokens, laps)
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss of SFT step {self.state.step + 1} is {loss}: start again with a lower "
                f"sft.learning_rate (checkpoints up to here are in {self.checkpoints})"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        laps.mark("update_s")
        split = laps.split()
        return SFTStep(
            step=self.state.step + 1,
            steps=self.steps,
            loss=loss,
            learning_rate=rate,
            gradient_norm=norm,
            answer_tokens=answer_tokens,
            tokens=sum(pair.length for pair in pairs),
            seconds=time.monotonic() - started,
            split=split,
            peak_memory_bytes=peak_memory_bytes(),
        )

    def _set_learning_rate(self) -> float:
        rate = learning_rate_at(
            self.state.step,
            steps=self.steps,
            peak=self.config.peak_learning_rate,
            warmup_steps=self.config.warmup_steps,
            warm_from=self.state.warm_from,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _planned(self) -> list[tuple[int, ...]]:
        """The pairs of this step, of all processes, as batches."""
        first = self.state.step * self.config.gradient_accumulation_steps
        return self.plan[first : first + self.config.gradient_accumulation_steps]

    def _batches(self) -> list[tuple[int, ...]]:
        """What this process takes of them, cut into forward passes."""
        if self.row_tokens is None:
            mine = [tuple(self.team.share(batch)) for batch in self._planned()]
        else:
            pairs = [index for batch in self._planned() for index in batch]
            lengths = [self.examples[index].length for index in pairs]
            rows = share_out(lengths, self.row_tokens, multiple=self.team.size)
            mine = [tuple(pairs[place] for place in row) for row in self.team.share(rows)]
        return [batch for batch in mine if batch]

    def _backward(self, batches: Sequence[Sequence[int]], tokens: int, laps: Laps) -> tuple[float, float]:
        """Mean loss and norm of the gradients; every answer token weighs the same, wherever it stands."""
        import torch

        total = torch.zeros((), device=self.device)
        for batch in batches:
            with mixed_precision(self.model):
                loss = self._loss(batch, laps) / tokens
            laps.mark("forward_s")
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
            laps.mark("backward_s")
        self._add_up(total)
        laps.mark("exchange_s")
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT_NORM)
        mean, length = torch.stack([total, norm]).tolist()  # the one time that a step waits for the device
        return mean, length

    def _add_up(self, total: torch.Tensor) -> None:
        """Loss and gradients of all processes; one that had no pair brings zeros."""
        import torch

        if self.team.size == 1:
            return
        for weight in self.parameters:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        self.team.add_up([weight.grad for weight in self.parameters])
        self.team.add_up([total])

    def _loss(self, batch: Sequence[int], laps: Laps) -> torch.Tensor:
        examples = [self.examples[index] for index in batch]
        if self.row_tokens is None:
            return answer_loss(self.model, examples, self.padding_id)
        row = join(examples, self.device)
        laps.mark("rows_s")
        return row_loss(self.model, row)


def _row_tokens(config: SFTConfig, attention: str) -> int | None:
    """Tokens of a packed row; None where rows are not packed."""
    if attention == "sdpa":
        if config.batch_tokens is not None or config.checkpoint_activations:
            raise ConfigError(
                "sft.batch_tokens and sft.checkpoint_activations need packed rows: model.attention=packed"
            )
        return None
    if config.batch_tokens is None:
        raise ConfigError(f"model.attention={attention} packs rows: say how long by sft.batch_tokens")
    return config.batch_tokens
